//! Why a server of the protocol gave nothing.

use std::time::Duration;

use http_clients::http::HttpError;
use search_sources_core::SourceDataError;
use search_sources_core::mcp::rpc::RpcError;

/// Why there are no items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// Its program cannot be started.
    #[error("`{command}` cannot be started: {reason}; is it installed, and on the server's PATH?")]
    Start {
        /// The program.
        command: String,
        /// What the system said.
        reason: String,
    },
    /// Its program has ended.
    #[error("its program has ended{}", message_of(last))]
    Ended {
        /// The end of what it wrote to standard error, one line.
        last: String,
    },
    /// It is not ready yet; the start goes on.
    #[error("it is still starting; search again in a moment")]
    Starting,
    /// It cannot be reached, or answered with an error status.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// It refused a request.
    #[error("it refused {method}: {error}")]
    Refused {
        /// The request.
        method: String,
        /// What it said.
        error: RpcError,
    },
    /// No answer in time.
    #[error("no answer to {what} within {after:?}")]
    TimedOut {
        /// What was asked.
        what: String,
        /// The time given.
        after: Duration,
    },
    /// What it sends cannot be read.
    #[error("its answer cannot be read: {0}")]
    Unreadable(String),
    /// It speaks no revision that is known.
    #[error("{0}")]
    Revision(String),
    /// It has nothing that could be searched.
    #[error("{0}")]
    NothingToSearch(String),
    /// The tool failed, or said something else than expected.
    #[error(transparent)]
    Data(#[from] SourceDataError),
}

impl McpError {
    /// Whether the session is of no use any more.
    pub(crate) fn breaks_session(&self) -> bool {
        match self {
            Self::Ended { .. } | Self::Unreadable(_) => true,
            // 404 with a session: the server has forgotten it.
            Self::Http(HttpError::Status { status, .. }) => matches!(status, 400 | 404),
            Self::Http(_) => true,
            // What the official SDKs say of a session they do not know.
            Self::Refused { error, .. } => matches!(error.code, -32001 | -32000),
            _ => false,
        }
    }

    /// Whether the server does not know the session, and so has not done what was asked.
    pub(crate) fn is_unknown_session(&self) -> bool {
        match self {
            Self::Http(HttpError::Status { status, .. }) => *status == 404,
            Self::Refused { error, .. } => error.code == -32001,
            _ => false,
        }
    }

    /// Whether it says more about the moment than about the server.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(self, Self::Starting)
    }
}

fn message_of(last: &str) -> String {
    if last.is_empty() {
        String::new()
    } else {
        format!("; it said: {last}")
    }
}
