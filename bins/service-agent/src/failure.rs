//! How a command ends, and its exit code.

/// A command that did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There was something to show.
    Found,
    /// There was nothing.
    NothingFound,
}

impl Outcome {
    /// 0 or 4.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Found => 0,
            Self::NothingFound => 4,
        }
    }
}

/// A command that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The settings or the role file are wrong.
    #[error("{0}")]
    Configuration(String),
    /// The request makes no sense to the server.
    #[error("{0}")]
    Refused(String),
    /// The token is missing or wrong.
    #[error("not allowed: {0}; set SERVICE_API_TOKEN to the server's token")]
    NotAllowed(String),
    /// No server answers.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        /// The server asked.
        url: String,
        /// What the network said.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("{url} did not answer in time")]
    TimedOut {
        /// The server asked.
        url: String,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// The exit code, as `--help` lists them.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Configuration(_) | Self::Other(_) => 1,
            Self::Refused(_) => 2,
            Self::NotAllowed(_) => 5,
            Self::Unreachable { .. } => 6,
            Self::TimedOut { .. } => 7,
        }
    }
}
