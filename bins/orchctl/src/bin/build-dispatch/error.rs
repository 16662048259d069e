//! Why a command was not run to its end, and the exit code of that.

use std::io;
use std::path::PathBuf;

/// The exit code of the dispatcher's own failures, as `env` and container tools use it.
pub(crate) const EXIT_FAILED: u8 = 125;

/// Why the command was not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DispatchError {
    /// The workers' file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The workers' file has mistakes.
    #[error("{0}")]
    InvalidConfig(config_core::Diagnostics),
    /// No such worker.
    #[error("there is no worker `{0}`; there are: {1}")]
    NoWorker(String, String),
    /// A variable's name.
    #[error("--env {0:?} is not the name of a variable that is set here")]
    Variable(String),
    /// Not in a checkout.
    #[error("{} is in no git checkout: the files are sent by git", .0.display())]
    NoRepository(PathBuf),
    /// No such commit.
    #[error("--ref {0:?} names no commit of this repository: fetch it first")]
    NoCommit(String),
    /// git is missing.
    #[error("git cannot be started: {0}")]
    Git(io::Error),
    /// git failed.
    #[error("git {what}: {message}")]
    GitFailed { what: String, message: String },
    /// ssh is missing.
    #[error("ssh cannot be started: {0}")]
    Ssh(io::Error),
    /// One worker does not answer.
    #[error("worker {0} cannot be reached, or is no worker")]
    Unreachable(String),
    /// The connection broke while the command ran.
    #[error("the connection to the worker broke; what ran there was ended")]
    Lost,
    /// The system refused something.
    #[error("{0}")]
    Wait(io::Error),
    /// A signal came.
    #[error("interrupted")]
    Interrupted(u8),
}

impl DispatchError {
    /// 125, 2 for wrong usage, 128 + number for a signal.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Interrupted(signal) => 128 + signal,
            Self::NoWorker(..) | Self::Variable(_) | Self::NoCommit(_) => 2,
            _ => EXIT_FAILED,
        }
    }
}
