//! How work with a worktree can fail.

use std::io;
use std::path::{Path, PathBuf};

/// Why a worktree could not be made, looked at or removed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// git refused.
    #[error(transparent)]
    Git(#[from] git_engine::GitError),
    /// The folder is no repository.
    #[error("{} is no git repository: correct the project's folder, or clone it there", .0.display())]
    NoRepository(PathBuf),
    /// No such branch or commit.
    #[error("{} has no commit {revision}: fetch it first", repository.display())]
    NoCommit {
        /// The repository.
        repository: PathBuf,
        /// What was asked for.
        revision: String,
    },
    /// Something is in the run's place already.
    #[error("{} is there already: the run has a worktree, or its id was used twice", .0.display())]
    Taken(PathBuf),
    /// A folder is not what it was: a link, or somewhere else.
    #[error("{} leads out of {}: somebody has replaced it by a link; nothing was touched", path.display(), root.display())]
    Outside {
        /// What was to be used.
        path: PathBuf,
        /// Where it should have been.
        root: PathBuf,
    },
    /// The disk refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
}

impl WorktreeError {
    pub(super) fn at_path(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
