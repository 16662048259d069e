//! A verified delivery on its way from the process that took it in to the one that decides.

use forge_core::{BodyDigest, Delivery, EventError, ParseOptions, WebhookHeaders};
use serde::{Deserialize, Serialize};

/// The first byte of a layout with a version has this bit, and the version in the others. The first
/// layout has none, and begins with the number of headers.
const VERSIONED: u8 = 0x80;
/// Most headers that are kept: fewer than would look like a version.
const MOST_HEADERS: usize = 127;

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

/// What becomes of a delivery that another process took in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntakeDecision {
    /// This, for the process that took it in.
    Outcome(Vec<u8>),
    /// Nothing now: it is asked about again.
    NotNow,
    /// Nothing here, for this reason: another version of the program took it in, and has to lead
    /// to decide it.
    NotHere(String),
}

/// What was taken in cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UndecodableDelivery {
    /// Its bytes.
    #[error("a delivery that was taken in is damaged: {0}")]
    Bytes(#[from] postcard::Error),
    /// How it is laid out: this is the version of that.
    #[error("a delivery was taken in by a newer version of this program (layout {0})")]
    Layout(u8),
    /// Its event; the process that took it in could read it.
    #[error("a delivery that another version of this program took in cannot be read: {0}")]
    Event(#[from] EventError),
}

impl UndecodableDelivery {
    /// What becomes of the delivery; `lost` is told to the process that took it in where nobody
    /// will ever read it.
    pub(super) fn decision(self, lost: Vec<u8>) -> IntakeDecision {
        match self {
            Self::Bytes(_) => {
                tracing::error!(
                    event = "intake.undecodable", error = %self,
                    "a delivery that was acknowledged cannot be read"
                );
                IntakeDecision::Outcome(lost)
            }
            Self::Layout(_) | Self::Event(_) => IntakeDecision::NotHere(self.to_string()),
        }
    }
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
                .take(MOST_HEADERS)
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
    pub fn to_bytes(&self) -> Result<Vec<u8>, UndecodableDelivery> {
        Ok(postcard::to_stdvec(self)?)
    }

    /// From its bytes.
    ///
    /// # Errors
    /// They are damaged, or of a newer version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, UndecodableDelivery> {
        match bytes.first() {
            Some(first) if first & VERSIONED != 0 => {
                Err(UndecodableDelivery::Layout(first & !VERSIONED))
            }
            _ => Ok(postcard::from_bytes(bytes)?),
        }
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
    pub fn delivery(&self) -> Result<Delivery, UndecodableDelivery> {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_slice()));
        let headers = WebhookHeaders::collect(headers);
        let options = ParseOptions::default();
        Ok(Delivery::parse(&headers, &self.body, self.digest, options)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digests are made with secrets; any bytes will do.
    fn digest() -> BodyDigest {
        postcard::from_bytes(&[7; 32]).expect("it is 32 bytes")
    }

    fn stored() -> StoredDelivery {
        let body = br#"{"zen":"x"}"#;
        let headers = [
            ("X-GitHub-Event", &b"ping"[..]),
            ("X-Hub-Signature-256", &b"sha256=0"[..]),
            ("x-github-delivery", &b"one"[..]),
        ];
        StoredDelivery::new(headers, digest(), body)
    }

    /// Processes of two versions share an intake during an upgrade: a field that is new needs a
    /// layout that says so ([`VERSIONED`]).
    #[test]
    fn i18_a_delivery_is_laid_out_as_the_versions_before_wrote_it() {
        let bytes = stored().to_bytes().expect("it is text and bytes");
        let mut expected = vec![2, 14];
        expected.extend(b"X-GitHub-Event\x04ping\x11x-github-delivery\x03one");
        expected.extend([7; 32]);
        expected.extend(b"\x0b{\"zen\":\"x\"}");
        assert_eq!(bytes, expected);
        assert_eq!(StoredDelivery::from_bytes(&bytes).ok(), Some(stored()));
    }

    #[test]
    fn i18_what_a_newer_version_took_in_waits_for_one_and_what_is_damaged_is_lost() {
        let lost = || b"lost".to_vec();
        for (bytes, waits) in [
            (&b"\x81anything"[..], true),
            (b"\x02damaged", false),
            (b"", false),
        ] {
            let error = StoredDelivery::from_bytes(bytes).expect_err("it cannot be read");
            let expected = match waits {
                true => IntakeDecision::NotHere(error.to_string()),
                false => IntakeDecision::Outcome(lost()),
            };
            assert_eq!(error.decision(lost()), expected, "{bytes:?}");
        }
        let unknown = StoredDelivery {
            headers: vec![("x-github-event".to_owned(), b"push".to_vec())],
            ..stored()
        };
        let error = unknown.delivery().expect_err("it is no push");
        let decision = error.decision(lost());
        assert!(
            matches!(decision, IntakeDecision::NotHere(_)),
            "{decision:?}"
        );
    }

    #[test]
    fn i18_headers_are_never_as_many_as_look_like_a_version() {
        let headers = (0..400).map(|_| ("x-gitea-event", &b"push"[..]));
        let many = StoredDelivery::new(headers, digest(), b"{}");
        let bytes = many.to_bytes().expect("it is text and bytes");
        assert_eq!(StoredDelivery::from_bytes(&bytes).ok(), Some(many));
    }
}
