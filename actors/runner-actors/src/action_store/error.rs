//! Why the store of actions did not do what was asked.

use std::path::{Path, PathBuf};

use git_engine::GitError;
use runner_core::actions::ActionLockError;

/// Why the store of actions did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ActionStoreError {
    /// The owner is not among those that the configuration lists.
    #[error("actions of {0} are not allowed: `actions_owners` does not list this owner")]
    Owner(String),
    /// The remote has no such tag, branch or commit.
    #[error("{0}: the repository has no such tag, branch or commit")]
    NoVersion(String),
    /// It is not locked.
    #[error("{0} is not in the store")]
    Unknown(String),
    /// It was changed in the store.
    #[error("{name}: {what}; `workflow-runner actions add` mends it")]
    NotExported {
        /// The key.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// An archive's commit has other files than its lock says.
    #[error("{name}: the archive holds the files {found}, and its lock says {known}")]
    OtherFiles {
        /// The key.
        name: String,
        /// The digest in the archive's lock.
        known: String,
        /// The digest of what the archive holds.
        found: String,
    },
    /// It was not written by `actions export`.
    #[error("{} is no archive of actions: {what}", .path.display())]
    NoArchive {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Its address is not used.
    #[error("{0}")]
    Source(String),
    /// Git said no.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The lock is wrong, or would be.
    #[error(transparent)]
    Lock(#[from] ActionLockError),
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
