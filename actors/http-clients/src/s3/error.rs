//! What can go wrong with object storage.

use crate::http::{HttpError, Response};

/// Why an object was not stored, read or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum S3Error {
    /// The name cannot stand in an address (empty, above 1,024 bytes, or with a part `.` or `..`).
    #[error("{key:?} cannot be the name of an object")]
    BadKey {
        /// The name.
        key: String,
    },
    /// The server cannot be reached, or broke off.
    #[error("the object storage is not reachable: {0}")]
    Unavailable(String),
    /// It did not answer in time.
    #[error("the object storage is too slow: {0}")]
    TimedOut(String),
    /// The keys are wrong, or may not do this.
    #[error("the object storage refuses the keys: {0}")]
    Unauthorised(String),
    /// There is no such bucket.
    #[error("the object storage has no such bucket: {0}")]
    NoBucket(String),
    /// The condition does not hold: somebody else has changed the object.
    #[error("the object was changed by somebody else: {0}")]
    Changed(String),
    /// The object is larger than is taken.
    #[error("the object is too large: {0}")]
    TooLarge(String),
    /// The server failed itself (5xx), or wants to be asked later.
    #[error("the object storage failed: {0}")]
    Failed(String),
    /// It refuses for another reason.
    #[error("the object storage refuses: {0}")]
    Refused(String),
    /// The answer is not one of object storage.
    #[error("the object storage's answer is unreadable: {0}")]
    BadReply(String),
}

impl S3Error {
    /// Whether asking again can help.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::TimedOut(_) | Self::Failed(_)
        )
    }
}

impl From<HttpError> for S3Error {
    fn from(error: HttpError) -> Self {
        let reason = error.to_string();
        match error {
            HttpError::Unavailable { .. } | HttpError::Refused { .. } => Self::Unavailable(reason),
            HttpError::TimedOut { .. } => Self::TimedOut(reason),
            HttpError::TooLarge { .. } => Self::TooLarge(reason),
            HttpError::Status { status, .. } => of_status(status, "", reason),
            HttpError::BadRequest { .. } => Self::Refused(reason),
            HttpError::BadBody { .. } | HttpError::Redirected { .. } => Self::BadReply(reason),
        }
    }
}

fn of_status(status: u16, code: &str, reason: String) -> S3Error {
    match status {
        401 | 403 => S3Error::Unauthorised(reason),
        404 => S3Error::NoBucket(reason),
        // Two conditional writes at once are 409.
        409 | 412 => S3Error::Changed(reason),
        429 | 500..=599 => S3Error::Failed(reason),
        400 if code == "RequestTimeout" => S3Error::Failed(reason),
        400..=499 => S3Error::Refused(reason),
        _ => S3Error::BadReply(reason),
    }
}

/// What an answer of another status than 2xx means.
pub(super) fn refusal(response: &Response) -> S3Error {
    let text = String::from_utf8_lossy(&response.body);
    let code = element(&text, "Code").unwrap_or_default();
    let said = element(&text, "Message").unwrap_or_default();
    let end = said.floor_char_boundary(300);
    let reason = format!("status {} {code} {}", response.status, &said[..end]);
    of_status(response.status, code, reason.trim_end().to_owned())
}

/// Whether an answer says that there is no such object, and not that there is no such bucket.
pub(super) fn is_no_object(response: &Response) -> bool {
    let text = String::from_utf8_lossy(&response.body);
    response.status == 404 && element(&text, "Code").is_none_or(|code| code != "NoSuchBucket")
}

/// The text of an element of an error document, which has no markup within.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once("</")?.0)
}
