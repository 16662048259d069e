//! What can go wrong with the VM manager.

use std::time::Duration;

use crate::http::{HttpError, Response};

/// Why a call to the VM manager failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VmmError {
    /// It could not be reached, or broke off.
    #[error("the VM manager is not reachable: {0}")]
    Unavailable(String),
    /// It did not answer in time. What was asked for may still happen.
    #[error("the VM manager is too slow: {0}")]
    TimedOut(String),
    /// It failed itself (5xx).
    #[error("the VM manager failed: {0}")]
    Failed(String),
    /// The answer is not one of a VM manager, or too large for one.
    #[error("the VM manager's answer is unusable: {0}")]
    BadReply(String),
    /// The token is missing, wrong or over (401, 403).
    #[error("the VM manager refuses the token: {0}")]
    Unauthorised(String),
    /// There is no such VM or execution (404, 410).
    #[error("the VM manager does not know it: {0}")]
    NotFound(String),
    /// The isolation asked for is not to be had there, or the request clashes with another (409).
    #[error("the VM manager cannot give that: {0}")]
    Isolation(String),
    /// No room now (429, 503).
    #[error("the VM manager has no room now: {reason}")]
    Full {
        /// What it says.
        reason: String,
        /// When to ask again.
        after: Option<Duration>,
    },
    /// It says the request is wrong (400, 413, 422).
    #[error("the VM manager refuses: {0}")]
    Refused(String),
    /// An execution's stream ended without its last line: how it ended is unknown.
    #[error("the execution is lost: {0}")]
    Lost(String),
    /// The caller's own tar stream could not be read.
    #[error("the files to be sent could not be read: {0}")]
    Upload(String),
}

impl VmmError {
    /// Whether asking again can help.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::TimedOut(_) | Self::Failed(_) | Self::Full { .. }
        )
    }
}

impl From<HttpError> for VmmError {
    fn from(error: HttpError) -> Self {
        let reason = error.to_string();
        match error {
            HttpError::Unavailable { .. } | HttpError::Refused { .. } => Self::Unavailable(reason),
            HttpError::TimedOut { .. } => Self::TimedOut(reason),
            HttpError::Status {
                status,
                retry_after,
                ..
            } => error_from_status(status, retry_after, reason),
            HttpError::BadRequest { .. } => Self::Refused(reason),
            HttpError::TooLarge { .. }
            | HttpError::BadBody { .. }
            | HttpError::Redirected { .. } => Self::BadReply(reason),
        }
    }
}

fn error_from_status(status: u16, after: Option<Duration>, reason: String) -> VmmError {
    match status {
        401 | 403 => VmmError::Unauthorised(reason),
        404 | 410 => VmmError::NotFound(reason),
        409 => VmmError::Isolation(reason),
        429 | 503 => VmmError::Full { reason, after },
        500..=599 => VmmError::Failed(reason),
        400..=499 => VmmError::Refused(reason),
        _ => VmmError::BadReply(reason),
    }
}

/// An answer of status 2xx; of others the problem's `detail` is what is shown.
pub(super) fn checked(response: Response) -> Result<Response, VmmError> {
    if response.is_success() {
        return Ok(response);
    }
    let problem = response.json::<serde_json::Value>().unwrap_or_default();
    let detail = problem["detail"].as_str().map(|detail| {
        let end = detail.floor_char_boundary(300);
        detail[..end].to_owned()
    });
    let status = response.status;
    match (response.into_error(), detail) {
        (HttpError::Status { retry_after, .. }, Some(detail)) => {
            Err(error_from_status(status, retry_after, detail))
        }
        (error, _) => Err(error.into()),
    }
}
