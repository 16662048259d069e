//! A document and its answer.

use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;

use async_graphql::dynamic::Schema;
use async_graphql::{Request as Document, Response, ServerError, Variables};
use futures_channel::mpsc;
use futures_util::StreamExt as _;
use futures_util::future::poll_fn;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::limits;
use crate::rest::Rest;
use crate::session::{QueryScope, QuerySession, SessionRequest};
use crate::types::schema;

/// Largest document, with its variables, in bytes.
pub const MAX_DOCUMENT: usize = 256 << 10;

/// Answers documents; clones share the schema.
#[derive(Debug, Clone)]
pub struct GraphQl {
    schema: Schema,
}

/// A request as clients send it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestBody {
    query: String,
    #[serde(default)]
    variables: Value,
    operation_name: Option<String>,
}

impl Default for GraphQl {
    fn default() -> Self {
        Self::new()
    }
}

impl GraphQl {
    /// With its schema.
    ///
    /// # Panics
    /// Never: the schema is a constant, and a test builds it.
    #[must_use]
    pub fn new() -> Self {
        static SCHEMA: LazyLock<Schema> =
            LazyLock::new(|| schema().expect("the tables of the schema fit together"));
        Self {
            schema: SCHEMA.clone(),
        }
    }

    /// Answers the body of a request by calls of `rest`; what is wrong with it is an answer, too.
    pub async fn answer(&self, job: QueryScope, rest: &impl Rest, body: &[u8]) -> Value {
        if body.len() > MAX_DOCUMENT {
            let message = format!("a document has at most {MAX_DOCUMENT} bytes");
            return refused(&message);
        }
        let asked: RequestBody = match serde_json::from_slice(body) {
            Ok(asked) => asked,
            Err(error) => return refused(&format!("the body is no GraphQL request: {error}")),
        };
        let parsed = match limits::parsed(&asked.query) {
            Ok(parsed) => parsed,
            Err(message) => return refused(&message),
        };
        #[expect(clippy::disallowed_methods, reason = "the calls of one document")]
        let (requests, mut waiting) = mpsc::unbounded();
        let session = Arc::new(QuerySession::new(job, requests));
        let mut document = Document::new(asked.query)
            .variables(Variables::from_json(asked.variables))
            .data(session);
        document.set_parsed_query(parsed);
        document.operation_name = asked.operation_name;
        let mut answered = pin!(self.schema.execute(document));
        let mut calls = FuturesUnordered::new();
        // The calls are made here, beside what waits for them.
        let response = poll_fn(|context| {
            loop {
                if let Poll::Ready(response) = answered.as_mut().poll(context) {
                    return Poll::Ready(response);
                }
                let mut moved = false;
                while let Poll::Ready(Some(request)) = waiting.poll_next_unpin(context) {
                    calls.push(execute(rest, request));
                    moved = true;
                }
                while let Poll::Ready(Some(())) = calls.poll_next_unpin(context) {
                    moved = true;
                }
                if !moved {
                    return Poll::Pending;
                }
            }
        });
        to_json(response.await)
    }
}

async fn execute(rest: &impl Rest, request: SessionRequest) {
    // Whoever asked may have given up.
    match request {
        SessionRequest::Call(call, reply) => {
            let _ = reply.send(rest.call(call).await);
        }
        SessionRequest::Viewer(reply) => {
            let _ = reply.send(rest.viewer().await);
        }
    }
}

fn refused(message: &str) -> Value {
    json!({"errors": [{"message": message}]})
}

/// The answer in GitHub's shape: `type` stands beside the message.
fn to_json(response: Response) -> Value {
    let mut answer = Map::new();
    let errors: Vec<Value> = response.errors.iter().map(error).collect();
    let data = response.data.into_json().unwrap_or_default();
    if !data.is_null() || errors.is_empty() {
        answer.insert("data".to_owned(), data);
    }
    if !errors.is_empty() {
        answer.insert("errors".to_owned(), errors.into());
    }
    answer.into()
}

fn error(error: &ServerError) -> Value {
    let kind = error.extensions.as_ref().and_then(|all| all.get("type"));
    let kind = kind.cloned().and_then(|kind| kind.into_json().ok());
    let known = kind.is_some();
    let mut message = error.message.clone();
    // What the schema does not have: said by whom.
    if !known && (message.starts_with("Unknown ") || message.contains("Invalid value")) {
        message.push_str(" (the runner answers GraphQL by REST calls, and knows a part of it)");
    }
    let mut shown = json!({"message": message, "locations": error.locations});
    if let Some(kind) = kind {
        shown["type"] = kind;
    }
    if !error.path.is_empty() {
        shown["path"] = json!(error.path);
    }
    shown
}
