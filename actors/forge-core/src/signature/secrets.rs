//! The secrets of one webhook, and signing with one.

use std::fmt;

use ring::hmac;

use super::header::{DIGEST_LEN, SignatureError, SignatureHeader};
use crate::{BodyDigest, WebhookHeaders};

/// What names a secret without telling it: its HMAC of this. No webhook's body is the same.
const NAME: &[u8] = b"orrery: the name of a webhook's secret";

/// A webhook secret that is empty or all white space, which would let anybody sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the webhook secret is empty; set one of at least 16 random characters on both sides")]
pub struct EmptySecret;

/// Which of two active secrets a signature was made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretAge {
    /// The secret in use.
    Current,
    /// The one it replaces; still accepted until it is taken out of the configuration.
    Previous,
}

/// What a verified signature was made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifiedBy {
    /// The first header that carried the digest.
    pub header: SignatureHeader,
    /// Worth a warning when it is the previous one: that sender has not been moved yet.
    pub secret: SecretAge,
}

/// One or two active secrets of a webhook. It cannot be empty: a receiver that holds one has a
/// secret. Its `Debug` shows none.
#[derive(Clone)]
pub struct WebhookSecrets {
    current: hmac::Key,
    previous: Option<hmac::Key>,
    /// The name of the current one.
    name: [u8; DIGEST_LEN],
}

impl WebhookSecrets {
    /// A single secret. Bytes are used as they are; trimming is the configuration's business.
    pub fn new(current: impl AsRef<[u8]>) -> Result<Self, EmptySecret> {
        let current = key(current.as_ref())?;
        Ok(Self {
            name: tag(&current, NAME),
            current,
            previous: None,
        })
    }

    /// Also accepts the secret that is being replaced. Rotation: put the new one in front, move the
    /// forge's hooks, take the old one out.
    pub fn with_previous(mut self, previous: impl AsRef<[u8]>) -> Result<Self, EmptySecret> {
        self.previous = Some(key(previous.as_ref())?);
        Ok(self)
    }

    /// Checks a request's signature over its raw body, the bytes as they came over the wire.
    /// Every error means 403.
    pub fn verify(
        &self,
        headers: &WebhookHeaders,
        raw_body: &[u8],
    ) -> Result<VerifiedBy, SignatureError> {
        let (header, digest) = headers.signatures().digest()?;
        let secret = self
            .signer(raw_body, &digest)
            .ok_or(SignatureError::Mismatch)?;
        Ok(VerifiedBy { header, secret })
    }

    /// What tells the current secret from others without telling it.
    pub(super) fn name(&self) -> String {
        self.name.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// By what a body is known again under the current secret, whichever signed it.
    pub fn digest(&self, raw_body: &[u8]) -> BodyDigest {
        BodyDigest::new(&self.name, &tag(&self.current, raw_body))
    }

    /// The same of a body that `secret` made `verified` of.
    pub(super) fn digest_of(
        &self,
        raw_body: &[u8],
        secret: SecretAge,
        verified: &[u8; DIGEST_LEN],
    ) -> BodyDigest {
        match secret {
            SecretAge::Current => BodyDigest::new(&self.name, verified),
            SecretAge::Previous => self.digest(raw_body),
        }
    }

    /// Which secret made `digest` over `raw_body`. The only place where a signature is decided.
    pub(super) fn signer(&self, raw_body: &[u8], digest: &[u8; DIGEST_LEN]) -> Option<SecretAge> {
        let active = [
            (Some(&self.current), SecretAge::Current),
            (self.previous.as_ref(), SecretAge::Previous),
        ];
        active
            .into_iter()
            .filter_map(|(key, age)| key.map(|key| (key, age)))
            .find(|(key, _)| hmac::verify(key, raw_body, digest).is_ok())
            .map(|(_, age)| age)
    }
}

impl fmt::Debug for WebhookSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let active = 1 + usize::from(self.previous.is_some());
        write!(f, "WebhookSecrets({active} active)")
    }
}

fn key(secret: &[u8]) -> Result<hmac::Key, EmptySecret> {
    if secret.trim_ascii().is_empty() {
        return Err(EmptySecret);
    }
    Ok(hmac::Key::new(hmac::HMAC_SHA256, secret))
}

fn tag(key: &hmac::Key, text: &[u8]) -> [u8; DIGEST_LEN] {
    let mut digest = [0; DIGEST_LEN];
    digest.copy_from_slice(hmac::sign(key, text).as_ref());
    digest
}

/// A signature made here, for clients such as `orchctl`.
#[derive(Clone)]
pub struct Signature(String);

impl Signature {
    /// The 64 hexadecimal digits, as in `X-Gitea-Signature`.
    pub fn hex(&self) -> &str {
        &self.0
    }

    /// The value of `X-Hub-Signature-256`.
    pub fn hub(&self) -> String {
        format!("sha256={}", self.0)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(…)")
    }
}

/// Signs a raw body: HMAC-SHA256 (RFC 2104) keyed with the webhook secret.
pub fn sign(secret: impl AsRef<[u8]>, raw_body: &[u8]) -> Result<Signature, EmptySecret> {
    let key = key(secret.as_ref())?;
    Ok(Signature(hex::encode(hmac::sign(&key, raw_body).as_ref())))
}
