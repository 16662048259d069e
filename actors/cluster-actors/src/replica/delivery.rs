//! A verified delivery on its way from the process that took it in to the one that decides.

use forge_core::{BodyDigest, Delivery, EventError, ParseOptions, WebhookHeaders};
use serde::{Deserialize, Serialize};

/// A delivery whose signature was found to hold, and whose event could be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredDelivery {
    /// The headers that say what it is; no signature among them.
    headers: Vec<(String, Vec<u8>)>,
    /// The digest of its body.
    digest: BodyDigest,
    /// The JSON that was signed.
    body: Vec<u8>,
}

/// What was taken in cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Undecodable {
    /// Its bytes.
    #[error("a delivery that was taken in is damaged: {0}")]
    Bytes(#[from] postcard::Error),
    /// Its event; the process that took it in could read it.
    #[error("a delivery that another version of this program took in cannot be read: {0}")]
    Event(#[from] EventError),
}

/// The ends of the names of the headers that are kept.
const KEPT: [&str; 3] = ["-event", "-event-type", "-delivery"];

impl StoredDelivery {
    /// What is kept of a delivery that came with these headers.
    pub fn new<'h>(
        headers: impl IntoIterator<Item = (&'h str, &'h [u8])>,
        digest: BodyDigest,
        body: &[u8],
    ) -> Self {
        let is_kept = |name: &str| {
            let name = name.to_ascii_lowercase();
            name.starts_with("x-") && KEPT.iter().any(|end| name.ends_with(end))
        };
        let kept = headers.into_iter().filter(|(name, _)| is_kept(name));
        Self {
            headers: kept
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            digest,
            body: body.to_owned(),
        }
    }

    /// Its bytes.
    ///
    /// # Errors
    /// Never, in practice: it is made of texts and bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Undecodable> {
        Ok(postcard::to_stdvec(self)?)
    }

    /// From its bytes.
    ///
    /// # Errors
    /// They are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Undecodable> {
        Ok(postcard::from_bytes(bytes)?)
    }

    /// The digest of its body.
    #[must_use]
    pub fn digest(&self) -> BodyDigest {
        self.digest
    }

    /// The JSON that was signed.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The delivery, read as it was when it came. Its signature is not looked at again: a secret
    /// that was changed meanwhile must lose nothing.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn delivery(&self) -> Result<Delivery, Undecodable> {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_slice()));
        let headers = WebhookHeaders::collect(headers);
        let options = ParseOptions::default();
        Ok(Delivery::parse(&headers, &self.body, self.digest, options)?)
    }
}
