//! The tokens that open the manager's API: JSON Web Tokens, HS256 only.
//!
//! Made by `vm-manager token`, sent as `Authorization: Bearer …`. Nothing in a token chooses how it
//! is checked: the algorithm, the audience and the key are the manager's.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::{Deserialize, Serialize};

use crate::UnixMs;

/// The only audience there is.
pub const AUDIENCE: &str = "vm-manager";

/// Longest token that is looked at, in bytes.
pub const MAX_LEN: usize = 4096;

/// How far the clocks of two machines may be apart.
const LEEWAY: Duration = Duration::from_secs(30);

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenScope {
    /// `vms:read`: see VMs and what runs in them.
    Read,
    /// `vms:write`: allocate and release VMs, and run things in them. Includes reading.
    Write,
    /// `vms:admin`: release what is stuck, images. Includes writing.
    Admin,
}

impl TokenScope {
    /// The word in the token.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "vms:read",
            Self::Write => "vms:write",
            Self::Admin => "vms:admin",
        }
    }
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Who it was made for.
    pub sub: String,
    /// [`AUDIENCE`].
    pub aud: String,
    /// Scopes, separated by blanks.
    pub scope: String,
    /// When it was made, in seconds since 1970.
    pub iat: u64,
    /// When it ends, in seconds since 1970.
    pub exp: u64,
}

impl Claims {
    /// Claims for the manager, from now on for `lifetime`.
    pub fn new(subject: &str, scopes: &[TokenScope], now: UnixMs, lifetime: Duration) -> Self {
        let words: Vec<&str> = scopes.iter().map(|scope| scope.word()).collect();
        let iat = now.0 / 1000;
        Self {
            sub: subject.to_owned(),
            aud: AUDIENCE.to_owned(),
            scope: words.join(" "),
            iat,
            exp: iat.saturating_add(lifetime.as_secs()),
        }
    }

    /// Whether the token allows this.
    pub fn allows(&self, wanted: TokenScope) -> bool {
        let held = [TokenScope::Read, TokenScope::Write, TokenScope::Admin]
            .into_iter()
            .filter(|scope| self.scope.split(' ').any(|word| word == scope.word()))
            .max();
        held.is_some_and(|held| held >= wanted)
    }
}

/// Why a token is refused. All but [`TokenError::Scope`] are 401; that one is 403.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not three parts of base64url, or too long, or no claims in it.
    #[error("not a token of this manager")]
    Malformed,
    /// Another algorithm than HS256, `none` included.
    #[error("the token is not signed with HS256")]
    Algorithm,
    /// Made with another key, or changed since.
    #[error("the token's signature is wrong")]
    Signature,
    /// Made for another service.
    #[error("the token is for another audience")]
    Audience,
    /// It has ended.
    #[error("the token has expired")]
    Expired,
    /// It was made in the future: one of the clocks is wrong.
    #[error("the token is from the future: compare the clocks of the two machines")]
    NotYet,
    /// It does not allow what was asked for.
    #[error("the token lacks the scope {}", .0.word())]
    Scope(TokenScope),
}

/// A signing key shorter than HS256 is safe with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the token key has {0} bytes; at least 32 are needed")]
pub struct WeakKey(pub usize);

/// The manager's key. Never prints.
#[derive(Clone)]
pub struct TokenKey(hmac::Key);

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey([redacted])")
    }
}

