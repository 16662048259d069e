//! Asks a search server over HTTP.

mod chat;

use std::time::{Duration, Instant};

use config_core::Secret;
use http_clients::http::{HttpClient, HttpError, HttpOptions, Request, Response};
use search_core::answer::{HealthAnswer, SourceHealth, SourceState};
use search_core::concepts::ConceptsState;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

pub use chat::ChatStreamItem;

use crate::failure::ClientFailure;

/// An answer is read only so far, in bytes.
const MAX_ANSWER: usize = 64 << 20;

/// The longest time for an answer; chats have their own.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// What servers say of a path that is none of theirs.
const NOT_SERVED: &str = "nothing is served at this path";

/// How often a server that is still reading is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a search waits before it is repeated while sources are being indexed.
const SEARCH_RETRY_DELAY: Duration = Duration::from_millis(250);

/// Who is asked. Belongs to one thread.
#[derive(Clone)]
pub struct Client {
    url: Url,
    token: Option<Secret<String>>,
    /// Sent with changes of the configuration where there is no `token`.
    configuration_token: Option<Secret<String>>,
    http: HttpClient,
}

/// A configuration and its version.
#[derive(Debug, Clone)]
pub struct VersionedConfig {
    /// The text.
    pub text: String,
    /// The entity tag, with its quotes.
    pub tag: String,
}

impl Client {
    /// A client of the server at `url`, whose answers are waited for at most `timeout`.
    #[must_use]
    pub fn new(url: Url, token: Option<Secret<String>>, timeout: Duration) -> Self {
        let http = HttpClient::new(HttpOptions {
            connect: timeout.min(Duration::from_secs(5)),
            deadline: timeout,
            idle: timeout,
            max_body: MAX_ANSWER,
            ..HttpOptions::default()
        });
        Self {
            url,
            token,
            configuration_token: None,
            http,
        }
    }

    /// The same, with the token that a server of this machine wants for changes of its
    /// configuration.
    #[must_use]
    pub fn with_configuration_token(mut self, token: Option<Secret<String>>) -> Self {
        self.configuration_token = token;
        self
    }

    /// Whose answers these are.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Whether anything listens there.
    pub async fn is_up(&self) -> bool {
        let Ok(url) = self.address(&["livez"], &[]) else {
            return false;
        };
        let request = Request::get(url).with_deadline(Duration::from_secs(2));
        let answer = self.http.call(request).await;
        answer.is_ok_and(|answer| answer.is_success())
    }

    /// `GET` of a path, given by its segments.
    ///
    /// # Errors
    /// See [`ClientFailure`].
    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, ClientFailure> {
        let request = Request::get(self.address(path, query)?);
        self.json(&self.call(request).await?)
    }

    /// `POST` of a JSON body.
    ///
    /// # Errors
    /// See [`ClientFailure`].
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, ClientFailure> {
        let request = Request::post(self.address(path, &[])?).json(body);
        self.json(&self.call(request).await?)
    }

    /// Searches; where nothing is found because sources are still being indexed, again until
    /// something is, they are done, or `wait` is over. The answer says whether they were
    /// (`indexing`).
    ///
    /// # Errors
    /// See [`ClientFailure`].
    pub async fn search<T: DeserializeOwned>(
        &self,
        body: &impl Serialize,
        wait: Duration,
    ) -> Result<T, ClientFailure> {
        let until = Instant::now() + wait;
        loop {
            let answer: Value = self.post(&["api", "documents", "search"], body).await?;
            let is_early = answer["indexing"] == true && answer["total"] == 0;
            if is_early && Instant::now() < until {
                tokio::time::sleep(SEARCH_RETRY_DELAY.min(wait)).await;
                continue;
            }
            return serde_json::from_value(answer)
                .map_err(|error| self.not_a_server(&error.to_string()));
        }
    }

