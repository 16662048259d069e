//! A server behind an address: the streamable HTTP transport. Each message is a POST; the answer is
//! JSON, or a stream of events that is read until the answer is in it.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use config_core::Secret;
use http_clients::http::{
    HttpClient, HttpError, HttpOptions, Redirects, Request, StreamingResponse,
};
use search_sources_core::mcp::client::{Generation, routing_name};
use search_sources_core::mcp::rpc::{self, IncomingMessage};
use search_sources_core::mcp::sse::Events;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use super::endpoint::MAX_MESSAGE_BYTES;
use super::error::McpError;

/// An address, and what the server gave to be repeated.
pub(super) struct HttpWire {
    http: HttpClient,
    url: Url,
    token: Option<Secret<String>>,
    session: RefCell<Option<Secret<String>>>,
    next: Cell<u64>,
}

impl HttpWire {
    pub(super) fn new(url: Url, token: Option<Secret<String>>) -> Self {
        let http = HttpClient::new(HttpOptions {
            max_body: MAX_MESSAGE_BYTES,
            redirects: Redirects::Never,
            connections: 4,
            ..HttpOptions::default()
        });
        Self {
            http,
            url,
            token,
            session: RefCell::default(),
            next: Cell::new(1),
        }
    }

    pub(super) async fn send_request(
        &self,
        make: impl FnOnce(u64) -> Value,
        generation: Option<&Generation>,
        within: Duration,
    ) -> Result<Value, McpError> {
        let id = self.next.get();
        self.next.set(id + 1);
        let message = make(id);
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        // Dropping the answer closes its stream, which is how a request is taken back.
        let answer = timeout(within, self.answer(&message, id, generation, within)).await;
        let Ok(answer) = answer else {
            return Err(McpError::TimedOut {
                what: method,
                after: within,
            });
        };
        answer?.map_err(|error| McpError::Refused { method, error })
    }

    pub(super) async fn notify(
        &self,
        message: &Value,
        generation: &Generation,
        within: Duration,
    ) -> Result<(), McpError> {
        let request = self
            .request(message, Some(generation))
            .with_deadline(within);
        self.http.call(request).await?.ok()?;
        Ok(())
    }

    async fn answer(
        &self,
        message: &Value,
        id: u64,
        generation: Option<&Generation>,
        within: Duration,
    ) -> Result<Result<Value, rpc::RpcError>, McpError> {
        let request = self.request(message, generation).with_deadline(within);
        let stream = self.http.open(request).await?;
        if message["method"] == "initialize" {
            let session = stream.headers.get("mcp-session-id").map(str::to_owned);
            *self.session.borrow_mut() = session.map(Secret::new);
        }
        let kind = stream.headers.get("content-type").unwrap_or_default();
        let is_stream = kind.starts_with("text/event-stream");
        let status = stream.status;
        let url = stream.url.to_string();
        let is_good = stream.is_success();
        let found = if is_stream && is_good {
            from_events(stream, id).await?
        } else {
            let body = read_whole(stream).await?;
            // Other statuses say more than what stands in them.
            let readable = is_good || status == 400;
            let message = readable.then(|| serde_json::from_slice(&body).ok());
            let found = message.flatten().and_then(|message| outcome(&message, id));
            match found {
                None if !is_good => {
                    return Err(McpError::Http(HttpError::Status {
                        url,
                        status,
                        retry_after: None,
                        body: rpc::one_line(&String::from_utf8_lossy(&body)),
                    }));
                }
                found => found,
            }
        };
        found.ok_or_else(|| McpError::Unreadable("it holds no answer to the request".to_owned()))
    }

    fn request(&self, message: &Value, generation: Option<&Generation>) -> Request {
        let mut request = Request::post(self.url.clone())
            .json(message)
            .header("accept", "application/json, text/event-stream");
        if let Some(token) = &self.token {
            request = request.authorization("Bearer", token);
        }
        if let Some(generation) = generation {
            request = request.header("mcp-protocol-version", generation.version());
        }
        if generation == Some(&Generation::Stateless) {
            let method = message["method"].as_str().unwrap_or_default();
            request = request.header("mcp-method", method);
            if let Some(name) = routing_name(message) {
                request = request.header("mcp-name", name);
            }
        } else if let Some(session) = self.session.borrow().clone() {
            request = request.secret_header("mcp-session-id", session);
        }
        request
    }
}

fn outcome(message: &Value, wanted: u64) -> Option<Result<Value, rpc::RpcError>> {
    match rpc::incoming(message) {
        IncomingMessage::Response { id, outcome } if id == wanted => Some(outcome),
        _ => {
            // A refusal before the request was understood has no id.
            let error = message.get("error").filter(|_| message["id"].is_null())?;
            Some(Err(rpc::RpcError {
                code: error["code"].as_i64().unwrap_or_default(),
                message: rpc::one_line(error["message"].as_str().unwrap_or_default()),
            }))
        }
    }
}

async fn from_events(
    mut stream: StreamingResponse,
    id: u64,
) -> Result<Option<Result<Value, rpc::RpcError>>, McpError> {
    let mut events = Events::new(MAX_MESSAGE_BYTES);
    let mut total = 0_usize;
    while let Some(chunk) = stream.next_chunk().await {
        let chunk = chunk?;
        total = total.saturating_add(chunk.len());
        if total > 2 * MAX_MESSAGE_BYTES {
            return Err(McpError::Unreadable(format!(
                "a stream of more than {} bytes without an answer",
                2 * MAX_MESSAGE_BYTES
            )));
        }
        let came = events.push(&chunk);
        let came = came.map_err(|error| McpError::Unreadable(error.to_string()))?;
        if let Some(found) = came.iter().find_map(|event| outcome(&event.data, id)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

async fn read_whole(mut stream: StreamingResponse) -> Result<Vec<u8>, McpError> {
    let mut body = Vec::new();
    while let Some(chunk) = stream.next_chunk().await {
        body.extend_from_slice(&chunk?);
        if body.len() > MAX_MESSAGE_BYTES {
            return Err(McpError::Unreadable(format!(
                "it is larger than {MAX_MESSAGE_BYTES} bytes"
            )));
        }
    }
    Ok(body)
}
