//! How a call of git can fail.

use std::path::PathBuf;
use std::time::Duration;

/// Why git did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program cannot be started.
    #[error("cannot start {program}: {source}; is git installed?")]
    Start {
        /// The program as configured.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It ran and said no.
    #[error("git {what} failed ({status}): {message}")]
    Failed {
        /// The subcommand.
        what: String,
        /// Exit code or signal in words.
        status: String,
        /// The end of what it printed on standard error, one line.
        message: String,
    },
    /// Its time was over; its process group was killed.
    #[error("git {what} was ended after {} s", .limit.as_secs())]
    TimedOut {
        /// The subcommand.
        what: String,
        /// The limit.
        limit: Duration,
    },
    /// It printed more than the caller wants to hold.
    #[error("git {what} printed more than {limit} bytes")]
    TooLarge {
        /// The subcommand.
        what: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// What it printed is not what its manual promises.
    #[error("git {what} printed something unexpected: {reason}")]
    Unexpected {
        /// The subcommand.
        what: String,
        /// What was wrong.
        reason: String,
    },
    /// The commit is not in the repository, even after a fetch.
    #[error("the repository has no commit {0}")]
    NoCommit(String),
    /// The commit is larger than it may be; nothing of it was laid out.
    #[error("the commit {what}: {}, {limit} are allowed", at_least(*.found))]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How many there are; `u64::MAX` for more than can be counted.
        found: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The server sends more than is taken.
    #[error("the repository is larger than the {limit} bytes that are fetched at once")]
    FetchTooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// A file of ours could not be written or read.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

fn at_least(found: u64) -> String {
    if found == u64::MAX {
        "more than can be counted".to_owned()
    } else {
        found.to_string()
    }
}

impl GitError {
    /// Whether the repository asks for more than it may have: it is refused, and another attempt
    /// would be too.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::TooMuch { .. } | Self::FetchTooLarge { .. })
    }

    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