    /// `GET /health`.
    ///
    /// # Errors
    /// See [`ClientFailure`].
    pub async fn health(&self) -> Result<HealthAnswer, ClientFailure> {
        self.get(&["health"], &[]).await
    }

    /// Waits until no source is being read any more.
    ///
    /// # Errors
    /// See [`ClientFailure`].
    pub async fn settled(&self) -> Result<(), ClientFailure> {
        loop {
            let sources = self.health().await?.sources;
            let busy = |state| matches!(state, SourceState::Starting | SourceState::Indexing);
            if !sources.iter().any(|source| busy(source.state)) {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until every source's concepts have been read for the graph.
    ///
    /// # Errors
    /// See [`ClientFailure`].
    pub async fn concepts_read(&self) -> Result<(), ClientFailure> {
        loop {
            let sources = self.health().await?.sources;
            let state = |source: &SourceHealth| source.concepts.as_ref().map(|one| one.state);
            let busy = |source: &SourceHealth| {
                let reads = matches!(
                    state(source),
                    Some(ConceptsState::Waiting | ConceptsState::Reading)
                );
                reads && source.state != SourceState::Failed
            };
            if !sources.iter().any(busy) {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The configuration, without secrets.
    ///
    /// # Errors
    /// See [`ClientFailure`].
    pub async fn configuration(&self) -> Result<VersionedConfig, ClientFailure> {
        let request = Request::get(self.address(&["api", "config"], &[])?);
        versioned(&self.call(request).await?)
    }

    /// Puts another configuration in the place of the one with this tag.
    ///
    /// # Errors
    /// See [`ClientFailure`]; every mistake of the text.
    pub async fn configure(
        &self,
        text: String,
        tag: &str,
    ) -> Result<VersionedConfig, ClientFailure> {
        let request = Request::put(self.address(&["api", "config"], &[])?)
            .body(text.into_bytes())
            .header("content-type", "application/json")
            .header("if-match", tag);
        let request = match (&self.token, &self.configuration_token) {
            (None, Some(token)) => request.authorization("Bearer", token),
            _ => request,
        };
        versioned(&self.call(request).await?)
    }

    /// One message of the Model Context Protocol and its answer, where it has one.
    ///
    /// # Errors
    /// See [`ClientFailure`].
    pub async fn mcp(
        &self,
        message: &Value,
        headers: &[(&'static str, String)],
    ) -> Result<Option<Value>, ClientFailure> {
        let mut request = Request::post(self.address(&["mcp"], &[])?)
            .json(message)
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(name, value.clone());
        }
        let response = self.http.call(self.with_token(request)).await;
        let response = response.map_err(|error| self.failure(&error))?;
        if response.body.is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice::<Value>(&response.body) {
            Ok(answer) if answer.get("jsonrpc").is_some() => Ok(Some(answer)),
            _ if !response.is_success() => Err(refusal(&response)),
            _ => Err(self.not_a_server("it is no message of the protocol")),
        }
    }

    /// The address of a path whose segments may hold anything.
    fn address(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Url, ClientFailure> {
        let mut url = self.url.clone();
        url.set_query(None);
        url.path_segments_mut()
            .map_err(|()| {
                ClientFailure::Configuration(format!("{} is no address of a server", self.url))
            })?
            .pop_if_empty()
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    fn with_token(&self, request: Request) -> Request {
        match &self.token {
            Some(token) => request.authorization("Bearer", token),
            None => request,
        }
    }

    async fn call(&self, request: Request) -> Result<Response, ClientFailure> {
        let response = self.http.call(self.with_token(request)).await;
        let response = response.map_err(|error| self.failure(&error))?;
        if response.is_success() {
            Ok(response)
        } else {
            Err(refusal(&response))
        }
    }

    fn json<T: DeserializeOwned>(&self, response: &Response) -> Result<T, ClientFailure> {
        let read = serde_json::from_slice(&response.body);
        read.map_err(|error| self.not_a_server(&error.to_string()))
    }

    fn not_a_server(&self, reason: &str) -> ClientFailure {
        ClientFailure::Other(format!(
            "{} did not answer as a search server does: {reason}",
            self.url
        ))
    }

    fn failure(&self, error: &HttpError) -> ClientFailure {
        let url = self.url.to_string();
        match error {
            HttpError::TimedOut { .. } => ClientFailure::TimedOut { url },
            HttpError::Unavailable { reason, .. } => ClientFailure::Unreachable {
                url,
                reason: reason.clone(),
            },
            error => ClientFailure::Other(error.to_string()),
        }
    }
}

fn versioned(response: &Response) -> Result<VersionedConfig, ClientFailure> {
    let tag = response.headers.get("etag");
    let tag =
        tag.ok_or_else(|| ClientFailure::Other("the configuration has no ETag".to_owned()))?;
    Ok(VersionedConfig {
        text: response.text(),
        tag: tag.to_owned(),
    })
}

/// What a problem (RFC 9457) says.
fn refusal(response: &Response) -> ClientFailure {
    let problem: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let detail = problem["detail"].as_str().map_or_else(
        || format!("the server answered {}", response.status),
        str::to_owned,
    );
    match response.status {
        401 | 403 => ClientFailure::NotAllowed(detail),
        // The server knows no such path: nothing was looked for.
        404 if !problem["detail"].is_string() || detail == NOT_SERVED => {
            let url = &response.url;
            ClientFailure::Other(format!(
                "{url}: {detail}; is it the address of a search server?"
            ))
        }
        404 => ClientFailure::NotFound(detail),
        400 | 422 => refused(&problem, detail),
        504 => ClientFailure::TimedOut {
            url: format!("{} ({detail})", response.url.origin().ascii_serialization()),
        },
        _ => ClientFailure::Other(detail),
    }
}

/// A request that makes no sense: each fault with its place, or the one character of a query.
fn refused(problem: &Value, detail: String) -> ClientFailure {
    let position = problem["errors"][0]["position"].as_u64();
    if let Some(position) = position.and_then(|position| usize::try_from(position).ok()) {
        return ClientFailure::RefusedAt { detail, position };
    }
    let errors = problem["errors"].as_array().map_or(&[][..], Vec::as_slice);
    let lines = errors.iter().filter_map(|error| {
        let text = ["detail", "message"]
            .iter()
            .find_map(|key| error[*key].as_str())?;
        let field = ["field", "pointer", "path"]
            .iter()
            .find_map(|key| error[*key].as_str());
        let place = match (error["line"].as_u64(), error["column"].as_u64()) {
            (Some(line), Some(column)) => format!("{line}:{column}: "),
            _ => field.map(|field| format!("{field}: ")).unwrap_or_default(),
        };
        Some(format!("\n  {place}{text}"))
    });
    // One fault is what the detail says already.
    if errors.len() < 2 && errors.iter().all(|error| error["line"].is_null()) {
        return ClientFailure::Refused(detail);
    }
    let all: String = lines.collect();
    ClientFailure::Refused(format!("{detail}{all}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_segment() {
        let url = Url::parse("http://127.0.0.1:8000/below/").unwrap();
        let client = Client::new(url, None, TIMEOUT);
        let address = client.address(&["api", "thesaurus", "a/../b?c#d"], &[("q", "x&y")]);
        assert_eq!(
            address.unwrap().as_str(),
            "http://127.0.0.1:8000/below/api/thesaurus/a%2F..%2Fb%3Fc%23d?q=x%26y"
        );
    }

    #[test]
    fn each_fault_of_a_request_is_told() {
        let problem = serde_json::json!({"errors": [{"field": "a", "detail": "x"}, {"line": 3, "column": 4, "detail": "y"}]});
        let failure = refused(&problem, "two faults".to_owned());
        assert_eq!(failure.to_string(), "two faults\n  a: x\n  3:4: y");
    }
}
