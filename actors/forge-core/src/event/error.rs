//! Why a signed body is not an event.

use super::kind::ForgeEventKind;
use crate::{ForgeIdError, HeaderError, JsonError};

/// Why a signed body is not an event. Every one of these is answered with 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The body is not acceptable JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The headers contradict themselves.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A required field is absent or null.
    #[error("{path} is missing")]
    Missing {
        /// Where, e.g. `pull_request.head.sha`.
        path: String,
    },
    /// A field of the wrong type, or a number out of range.
    #[error("{path} is {found}, expected {expected}")]
    WrongType {
        /// Where.
        path: String,
        /// What stands there; texts are not repeated.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// A text that is not an id of its kind.
    #[error("{path}: {reason}")]
    Invalid {
        /// Where.
        path: String,
        /// Which rule it breaks.
        reason: ForgeIdError,
    },
    /// Two fields that must agree do not.
    #[error("{path} contradicts {other}")]
    Contradiction {
        /// One field.
        path: String,
        /// The other.
        other: &'static str,
    },
    /// No header names the event, and the body looks like none that is known.
    #[error("no header names the event and the body has the shape of none; send X-GitHub-Event")]
    Unrecognised,
    /// The header names one event, the body is another.
    #[error("the headers declare the event {declared}, but the body is {body}")]
    Mismatch {
        /// From the header.
        declared: ForgeEventKind,
        /// What the body looks like.
        body: &'static str,
    },
}
