//! A run's log as it is read: whole, or followed while it grows.

use std::borrow::Cow;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use edge_web::{Problem, visible};
use futures_util::{Stream, StreamExt};
use runner_actors::{RunRecord, RunnerView};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::file_chunks::FileChunks;
use crate::kept_files::newest_log;
use crate::problems::find;
use crate::state::RunnerState;

type State = web::Data<RunnerState>;

/// How to read a log.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogQuery {
    /// `1`: as server-sent events, until the run has ended.
    pub follow: Option<u8>,
    /// Followed: from this byte on. A client that comes again says so with `Last-Event-ID`.
    pub from: Option<u64>,
}

/// A run's log: JSON Lines, or server-sent events with `follow=1`.
#[utoipa::path(get, path = "/runs/{id}/log", tag = "runs", params(("id" = String, Path, description = "The run's id"), LogQuery),
    responses((status = 200, description = "A JSON object a line; followed: an event a line, its id the bytes so far, `changed` when the run's record did, then the event `end` with the run's state"), (status = 404, description = "No such run")))]
pub(crate) async fn log(
    request: HttpRequest,
    state: State,
    id: web::Path<String>,
    query: web::Query<LogQuery>,
) -> Result<HttpResponse, Problem> {
    let record = find(&state.view, &id).await?;
    newest_log(&state.view, &record.id).await?;
    if query.follow == Some(1) {
        let last = request.headers().get("last-event-id");
        let last = last.and_then(|id| id.to_str().ok()?.parse().ok());
        let from = last.or(query.from);
        let events = follow(state.view.clone(), record.id, from);
        return Ok(HttpResponse::Ok()
            .content_type("text/event-stream")
            .insert_header(("cache-control", "no-store"))
            .streaming(events));
    }
    let path = state.view.logs().path(&record.id);
    let lines = FileChunks { path, at: 0 };
    Ok(HttpResponse::Ok()
        .content_type("application/jsonl")
        .streaming(whole_lines(lines)))
}

/// A file of JSON Lines, each with escapes for what is not seen.
fn whole_lines(chunks: FileChunks) -> impl Stream<Item = std::io::Result<Bytes>> {
    raw_lines(chunks).map(|lines| lines.map(escape_lines))
}

/// A file in pieces of whole lines, but for what follows the last line's end.
pub(crate) fn raw_lines(chunks: FileChunks) -> impl Stream<Item = std::io::Result<Vec<u8>>> {
    futures_util::stream::unfold((chunks, Vec::new()), |(mut chunks, mut rest)| async move {
        loop {
            let bytes = match chunks.next().await {
                Ok(bytes) => bytes,
                Err(error) => return Some((Err(error), (chunks, rest))),
            };
            rest.extend_from_slice(&bytes);
            let end = match rest.iter().rposition(|byte| *byte == b'\n') {
                Some(end) => end + 1,
                None if bytes.is_empty() => rest.len(),
                None => continue,
            };
            let lines: Vec<u8> = rest.drain(..end).collect();
            return (!lines.is_empty()).then_some((Ok(lines), (chunks, rest)));
        }
    })
}

/// Lines of JSON with escapes for what is not seen.
fn escape_lines(lines: Vec<u8>) -> Bytes {
    let escaped = match std::str::from_utf8(&lines).map(visible::json) {
        Ok(Cow::Owned(escaped)) => Some(escaped),
        // The writer writes UTF-8 only.
        Ok(Cow::Borrowed(_)) | Err(_) => None,
    };
    escaped.map_or_else(|| Bytes::from(lines), Bytes::from)
}

/// A log that is followed.
struct LogFollower {
    view: RunnerView,
    run: String,
    chunks: FileChunks,
    length: tokio::sync::watch::Receiver<u64>,
    /// The record that its follower knows of, as JSON.
    known: Option<String>,
    /// A page of an unknown age was shown before: its record may have changed since.
    has_page: bool,
    changes: tokio::sync::watch::Receiver<u64>,
    /// Bytes that were handed on.
    sent: u64,
    rest: Vec<u8>,
    ended: bool,
}

/// Silence after which a comment is sent, so that proxies keep the connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

fn follow(
    view: RunnerView,
    run: String,
    from: Option<u64>,
) -> impl Stream<Item = std::io::Result<Bytes>> {
    let at = from.unwrap_or(0);
    let follow = LogFollower {
        chunks: FileChunks {
            path: view.logs().path(&run),
            at,
        },
        length: view.logs().watch(&run),
        known: None,
        has_page: from.is_some(),
        changes: view.changes(),
        sent: at,
        view,
        run,
        rest: Vec::new(),
        ended: false,
    };
    futures_util::stream::unfold(follow, |mut follow| async move {
        if follow.ended {
            return None;
        }
        let next = follow.next().await;
        follow.ended |= next.is_err();
        Some((next, follow))
    })
}

impl LogFollower {
    async fn next(&mut self) -> std::io::Result<Bytes> {
        loop {
            // Looked at before the file is read: what an ended run wrote is all there.
            self.changes.mark_unchanged();
            let record = self.view.run(&self.run).await.ok().flatten();
            if record.as_ref().is_some_and(|record| self.is_news(record)) {
                return Ok(Bytes::from_static(b"event: changed\ndata: {}\n\n"));
            }
            let state = record
                .filter(|record| record.state.is_terminal())
                .map(|record| record.state);
            if state.is_some() {
                self.view.logs().flush().await;
            }
            let bytes = self.chunks.next().await?;
            if !bytes.is_empty() {
                let events = self.events(&bytes);
                if events.is_empty() {
                    continue;
                }
                return Ok(events);
            }
            if let Some(state) = state {
                self.ended = true;
                let state = serde_json::to_string(&state).unwrap_or_default();
                return Ok(Bytes::from(format!("event: end\ndata: {state}\n\n")));
            }
            tokio::select! {
                changed = self.length.changed() => if changed.is_err() {
                    // The run's log was closed: its record tells next.
                    tokio::time::sleep(Duration::from_millis(200)).await;
                },
                // Never closed while there is a view.
                _ = self.changes.changed() => {}
                () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => return Ok(Bytes::from_static(b": alive\n\n")),
            }
        }
    }

    /// Whether the record is another one than the follower knows of.
    fn is_news(&mut self, record: &RunRecord) -> bool {
        let now = serde_json::to_string(record).ok();
        let first = self.known.is_none();
        let changed = self.known != now;
        self.known = now;
        changed && (!first || self.has_page)
    }

    /// Whole lines as events; the rest waits.
    fn events(&mut self, bytes: &[u8]) -> Bytes {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Bytes::new();
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let mut events = Vec::with_capacity(whole.len() + 64);
        for (end, line) in whole
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| {
                self.sent += line.len() as u64;
                (self.sent, line.trim_ascii_end())
            })
            .filter(|(_, line)| !line.is_empty())
        {
            events.extend_from_slice(format!("id: {end}\n").as_bytes());
            events.extend_from_slice(b"data: ");
            events.extend_from_slice(line);
            events.extend_from_slice(b"\n\n");
        }
        escape_lines(events)
    }
}
