//! What a forge's refusals mean for another attempt.

use std::time::Duration;

use crate::http::{HttpError, Retry};

/// Why a forge refuses for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForgeRefusal {
    /// There is no such repository, commit, issue or user, or the token may not see it (404, 410).
    NotFound,
    /// The token is missing, wrong or revoked (401).
    Unauthorised,
    /// The token may not do this (403).
    Forbidden,
    /// The forge understood and says no (409, 422), e.g. for a pull request that cannot be
    /// reopened.
    Unprocessable,
    /// The address policy, or the address itself, forbids the call.
    Address,
    /// The answer is not one of a forge.
    BadReply,
    /// The forge is too old to know this call.
    TooOld,
    /// Another status.
    Other(u16),
}

impl std::fmt::Display for ForgeRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match self {
            Self::NotFound => "not found",
            Self::Unauthorised => "unauthorised",
            Self::Forbidden => "forbidden",
            Self::Unprocessable => "refused",
            Self::Address => "bad address",
            Self::BadReply => "bad reply",
            Self::TooOld => "too old",
            Self::Other(status) => return write!(f, "status {status}"),
        };
        f.pad(word)
    }
}

/// Why a call to a forge failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// It may pass by itself: not reachable, too slow, 5xx.
    #[error("{reason}")]
    Transient {
        /// What happened.
        reason: String,
        /// When the forge wants to be asked again.
        after: Option<Duration>,
        /// Whether the request may have reached the forge, so that it may have been carried out or
        /// still be.
        sent: bool,
    },
    /// Too many calls (429, or GitHub's 403 with its headers).
    #[error("{reason}")]
    RateLimited {
        /// What happened.
        reason: String,
        /// When the limit is over, if the forge says so.
        after: Option<Duration>,
    },
    /// It will be the same again.
    #[error("{reason}")]
    Permanent {
        /// What kind of refusal.
        kind: ForgeRefusal,
        /// What happened.
        reason: String,
    },
}

impl ForgeError {
    pub(crate) fn permanent(kind: ForgeRefusal, reason: impl Into<String>) -> Self {
        Self::Permanent {
            kind,
            reason: reason.into(),
        }
    }

    /// The kind of refusal, if it is for good.
    #[must_use]
    pub fn refusal(&self) -> Option<ForgeRefusal> {
        match self {
            Self::Permanent { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    /// Whether asking again can help.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        self.refusal().is_none()
    }

    /// Whether a call that changes something may have been carried out nevertheless, or may still
    /// be.
    #[must_use]
    pub fn may_be_done(&self) -> bool {
        match self {
            Self::Transient { sent, .. } => *sent,
            Self::RateLimited { .. } => false,
            // It said yes, in words that are not a forge's.
            Self::Permanent { kind, .. } => *kind == ForgeRefusal::BadReply,
        }
    }

    /// When the forge wants to be asked again.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { after, .. } | Self::RateLimited { after, .. } => *after,
            Self::Permanent { .. } => None,
        }
    }
}

impl From<HttpError> for ForgeError {
    fn from(error: HttpError) -> Self {
        let reason = error.to_string();
        let kind = match (&error, Retry::for_error(&error)) {
            (
                HttpError::Status {
                    status: 429 | 403,
                    retry_after,
                    ..
                },
                Retry::Worth { .. },
            ) => {
                return Self::RateLimited {
                    reason,
                    after: *retry_after,
                };
            }
            (_, Retry::Worth { after }) => {
                let sent = !error.was_not_sent();
                return Self::Transient {
                    reason,
                    after,
                    sent,
                };
            }
            (HttpError::Status { status, .. }, _) => match status {
                401 => ForgeRefusal::Unauthorised,
                403 => ForgeRefusal::Forbidden,
                404 | 410 => ForgeRefusal::NotFound,
                409 | 422 => ForgeRefusal::Unprocessable,
                other => ForgeRefusal::Other(*other),
            },
            (HttpError::TooLarge { .. }, _) => ForgeRefusal::BadReply,
            _ => ForgeRefusal::Address,
        };
        Self::Permanent { kind, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_for(status: u16, retry_after: Option<u64>) -> ForgeError {
        ForgeError::from(HttpError::Status {
            url: "http://forge/".into(),
            status,
            retry_after: retry_after.map(Duration::from_secs),
            body: String::new(),
        })
    }

    #[test]
    fn o20_every_answer_has_a_class() {
        let table = [
            (401, Some(ForgeRefusal::Unauthorised)),
            (403, Some(ForgeRefusal::Forbidden)),
            (404, Some(ForgeRefusal::NotFound)),
            (410, Some(ForgeRefusal::NotFound)),
            (409, Some(ForgeRefusal::Unprocessable)),
            (422, Some(ForgeRefusal::Unprocessable)),
            (400, Some(ForgeRefusal::Other(400))),
            (413, Some(ForgeRefusal::Other(413))),
            (301, Some(ForgeRefusal::Other(301))),
            (408, None),
            (500, None),
            (502, None),
            (503, None),
            (504, None),
        ];
        for (status, refusal) in table {
            let error = error_for(status, None);
            assert_eq!(error.refusal(), refusal, "{status}");
            assert_eq!(error.is_temporary(), refusal.is_none(), "{status}");
        }
        let after = Some(Duration::from_secs(9));
        for status in [403, 429] {
            let error = error_for(status, Some(9));
            assert!(matches!(error, ForgeError::RateLimited { .. }), "{status}");
            assert_eq!(error.retry_after(), after);
        }
        assert_eq!(error_for(503, Some(9)).retry_after(), after);
    }
}
