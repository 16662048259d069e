//! The search server's messages: thin wrappers of core types.

use crate::config::ActiveConfig;
use crate::remote_sources::SourceOutcome;
use actix::Message;
use config_core::Diagnostics;
use search_core::answer::{DocumentView, SearchAnswer};
use search_core::role::{ReplaceError, RoleFile};
use search_engine::answering::{DocumentRequest, SearchFailure, SearchParams};

/// Search a role.
///
/// Sent by: the HTTP edge, terminal clients in process. Handled by: `SearchTree`.
/// Reply: the page asked for, or why there is none.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<SearchAnswer, SearchFailure>")]
pub struct Search(pub SearchParams);

/// Read one document again from its source.
///
/// Sent by: the HTTP edge. Handled by: `SearchTree`. Reply: its text, or why there is none.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<DocumentView, SearchFailure>")]
pub struct ReadDocument(pub DocumentRequest);

/// Compare the source with its index again, now.
///
/// Sent by: the HTTP edge. Handled by: `SourceIndexer`. Reply: none;
/// `GET /health` shows the progress.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct Reindex;

/// Ask these sources at once; each answers within the service's deadline, or is reported.
///
/// Sent by: `SearchTree`. Handled by: `RemoteSources`. Reply: one outcome a source.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Vec<SourceOutcome>")]
pub struct QuerySources {
    /// Ids of their handles.
    pub ids: Vec<String>,
    /// What to ask with.
    pub words: String,
}

/// Search what this file says from now on. Sources that stay keep their index and state, new ones
/// are indexed, removed ones stop; searches go on meanwhile.
///
/// Sent by: whoever reads the role file. Handled by: `RoleManager`. Reply: the number of the role
/// set in force.
#[derive(Debug, Clone, Message)]
#[rtype(result = "u64")]
pub struct ApplyRoles(pub RoleFile);

/// Make this text the role file, and put it in force.
///
/// Sent by: the HTTP edge. Handled by: `ConfigManager`. Reply: what is in force then, or why
/// nothing has changed.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<ActiveConfig, SaveError>")]
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
pub enum SaveError {
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

impl From<ReplaceError> for SaveError {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::Wrong(wrong) => Self::Wrong(wrong),
            other => Self::NotAllowed(other.to_string()),
        }
    }
}

/// Another role set is in force.
///
/// Sent by: `RoleManager`. Handled by: `RemoteSources`. Reply: none.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct RolesReplaced;
