//! The key that identity tokens of jobs are signed with (ES256, or RS256 by a key of the
//! operator's), and what verifiers are told of it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

/// A key that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the key for identity tokens cannot be made or read: it is one that this program made, or an RSA key of 2048 to 4096 bits without a passphrase (PEM or DER)"
)]
pub struct IdTokenKeyError;

/// Signs identity tokens.
pub struct IdTokenKey {
    pair: Pair,
    id: String,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Rsa(RsaKeyPair),
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

    /// Reads a key that [`generate`](Self::generate) made, or an RSA key of the operator's.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(file: &[u8]) -> Result<Self, IdTokenKeyError> {
        let decoded = of_pem(file);
        let der = decoded.as_deref().unwrap_or(file);
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = match EcdsaKeyPair::from_pkcs8(algorithm, der, &SystemRandom::new()) {
            Ok(pair) => Pair::Ecdsa(pair),
            Err(_) => RsaKeyPair::from_pkcs8(der)
                .or_else(|_| RsaKeyPair::from_der(der))
                .map(Pair::Rsa)
                .map_err(|_| IdTokenKeyError)?,
        };
        // The thumbprint of RFC 7638: members in this order, nothing between them.
        let thumbprint = match &pair {
            Pair::Ecdsa(pair) => {
                let (x, y) = coordinates(pair);
                format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#)
            }
            Pair::Rsa(pair) => {
                let (n, e) = components(pair);
                format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#)
            }
        };
        let digest = ring::digest::digest(&ring::digest::SHA256, thumbprint.as_bytes());
        Ok(Self {
            pair,
            id: URL_SAFE_NO_PAD.encode(digest),
        })
    }

    /// What the algorithm of its signatures is called.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Ecdsa(_) => "ES256",
            Pair::Rsa(_) => "RS256",
        }
    }

    /// A token of these claims.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub fn sign(&self, claims: &Value) -> Result<String, IdTokenKeyError> {
        let header = json!({"alg": self.algorithm(), "kid": self.id, "typ": "JWT"}).to_string();
        let text = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims.to_string())
        );
        let signature = self.signature(text.as_bytes())?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn signature(&self, text: &[u8]) -> Result<Vec<u8>, IdTokenKeyError> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ecdsa(pair) => {
                let signature = pair.sign(&random, text);
                signature.map(|signature| signature.as_ref().to_vec())
            }
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let signed = pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature);
                signed.map(|()| signature)
            }
        }
        .map_err(|_| IdTokenKeyError)
    }

    /// What verifiers need: a JSON Web Key.
    #[must_use]
    pub fn public(&self) -> Value {
        let mut key = match &self.pair {
            Pair::Ecdsa(pair) => {
                let (x, y) = coordinates(pair);
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y})
            }
            Pair::Rsa(pair) => {
                let (n, e) = components(pair);
                json!({"kty": "RSA", "n": n, "e": e})
            }
        };
        key["use"] = "sig".into();
        key["alg"] = self.algorithm().into();
        key["kid"] = self.id.as_str().into();
        key
    }
}

/// The bytes of the first block of a PEM file, where it is one.
fn of_pem(file: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(file).ok()?;
    let (_, block) = text.split_once("-----BEGIN ")?;
    let (_, block) = block.split_once("-----")?;
    let (block, _) = block.split_once("-----END ")?;
    let block: String = block.split_whitespace().collect();
    STANDARD.decode(block).ok()
}

/// Both coordinates of the public key: it is written uncompressed, with a byte before them.
fn coordinates(pair: &EcdsaKeyPair) -> (String, String) {
    let point = pair.public_key().as_ref();
    let (x, y) = point[1..].split_at(32);
    (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y))
}

/// Modulus and exponent of the public key.
fn components(pair: &RsaKeyPair) -> (String, String) {
    let parts: PublicKeyComponents<Vec<u8>> = pair.public().into();
    let encode = |part: Vec<u8>| URL_SAFE_NO_PAD.encode(part);
    (encode(parts.n), encode(parts.e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    /// Keys for this test alone, made by `openssl genpkey`, as PKCS #8 and as PKCS #1.
    const RSA: [&str; 2] = [
        include_str!("../tests/keys/rsa-pkcs8.pem"),
        include_str!("../tests/keys/rsa-pkcs1.pem"),
    ];

    fn decode(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    /// A token, its parts: what is signed, the signature.
    fn signed(key: &IdTokenKey) -> (String, Vec<u8>) {
        let token = key
            .sign(&json!({"sub": "repo:a/b:ref:refs/heads/main"}))
            .unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let (header, claims) = text.split_once('.').unwrap();
        let header: Value = serde_json::from_slice(&decode(header)).unwrap();
        let claims: Value = serde_json::from_slice(&decode(claims)).unwrap();
        assert_eq!(claims["sub"], "repo:a/b:ref:refs/heads/main");
        let jwk = key.public();
        assert_eq!((&header["kid"], &header["alg"]), (&jwk["kid"], &jwk["alg"]));
        assert_eq!(jwk["alg"], key.algorithm());
        (text.to_owned(), decode(signature))
    }

    #[test]
    fn what_is_signed_is_verified_by_the_published_key_alone() {
        let key = IdTokenKey::read(&IdTokenKey::generate().unwrap()).unwrap();
        let (text, signature) = signed(&key);
        let jwk = key.public();
        let mut point = vec![4];
        for name in ["x", "y"] {
            point.extend(decode(jwk[name].as_str().unwrap()));
        }
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &point);
        public.verify(text.as_bytes(), &signature).unwrap();
        assert!(public.verify(b"else", &signature).is_err());
        assert!(IdTokenKey::read(b"no key").is_err());
        assert!(IdTokenKey::read(b"-----BEGIN X-----\nAAAA\n-----END X-----\n").is_err());
    }

    #[test]
    fn i17_an_rsa_key_of_the_operator_s_signs_as_github_does() {
        let keys = RSA.map(|pem| IdTokenKey::read(pem.as_bytes()).unwrap());
        // The same key in two forms.
        assert_eq!(keys[0].public(), keys[1].public());
        let der = IdTokenKey::read(&of_pem(RSA[0].as_bytes()).unwrap()).unwrap();
        assert_eq!(der.public(), keys[0].public());
        for key in &keys {
            let (text, signature) = signed(key);
            let jwk = key.public();
            assert_eq!((&jwk["kty"], &jwk["alg"]), (&"RSA".into(), &"RS256".into()));
            let part = |name: &str| decode(jwk[name].as_str().unwrap());
            let public = PublicKeyComponents {
                n: part("n"),
                e: part("e"),
            };
            let verified = public.verify(&RSA_PKCS1_2048_8192_SHA256, text.as_bytes(), &signature);
            assert_eq!(verified, Ok(()));
        }
    }
}
