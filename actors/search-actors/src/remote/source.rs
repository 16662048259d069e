//! One remote source.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use http_clients::http::{HttpClient, HttpError, HttpOptions, Redirects, Request};
use search_core::role::Haystack;
use search_sources_core::remote::RemoteRequest;
use search_sources_core::{ParsedItems, SourceItem};

use crate::remote::ask::{QueryTarget, RemoteResponse, ServerKind, query_target};
use crate::remote::cache::Cache;
use crate::remote::error::RemoteError;
use crate::remote::mcp::{McpError, McpSource};
use crate::remote::names::NameList;
use crate::remote::pause::HostBackoff;

/// Largest answer in bytes, after decompression.
pub const MAX_ANSWER: usize = 8 << 20;

/// What all remote sources have in common.
#[derive(Debug, Clone, Copy)]
pub struct RemoteSettings {
    /// Longest time for one search.
    pub deadline: Duration,
}

impl Default for RemoteSettings {
    /// 2 s.
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(2),
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteItems {
    /// In the server's order, at most as many as asked for.
    pub items: Vec<SourceItem>,
    /// Items of the answer that could not be read.
    pub skipped: usize,
    /// Whether the server was not asked because its last answer is still fresh.
    pub cached: bool,
}

/// Whether a haystack is asked at query time: whether [`RemoteSource::new`] knows it.
#[must_use]
pub fn is_remote(haystack: &Haystack) -> bool {
    query_target(haystack).is_some()
}

/// Who is asked.
enum QueriedServer {
    Http(Box<QueryTarget>, HttpClient),
    Mcp(McpSource),
    NameList(NameList),
}

/// A server that is asked at query time.
pub struct RemoteSource {
    peer: QueriedServer,
    /// Answers are kept so long.
    fresh: Duration,
    deadline: Duration,
    cache: RefCell<Cache>,
    pause: RefCell<HostBackoff>,
}

impl RemoteSource {
    /// The source a haystack names; `None` for those on this machine.
    ///
    /// # Errors
    /// When its parameters cannot be used (an agent secret that is none).
    pub fn new(haystack: &Haystack, settings: RemoteSettings) -> Option<Result<Self, RemoteError>> {
        let place = query_target(haystack)?;
        Some(place.map_err(RemoteError::Settings).map(|place| Self {
            fresh: place.fresh,
            peer: peer(place, settings.deadline),
            deadline: settings.deadline,
            cache: RefCell::default(),
            pause: RefCell::default(),
        }))
    }

    /// The same source behind another address: a mirror, or a server of a test.
    #[must_use]
    pub fn with_base(mut self, base: &str) -> Self {
        if let QueriedServer::Http(place, _) = &mut self.peer {
            base.trim_end_matches('/').clone_into(&mut place.base);
        }
        self
    }

    /// Begins what takes long before the first search: a server's program is started. Needs a local
    /// task set.
    pub fn warm(&self) {
        if let QueriedServer::Mcp(server) = &self.peer {
            server.warm();
        }
    }

    /// Asks for at most `limit` items that have to do with `words`.
    ///
    /// # Errors
    /// See [`RemoteError`].
    pub async fn search(&self, words: &str, limit: usize) -> Result<RemoteItems, RemoteError> {
        let now = Instant::now();
        if let Some(answer) = self.cache.borrow().get(words, limit, now) {
            return Ok(found(&answer, limit, true));
        }
        if let Some((left, reason)) = self.pause.borrow().time_left(now) {
            return Err(RemoteError::BackingOff {
                left,
                reason: reason.to_owned(),
            });
        }
        let answer = self.query(words, limit).await;
        let now = Instant::now();
        match answer {
            Ok((answer, pause)) => {
                self.pause.borrow_mut().record_answer(now, pause);
                self.cache
                    .borrow_mut()
                    .insert(words, limit, Rc::clone(&answer), now, self.fresh);
                Ok(found(&answer, limit, false))
            }
            // It is not the server's fault that it has not started yet.
            Err(RemoteError::Mcp(error)) if error.is_starting() => Err(error.into()),
            Err(error) => {
                let asked = match &error {
                    RemoteError::Http(HttpError::Status { retry_after, .. })
                    | RemoteError::Mcp(McpError::Http(HttpError::Status { retry_after, .. })) => {
                        *retry_after
                    }
                    _ => None,
                };
                self.pause
                    .borrow_mut()
                    .failed(now, asked, error.to_string());
                Err(error)
            }
        }
    }

