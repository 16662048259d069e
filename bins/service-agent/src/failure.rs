//! How a command ends, and its exit code.

use command_line::exit_code;

/// A command that did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandResult {
    /// There was something to show.
    Found,
    /// There was nothing.
    NothingFound,
}

impl CommandResult {
    /// 0 or 4.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Found => 0,
            Self::NothingFound => exit_code::NOT_FOUND,
        }
    }
}

/// A command that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientFailure {
    /// The settings or the role file are wrong.
    #[error("{0}")]
    Configuration(String),
    /// The request makes no sense to the server.
    #[error("{0}")]
    Refused(String),
    /// The query is wrong at one of its characters, counted from 0.
    #[error("{detail}")]
    RefusedAt {
        /// What is wrong.
        detail: String,
        /// Where.
        position: usize,
    },
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
    /// What was asked for by name is not there.
    #[error("{0}")]
    NotFound(String),
    /// A person pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// A signal ended it.
    #[error("ended by {}", .0.name())]
    Signalled(command_line::terminal::signals::Termination),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl ClientFailure {
    /// What kind it is, for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Configuration(_) => "configuration",
            Self::Refused(_) | Self::RefusedAt { .. } => "refused",
            Self::NotAllowed(_) => "not_allowed",
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut { .. } => "timed_out",
            Self::NotFound(_) => "not_found",
            Self::Interrupted => "interrupted",
            Self::Signalled(_) => "signalled",
            Self::Other(_) => "failed",
        }
    }

    /// With the query, and a caret under the character at fault where there is one.
    #[must_use]
    pub fn showing(self, query: &str) -> Self {
        match self {
            Self::RefusedAt { detail, position } => {
                Self::Refused(with_caret(&detail, query, position))
            }
            other => other,
        }
    }

    /// The exit code, as `--help` lists them.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Configuration(_) | Self::Other(_) => exit_code::FAILED,
            Self::Refused(_) | Self::RefusedAt { .. } => exit_code::USAGE,
            Self::NotFound(_) => exit_code::NOT_FOUND,
            Self::NotAllowed(_) => exit_code::NOT_ALLOWED,
            Self::Unreachable { .. } => exit_code::UNREACHABLE,
            Self::TimedOut { .. } => exit_code::TIMED_OUT,
            Self::Interrupted => exit_code::INTERRUPTED,
            Self::Signalled(signal) => signal.code(),
        }
    }
}

/// Longest part of a query that is shown around its fault, in characters, to each side.
const SHOWN: usize = 60;

/// What is wrong with a query, and below it the query with a caret under the character at fault.
#[must_use]
pub fn with_caret(detail: &str, query: &str, position: usize) -> String {
    let first = position.saturating_sub(SHOWN);
    let characters = query.chars().skip(first).take(2 * SHOWN);
    let shown: String = characters
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let before = " ".repeat(position - first);
    format!("{detail}\n  {shown}\n  {before}^")
}

#[cfg(test)]
mod tests {
    use super::with_caret;

    #[test]
    fn the_caret_stands_below_the_character() {
        assert_eq!(
            with_caret("not closed", "naïve (rust", 6),
            "not closed\n  naïve (rust\n        ^"
        );
        let long = format!("{}(", "x ".repeat(500));
        let text = with_caret("d", &long, 1000);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].chars().nth(lines[2].len() - 1), Some('('));
    }
}