impl TokenKey {
    /// A key of at least 32 bytes.
    ///
    /// # Errors
    /// [`WeakKey`] when it is shorter.
    pub fn new(bytes: &[u8]) -> Result<Self, WeakKey> {
        if bytes.len() < 32 {
            return Err(WeakKey(bytes.len()));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// The signed token.
    pub fn sign(&self, claims: &Claims) -> String {
        let header = URL_SAFE_NO_PAD.encode(br#"{"alg":"HS256","typ":"JWT"}"#);
        let json = serde_json::to_vec(claims).expect("texts and numbers are always JSON");
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(json));
        let tag = hmac::sign(&self.0, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
    }

    /// What the token says, when it holds now and allows `wanted`. The signature is compared in
    /// constant time, and before anything in the token is believed.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn verify(
        &self,
        token: &str,
        wanted: TokenScope,
        now: UnixMs,
    ) -> Result<Claims, TokenError> {
        if token.len() > MAX_LEN {
            return Err(TokenError::Malformed);
        }
        let (signed, tag) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        let header: Header = part(header)?;
        if header.alg != "HS256" {
            return Err(TokenError::Algorithm);
        }
        let tag = URL_SAFE_NO_PAD
            .decode(tag)
            .map_err(|_| TokenError::Malformed)?;
        hmac::verify(&self.0, signed.as_bytes(), &tag).map_err(|_| TokenError::Signature)?;
        let claims: Claims = part(claims)?;
        check(&claims, wanted, now)?;
        Ok(claims)
    }
}

/// All that is read of a token's header.
#[derive(Deserialize)]
struct Header {
    alg: String,
}

fn part<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, TokenError> {
    let bytes = URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| TokenError::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenError::Malformed)
}

fn check(claims: &Claims, wanted: TokenScope, now: UnixMs) -> Result<(), TokenError> {
    let now_s = now.0 / 1000;
    if claims.aud != AUDIENCE {
        return Err(TokenError::Audience);
    }
    if now_s >= claims.exp {
        return Err(TokenError::Expired);
    }
    if claims.iat > now_s.saturating_add(LEEWAY.as_secs()) {
        return Err(TokenError::NotYet);
    }
    if !claims.allows(wanted) {
        return Err(TokenError::Scope(wanted));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(1_000_000_000);

    fn key() -> TokenKey {
        TokenKey::new(&[7; 32]).unwrap()
    }

    fn claims() -> Claims {
        Claims::new("runner", &[TokenScope::Write], NOW, Duration::from_secs(60))
    }

    fn forged(header: &str, claims: &str) -> String {
        let signed = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims)
        );
        let tag = hmac::sign(&key().0, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
    }

    #[test]
    fn a_token_holds_for_its_scope_and_time() {
        let token = key().sign(&claims());
        assert_eq!(key().verify(&token, TokenScope::Write, NOW), Ok(claims()));
        assert!(
            key().verify(&token, TokenScope::Read, NOW).is_ok(),
            "writing includes reading"
        );
        assert_eq!(
            key().verify(&token, TokenScope::Admin, NOW),
            Err(TokenError::Scope(TokenScope::Admin))
        );
        let last = UnixMs(NOW.0 + 59_999);
        assert!(key().verify(&token, TokenScope::Write, last).is_ok());
        assert_eq!(
            key().verify(&token, TokenScope::Write, UnixMs(NOW.0 + 60_000)),
            Err(TokenError::Expired)
        );
        assert!(
            key()
                .verify(&token, TokenScope::Write, UnixMs(NOW.0 - 30_000))
                .is_ok(),
            "clocks differ a little"
        );
        assert_eq!(
            key().verify(&token, TokenScope::Write, UnixMs(NOW.0 - 31_000)),
            Err(TokenError::NotYet)
        );
    }

    /// The example of RFC 7515, appendix A.1: its signature is right, its claims are not ours.
    #[test]
    fn the_signature_is_hs256() {
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let key = TokenKey::new(&URL_SAFE_NO_PAD.decode(key).unwrap()).unwrap();
        let token = concat!(
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.",
            "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.",
            "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        );
        assert_eq!(
            key.verify(token, TokenScope::Read, NOW),
            Err(TokenError::Malformed)
        );
        let changed = token.replace(".dBjf", ".dBjg");
        assert_eq!(
            key.verify(&changed, TokenScope::Read, NOW),
            Err(TokenError::Signature)
        );
        assert!(
            self::key()
                .sign(&claims())
                .starts_with("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.")
        );
    }

    #[test]
    fn nothing_in_a_token_chooses_how_it_is_checked() {
        let json = serde_json::to_string(&claims()).unwrap();
        for alg in ["none", "HS512", "RS256", "hs256"] {
            let token = forged(&format!(r#"{{"alg":"{alg}"}}"#), &json);
            assert_eq!(
                key().verify(&token, TokenScope::Read, NOW),
                Err(TokenError::Algorithm),
                "{alg}"
            );
        }
        let other = TokenKey::new(&[8; 32]).unwrap().sign(&claims());
        assert_eq!(
            key().verify(&other, TokenScope::Read, NOW),
            Err(TokenError::Signature)
        );
        let unsigned = key().sign(&claims()).rsplit_once('.').unwrap().0.to_owned() + ".";
        assert_eq!(
            key().verify(&unsigned, TokenScope::Read, NOW),
            Err(TokenError::Signature)
        );
        let elsewhere = Claims {
            aud: "other".to_owned(),
            ..claims()
        };
        assert_eq!(
            key().verify(&key().sign(&elsewhere), TokenScope::Read, NOW),
            Err(TokenError::Audience)
        );
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let long = "a".repeat(MAX_LEN + 1);
        for text in ["", ".", "..", "a.b.c", "a.b", "{}.{}.{}", &long] {
            assert!(
                matches!(
                    key().verify(text, TokenScope::Read, NOW),
                    Err(TokenError::Malformed)
                ),
                "{text}"
            );
        }
        let listed = forged(r#"{"alg":"HS256"}"#, "[]");
        assert_eq!(
            key().verify(&listed, TokenScope::Read, NOW),
            Err(TokenError::Malformed)
        );
    }

    #[test]
    fn scopes_are_words_not_parts_of_words() {
        let odd = Claims {
            scope: "xvms:admin vms:reader".to_owned(),
            ..claims()
        };
        assert!(!odd.allows(TokenScope::Read));
        let two = Claims {
            scope: "vms:read vms:admin".to_owned(),
            ..claims()
        };
        assert!(two.allows(TokenScope::Admin));
    }

    #[test]
    fn a_short_key_is_refused_and_none_is_printed() {
        assert_eq!(TokenKey::new(&[1; 31]).unwrap_err(), WeakKey(31));
        assert_eq!(format!("{:?}", key()), "TokenKey([redacted])");
    }
}