    async fn query(
        &self,
        words: &str,
        limit: usize,
    ) -> Result<(Rc<ParsedItems>, Option<Duration>), RemoteError> {
        let answer = match &self.peer {
            QueriedServer::Http(place, http) => {
                query_http(place, http, words, limit, self.deadline).await?
            }
            QueriedServer::Mcp(server) => RemoteResponse {
                parsed: server.search(words, limit, self.deadline).await?,
                pause: None,
            },
            QueriedServer::NameList(names) => RemoteResponse {
                parsed: names.search(words, limit, self.deadline).await?,
                pause: None,
            },
        };
        Ok((Rc::new(answer.parsed.normalized()), answer.pause))
    }
}

fn peer(place: QueryTarget, deadline: Duration) -> QueriedServer {
    if let ServerKind::Mcp(server) = place.kind {
        return QueriedServer::Mcp(McpSource::new(*server));
    }
    let http = HttpClient::new(HttpOptions {
        connect: deadline,
        deadline,
        max_body: MAX_ANSWER,
        redirects: Redirects::SameOrigin(3),
        connections: 4,
        ..HttpOptions::default()
    });
    if let ServerKind::NameList(kind) = place.kind {
        return QueriedServer::NameList(NameList::new(kind, &place.base, http));
    }
    QueriedServer::Http(Box::new(place), http)
}

async fn query_http(
    place: &QueryTarget,
    http: &HttpClient,
    words: &str,
    limit: usize,
    deadline: Duration,
) -> Result<RemoteResponse, RemoteError> {
    let questions = place.questions(words, limit).into_iter();
    let answers = questions.map(|question| async {
        let answer = query_once(place, http, question.ask, deadline).await?;
        Ok::<_, RemoteError>((question.words, answer))
    });
    Ok(place.merge_answers(try_join_all(answers).await?))
}

async fn query_once(
    place: &QueryTarget,
    http: &HttpClient,
    ask: RemoteRequest,
    deadline: Duration,
) -> Result<RemoteResponse, RemoteError> {
    let url = ask
        .url(&place.base)
        .map_err(|error| RemoteError::Settings(format!("{}: {error}", place.base)))?;
    let mut request = match ask.body {
        Some(body) => Request::post(url.clone())
            .body(body.into_bytes())
            .header("content-type", "application/json"),
        None => Request::get(url.clone()),
    };
    request = request
        .with_deadline(deadline)
        .header("accept", place.accept());
    if let Some((scheme, token)) = &place.token {
        // A token with a blank says its scheme itself.
        let whole = scheme.is_empty() || token.expose().contains(' ');
        request = if whole {
            request.secret_header("authorization", token.clone())
        } else {
            request.authorization(scheme, token)
        };
    }
    if let ServerKind::Atomic(Some(agent)) = &place.kind {
        let now = std::time::SystemTime::now();
        request = http_clients::atomic::sign(request, &url, &agent.subject, &agent.seed, now)
            .map_err(|error| RemoteError::Settings(error.to_string()))?;
    }
    let response = http.call(request).await?.ok()?;
    Ok(place.read(&response.text())?)
}

fn found(answer: &ParsedItems, limit: usize, cached: bool) -> RemoteItems {
    RemoteItems {
        items: answer.items.iter().take(limit).cloned().collect(),
        skipped: answer.skipped.count,
        cached,
    }
}
