//! The search server's messages: thin wrappers of core types.

use crate::asking::SourceOutcome;
use crate::configuration::InForce;
use actix::Message;
use config_core::Diagnostics;
use search_core::answer::{DocumentView, SearchAnswer};
use search_core::role::{ReplaceError, RoleFile};
use search_engine::answering::{DocumentRequest, SearchFailure, SearchOrder};

/// Search a role.
///
/// Sent by: the HTTP edge, terminal clients in process. Handled by: `SearchDesk`.
/// Reply: the page asked for, or why there is none.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<SearchAnswer, SearchFailure>")]
pub struct Search(pub SearchOrder);

/// Read one document again from its source.
///
/// Sent by: the HTTP edge. Handled by: `SearchDesk`. Reply: its text, or why there is none.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<DocumentView, SearchFailure>")]
pub struct ReadDocument(pub DocumentRequest);

/// Compare the source with its index again, now.
///
/// Sent by: the HTTP edge. Handled by: `IndexKeeper`. Reply: none;
/// `GET /health` shows the progress.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct Reindex;

/// Ask these sources at once; each answers within the desk's deadline, or is reported.
///
/// Sent by: `SearchDesk`. Handled by: `AskDesk`. Reply: one outcome a source.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Vec<SourceOutcome>")]
pub struct AskSources {
    /// Ids of their slots.
    pub ids: Vec<String>,
    /// What to ask with.
    pub words: String,
}

/// Search what this file says from now on. Sources that stay keep their index and state, new ones are indexed, removed ones
/// stop; searches go on meanwhile.
///
/// Sent by: whoever reads the role file. Handled by: `RoleDesk`. Reply: the number of the board in force.
#[derive(Debug, Clone, Message)]
#[rtype(result = "u64")]
pub struct ApplyRoles(pub RoleFile);

/// Make this text the role file, and put it in force.
///
/// Sent by: the HTTP edge. Handled by: `ConfigurationDesk`. Reply: what is in force then, or why nothing has changed.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<InForce, SaveRefused>")]
pub struct SaveRoles {
    /// The whole file. `***` in the place of a secret keeps the secret.
    pub text: Vec<u8>,
    /// What the sender has seen before.
    pub condition: Precondition,
}

/// What must be in force for a change to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    /// Whatever there is is replaced, a file that was changed on disk as well.
    Any,
    /// One of these versions, and nothing newer on disk.
    Version(Vec<String>),
}

/// Why a role file was not saved.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SaveRefused {
    /// Another version is in force.
    #[error("the configuration has been changed meanwhile: read it again")]
    Stale,
    /// The file holds something that is not in force.
    #[error(
        "the role file was changed on disk, and is not in force (yet): read it again, or send If-Match: * to replace it"
    )]
    ChangedOnDisk,
    /// The text has mistakes.
    #[error("{0}")]
    Wrong(Diagnostics),
    /// The text holds or uses what only the file itself may.
    #[error("{0}")]
    NotAllowed(String),
    /// The file cannot be written; it is as it was.
    #[error("the role file cannot be written: {0}")]
    Disk(String),
    /// The file is written, and is put in force as soon as that is possible.
    #[error("the role file is saved and will be in force soon: {0}")]
    NotApplied(String),
}

impl From<ReplaceError> for SaveRefused {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::Wrong(wrong) => Self::Wrong(wrong),
            other => Self::NotAllowed(other.to_string()),
        }
    }
}

/// Another board is in force.
///
/// Sent by: `RoleDesk`. Handled by: `AskDesk`. Reply: none.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct BoardChanged;
