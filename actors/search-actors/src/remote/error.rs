//! Why a remote source gave nothing.

use std::time::Duration;

use http_clients::http::HttpError;
use search_sources_core::SourceDataError;

use crate::remote::mcp::McpError;

/// Why there are no results of a source; its text goes into the answer's report of that source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// No answer, or one with another status than 2xx.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// An answer that says something else than expected, or that it failed.
    #[error(transparent)]
    Data(#[from] SourceDataError),
    /// A server of the Model Context Protocol gave nothing.
    #[error(transparent)]
    Mcp(#[from] McpError),
    /// It failed before, or asked to be left alone; nothing was sent.
    #[error("left alone for {} s more after: {reason}", .left.as_secs().max(1))]
    BackingOff {
        /// Time left.
        left: Duration,
        /// The failure, or what it asked for.
        reason: String,
    },
    /// The configuration cannot be used.
    #[error("{0}")]
    Settings(String),
}
