//! The headers that carry a signature, and the digest in them.

use crate::id::is_lower_hex;

/// Length of a SHA-256 digest, in bytes.
pub(super) const DIGEST_LEN: usize = 32;

/// A header that carries an HMAC-SHA256 of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignatureHeader {
    /// `X-Hub-Signature-256: sha256=<hex>` (GitHub; Gitea and Forgejo send it too).
    Hub256,
    /// `X-Gitea-Signature: <hex>`
    Gitea,
    /// `X-Forgejo-Signature: <hex>`
    Forgejo,
    /// `X-Gogs-Signature: <hex>`
    Gogs,
}

impl SignatureHeader {
    /// All of them, in the order they are looked for.
    pub const ALL: [Self; 4] = [Self::Hub256, Self::Gitea, Self::Forgejo, Self::Gogs];

    /// The header's name as forges write it; HTTP compares it without regard to case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hub256 => "X-Hub-Signature-256",
            Self::Gitea => "X-Gitea-Signature",
            Self::Forgejo => "X-Forgejo-Signature",
            Self::Gogs => "X-Gogs-Signature",
        }
    }

    /// Reads the digest in a header's value; anything but the exact form is refused.
    fn digest(self, value: &[u8]) -> Result<[u8; DIGEST_LEN], SignatureError> {
        let digits = match self {
            Self::Hub256 => value.strip_prefix(b"sha256="),
            Self::Gitea | Self::Forgejo | Self::Gogs => Some(value),
        };
        digits.and_then(decode).ok_or(SignatureError::Malformed {
            header: self.name(),
        })
    }
}

/// Exactly 64 lower-case hexadecimal digits, decoded. Upper case is refused because no forge sends
/// it: a second spelling of one signature is only of use to somebody who probes.
fn decode(digits: &[u8]) -> Option<[u8; DIGEST_LEN]> {
    let digits = <&[u8; 2 * DIGEST_LEN]>::try_from(digits).ok()?;
    let mut digest = [0; DIGEST_LEN];
    hex::decode_to_slice(digits, &mut digest).ok()?;
    is_lower_hex(digits).then_some(digest)
}

/// Why a request is not signed as it should be. Every one of these is answered with 403.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// No recognised signature header.
    #[error("the request carries no signature; send X-Hub-Signature-256")]
    Missing,
    /// Only the obsolete SHA-1 header.
    #[error("the request carries only a SHA-1 signature; send X-Hub-Signature-256")]
    OnlySha1,
    /// A header whose value has not the exact form.
    #[error(
        "{header} is malformed; expected {} 64 lower-case hexadecimal digits",
        prefix(header)
    )]
    Malformed {
        /// Name of the header.
        header: &'static str,
    },
    /// Two signature headers that carry different digests: one of them must be wrong.
    #[error("the signature headers disagree with each other")]
    Disagree,
    /// The digest belongs to another body or another secret.
    #[error("the signature does not match the body; is the same secret set on both sides?")]
    Mismatch,
}

/// What stands before the digits in this header, for the error text.
fn prefix(header: &str) -> &'static str {
    if header.ends_with("-256") {
        "sha256= and"
    } else {
        "exactly"
    }
}

/// The signature headers of one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignatureHeaders {
    digests: Vec<(SignatureHeader, [u8; DIGEST_LEN])>,
    malformed: Option<SignatureError>,
    sha1: bool,
}

impl SignatureHeaders {
    /// Takes one header in, if it is about signatures; says whether it was.
    pub(crate) fn take(&mut self, name: &str, value: &[u8]) -> bool {
        if name.eq_ignore_ascii_case("X-Hub-Signature") {
            self.sha1 = true;
            return true;
        }
        let of_name = |header: &SignatureHeader| name.eq_ignore_ascii_case(header.name());
        let Some(header) = SignatureHeader::ALL.into_iter().find(of_name) else {
            return false;
        };
        match header.digest(value) {
            Ok(digest) => self.digests.push((header, digest)),
            Err(error) => self.malformed = Some(error),
        }
        true
    }

    /// The one digest that all present headers carry, and the first header that carries it.
    pub(super) fn digest(&self) -> Result<(SignatureHeader, [u8; DIGEST_LEN]), SignatureError> {
        if let Some(error) = &self.malformed {
            return Err(error.clone());
        }
        let &(header, digest) = self.digests.first().ok_or(self.absent())?;
        // Sender's digests against each other: nothing secret takes part.
        let mut distinct: Vec<_> = self.digests.iter().map(|(_, digest)| digest).collect();
        distinct.sort_unstable();
        distinct.dedup();
        match distinct.as_slice() {
            [_] => Ok((header, digest)),
            _ => Err(SignatureError::Disagree),
        }
    }

    fn absent(&self) -> SignatureError {
        if self.sha1 {
            SignatureError::OnlySha1
        } else {
            SignatureError::Missing
        }
    }
}
