//! Why the store of actions did not do what was asked.

use std::path::{Path, PathBuf};

use git_engine::GitError;
use runner_core::actions::LockError;

/// Why the store of actions did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ActionStoreError {
    /// The owner is not among those that the configuration lists.
    #[error("actions of {0} are not allowed: `actions_owners` does not list this owner")]
    Owner(String),
    /// The remote has no such tag, branch or commit.
    #[error("{0}: the repository has no such tag, branch or commit")]
    NoVersion(String),
    /// Its address is not used.
    #[error("{0}")]
    Source(String),
    /// Git said no.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The lock is wrong, or would be.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file of the store cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl ActionStoreError {
    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
