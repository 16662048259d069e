//! The key that identity tokens of jobs are signed with (ES256), and what verifiers are told of it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

/// A key that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key for identity tokens cannot be made or read")]
pub struct IdTokenKeyError;

/// Signs identity tokens.
pub struct IdTokenKey {
    pair: EcdsaKeyPair,
    id: String,
}

impl IdTokenKey {
    /// A new key, as PKCS #8: keep it secret.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn generate() -> Result<Vec<u8>, IdTokenKeyError> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new());
        made.map(|key| key.as_ref().to_vec())
            .map_err(|_| IdTokenKeyError)
    }

    /// Reads a key that [`generate`](Self::generate) made.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(pkcs8: &[u8]) -> Result<Self, IdTokenKeyError> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8, &SystemRandom::new());
        let pair = pair.map_err(|_| IdTokenKeyError)?;
        // The thumbprint of RFC 7638: members in this order, nothing between them.
        let (x, y) = coordinates(&pair);
        let thumbprint = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        let digest = ring::digest::digest(&ring::digest::SHA256, thumbprint.as_bytes());
        Ok(Self {
            pair,
            id: URL_SAFE_NO_PAD.encode(digest),
        })
    }

    /// A token of these claims.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn sign(&self, claims: &Value) -> Result<String, IdTokenKeyError> {
        let header = json!({"alg": "ES256", "kid": self.id, "typ": "JWT"}).to_string();
        let text = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims.to_string())
        );
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes());
        let signature = signature.map_err(|_| IdTokenKeyError)?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// What verifiers need: a JSON Web Key.
    #[must_use]
    pub fn public(&self) -> Value {
        let (x, y) = coordinates(&self.pair);
        json!({"kty": "EC", "use": "sig", "alg": "ES256", "kid": self.id, "crv": "P-256", "x": x, "y": y})
    }
}

/// Both coordinates of the public key: it is written uncompressed, with a byte before them.
fn coordinates(pair: &EcdsaKeyPair) -> (String, String) {
    let point = pair.public_key().as_ref();
    let (x, y) = point[1..].split_at(32);
    (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    #[test]
    fn what_is_signed_is_verified_by_the_published_key_alone() {
        let key = IdTokenKey::read(&IdTokenKey::generate().unwrap()).unwrap();
        let token = key
            .sign(&json!({"sub": "repo:a/b:ref:refs/heads/main"}))
            .unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let (header, claims) = text.split_once('.').unwrap();
        let header: Value = serde_json::from_slice(&decode(header)).unwrap();
        let claims: Value = serde_json::from_slice(&decode(claims)).unwrap();
        assert_eq!(claims["sub"], "repo:a/b:ref:refs/heads/main");
        let jwk = key.public();
        assert_eq!((&header["kid"], &header["alg"]), (&jwk["kid"], &jwk["alg"]));
        let mut point = vec![4];
        for name in ["x", "y"] {
            point.extend(decode(jwk[name].as_str().unwrap()));
        }
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &point);
        public.verify(text.as_bytes(), &decode(signature)).unwrap();
        assert!(public.verify(b"else", &decode(signature)).is_err());
        assert!(IdTokenKey::read(b"no key").is_err());
    }
}
