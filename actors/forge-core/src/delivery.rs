//! One webhook delivery: its id, the digest of its body, and the event in it.

use std::fmt;

use ring::digest;
use serde::{Deserialize, Serialize};

use crate::{DeliveryId, EventError, Forge, ForgeEvent, ObjectFormats, RepoName, WebhookHeaders};

/// How bodies are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParseOptions {
    /// Which commit names are accepted.
    pub object_formats: ObjectFormats,
}

/// A delivery that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The forge's id for it, or `sha256:` and the body's SHA-256 where no header names one.
    pub id: DeliveryId,
    /// Digest of the raw body: the same event sent under another id has the same.
    pub body: BodyDigest,
    /// The kind of forge its headers speak of.
    pub forge: Option<Forge>,
    /// What happened.
    pub event: ForgeEvent,
}

/// A signed body that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// Not a readable event: 400.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The body names a repository that the secret may not speak for: 403.
    #[error("this secret may not speak for {repository}; sign with that repository's own")]
    OtherRepository {
        /// The repository the body names.
        repository: RepoName,
    },
}

impl Delivery {
    /// Reads a delivery, whose body's digest is `body`. This does **not** verify a signature:
    /// receivers go through [`crate::SecretBook::verify`], whose result calls this and checks the
    /// repository.
    pub fn parse(
        headers: &WebhookHeaders,
        raw_body: &[u8],
        body: BodyDigest,
        options: ParseOptions,
    ) -> Result<Self, EventError> {
        let event = ForgeEvent::parse(headers, raw_body, options.object_formats)?;
        let id = headers
            .delivery_id()?
            .unwrap_or_else(|| id_of_body(raw_body));
        Ok(Self {
            id,
            body,
            forge: headers.forge(),
            event,
        })
    }
}

/// The id of a delivery that no header names.
fn id_of_body(raw_body: &[u8]) -> DeliveryId {
    let digest = digest::digest(&digest::SHA256, raw_body);
    let id = format!("sha256:{}", hex::encode(digest));
    DeliveryId::try_from(id).expect("71 visible characters are an id")
}

/// By what the same event is known under another id: the name of a key, and the body's HMAC-SHA256
/// under it, cut to 24 bytes (RFC 2104, section 5). The key is the webhook's current secret, so for
/// nearly every body this is the tag that verified its signature, and costs nothing.
///
/// ```text
/// ┌────────── 8 bytes ──────────┬────────── 24 bytes ──────────┐
/// │ HMAC(secret, a fixed text)  │ HMAC(secret, body)           │
/// └─────────────────────────────┴──────────────────────────────┘
/// ```
///
/// Digests under two keys say nothing about each other: see [`BodyDigest::is_comparable_with`].
/// Earlier versions stored SHA-256 or BLAKE3 of the body here, which looks like another key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BodyDigest([u8; 32]);

/// Length of a key's name, in bytes.
const NAME_LEN: usize = 8;

impl BodyDigest {
    /// From the HMAC of a fixed text, which names the key, and that of the body.
    pub(crate) fn new(name: &[u8; 32], tag: &[u8; 32]) -> Self {
        let mut digest = *name;
        digest[NAME_LEN..].copy_from_slice(&tag[..32 - NAME_LEN]);
        Self(digest)
    }

    /// The digest's bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether that digest was made under the same key, so that it differs if and only if its body
    /// does.
    pub fn is_comparable_with(&self, other: &[u8; 32]) -> bool {
        self.0[..NAME_LEN] == other[..NAME_LEN]
    }
}

impl fmt::Display for BodyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for BodyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BodyDigest({self})")
    }
}
