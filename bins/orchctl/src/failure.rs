//! How a command ends, and its exit code.

use command_line::exit_code;
use http_clients::http::HttpError;

/// A command that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandFailure {
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The orchestrator said no.
    #[error("{0}")]
    Refused(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// A secret or token is missing or wrong.
    #[error("{0}")]
    NotAllowed(String),
    /// Nobody answers.
    #[error("{0}")]
    Unreachable(String),
    /// It took too long.
    #[error("{0}")]
    TimedOut(String),
    /// Somebody pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// Another signal ended it.
    #[error("ended by {}", .0.name())]
    Signalled(command_line::terminal::signals::Termination),
}

impl CommandFailure {
    /// The failure in one line of JSON: `{"error","code"}`.
    pub(crate) fn json(&self) -> String {
        serde_json::json!({ "error": self.to_string(), "code": self.code() }).to_string()
    }

    /// The exit code, as `--help` lists them.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Refused(_) => exit_code::FAILED,
            Self::Usage(_) => exit_code::USAGE,
            Self::NotFound(_) => exit_code::NOT_FOUND,
            Self::NotAllowed(_) => exit_code::NOT_ALLOWED,
            Self::Unreachable(_) => exit_code::UNREACHABLE,
            Self::TimedOut(_) => exit_code::TIMED_OUT,
            Self::Interrupted => exit_code::INTERRUPTED,
            Self::Signalled(signal) => signal.code(),
        }
    }
}

impl From<HttpError> for CommandFailure {
    fn from(error: HttpError) -> Self {
        let text = error.to_string();
        match error {
            HttpError::TimedOut { .. } => Self::TimedOut(text),
            HttpError::Unavailable { .. } | HttpError::Refused { .. } => Self::Unreachable(text),
            _ => Self::Refused(text),
        }
    }
}
