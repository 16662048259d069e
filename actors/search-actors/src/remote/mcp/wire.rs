//! One way to a server, whichever it is.

use std::time::Duration;

use search_core::role::Mcp;
use search_sources_core::mcp::client::Generation;
use serde_json::Value;

use super::endpoint::McpEndpoint;
use super::error::McpError;
use super::http::HttpWire;
use super::stdio::StdioWire;

/// A connection that carries requests and their answers.
pub(super) enum Wire {
    Stdio(StdioWire),
    Http(Box<HttpWire>),
}

impl Wire {
    /// Starts the program; an address is only noted.
    pub(super) fn open(place: &McpEndpoint) -> Result<Self, McpError> {
        Ok(match &place.server {
            Mcp::Stdio { command, arguments } => Self::Stdio(StdioWire::start(command, arguments)?),
            Mcp::Http(url) => Self::Http(Box::new(HttpWire::new(
                url.clone(),
                place.api_token.clone(),
            ))),
        })
    }

    /// Sends a request made by `make` from its number, and waits for the answer.
    pub(super) async fn send_request(
        &self,
        make: impl FnOnce(u64) -> Value,
        generation: Option<&Generation>,
        within: Duration,
    ) -> Result<Value, McpError> {
        match self {
            Self::Stdio(wire) => wire.send_request(make, within).await,
            Self::Http(wire) => wire.send_request(make, generation, within).await,
        }
    }

    /// Sends a notification.
    pub(super) async fn notify(
        &self,
        message: &Value,
        generation: &Generation,
        within: Duration,
    ) -> Result<(), McpError> {
        match self {
            Self::Stdio(wire) => wire.send(message),
            Self::Http(wire) => wire.notify(message, generation, within).await,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Stdio(wire) => wire.is_open(),
            Self::Http(_) => true,
        }
    }

    /// Why a wire that is not open is not.
    pub(super) fn end_error(&self) -> McpError {
        match self {
            Self::Stdio(wire) => wire.end_error(),
            Self::Http(_) => McpError::Ended {
                last: String::new(),
            },
        }
    }
}
