//! What happens, as it happens: Server-Sent Events of the journal and of one run.

use std::collections::VecDeque;
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use edge_web::Problem;
use forge_core::RunId;
use futures_util::Stream;
use futures_util::stream::unfold;
use orchestrator_actors::messages::{GetJournal, GetRun, OperatorError};
use orchestrator_core::admin::{JournalEntry, RunView};
use serde::Deserialize;
use tokio::sync::watch;
use utoipa::IntoParams;

use crate::path_params::run_id;
use crate::problems::{ask_problem, operator_problem};
use crate::state::WebState;

/// A follower that gets nothing else gets a keep-alive so often.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Most entries read at a time.
const PAGE: usize = 500;

/// Where to begin.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// Entries of the journal after this one, as the header `Last-Event-ID` says too; else what
    /// comes from now on.
    after: Option<u64>,
}

/// The journal as it is written: `event: journal`, `id` the entry's number, data a `JournalEntry`.
#[utoipa::path(get, path = "/admin/events", tag = "admin", params(EventsQuery),
    responses((status = 200, description = "Server-Sent Events, without an end.", content_type = "text/event-stream",
        body = JournalEntry)))]
pub(crate) async fn events(
    state: web::Data<WebState>,
    query: web::Query<EventsQuery>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let changes = state.view.journal_changes();
    let header = request.headers().get("last-event-id");
    let header = header.and_then(|id| id.to_str().ok()?.parse().ok());
    let after = match query.after.or(header) {
        Some(after) => after,
        None => newest(&state).await?,
    };
    let follower = JournalFollower {
        state,
        changes,
        after,
        ready: VecDeque::new(),
    };
    Ok(stream(unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    })))
}

fn stream(events: impl Stream<Item = Result<Bytes, actix_web::Error>> + 'static) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .streaming(events)
}

/// The number of the newest entry.
async fn newest(state: &WebState) -> Result<u64, Problem> {
    let asked = GetJournal {
        after: u64::MAX - 1,
        limit: 1,
    };
    let page = state.operator_api.ask(asked).await;
    let page = page.map_err(|error| ask_problem(&error))?;
    let page = page.map_err(|error| operator_problem(&error))?;
    Ok(page.last.unwrap_or(0))
}

struct JournalFollower {
    state: web::Data<WebState>,
    changes: watch::Receiver<u64>,
    after: u64,
    ready: VecDeque<Bytes>,
}

impl JournalFollower {
    /// The next event; `None` when the orchestrator ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            // Marked as seen before the read: what is written meanwhile is seen again.
            self.changes.mark_unchanged();
            if !self.read_more().await? {
                match wait(&mut self.changes).await {
                    Change::New => {}
                    Change::Quiet => return Some(Bytes::from_static(b": alive\n\n")),
                    Change::Closed => return None,
                }
            }
        }
    }

    /// Whether there is something new. `None`: the orchestrator ends.
    async fn read_more(&mut self) -> Option<bool> {
        let asked = GetJournal {
            after: self.after,
            limit: PAGE,
        };
        let page = self.state.operator_api.ask(asked).await.ok()?.ok()?;
        for entry in page.entries {
            self.after = entry.seq;
            self.ready.push_back(event(&entry));
        }
        Some(!self.ready.is_empty())
    }
}

fn event(entry: &JournalEntry) -> Bytes {
    let data = serde_json::to_string(entry).expect("texts and numbers always serialise");
    Bytes::from(format!(
        "event: journal\nid: {}\ndata: {data}\n\n",
        entry.seq
    ))
}

enum Change {
    New,
    Quiet,
    Closed,
}

async fn wait(changes: &mut watch::Receiver<u64>) -> Change {
    match tokio::time::timeout(KEEPALIVE_INTERVAL, changes.changed()).await {
        Ok(Ok(())) => Change::New,
        Ok(Err(_)) => Change::Closed,
        Err(_) => Change::Quiet,
    }
}

/// A run as it changes: `event: run` with a `RunView`, at once and after each change, and
/// `event: end` after the last.
#[utoipa::path(get, path = "/admin/runs/{id}/events", tag = "admin",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, description = "Server-Sent Events, until the run has ended.",
        content_type = "text/event-stream", body = RunView)))]
pub(crate) async fn run_events(
    state: web::Data<WebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = run_id(&id)?;
    let changes = state.view.journal_changes();
    // A run that there is none of is said so at once.
    let first = get_run(&state, &id).await.map_err(|failed| *failed)?;
    let follower = RunFollower {
        state,
        id,
        changes,
        last: None,
        first: Some(first),
        over: false,
    };
    Ok(stream(unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(event), follower))
    })))
}

async fn get_run(state: &WebState, id: &RunId) -> Result<RunView, Box<Problem>> {
    let found: Result<Result<RunView, OperatorError>, _> =
        state.operator_api.ask(GetRun(id.clone())).await;
    let found = found.map_err(|error| Box::new(ask_problem(&error)))?;
    found.map_err(|error| Box::new(operator_problem(&error)))
}

struct RunFollower {
    state: web::Data<WebState>,
    id: RunId,
    changes: watch::Receiver<u64>,
    last: Option<RunView>,
    first: Option<RunView>,
    over: bool,
}

impl RunFollower {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.over {
                return None;
            }
            if self.last.as_ref().is_some_and(|last| last.ended) {
                self.over = true;
                return Some(Bytes::from_static(b"event: end\ndata: {}\n\n"));
            }
            self.changes.mark_unchanged();
            let view = match self.first.take() {
                Some(first) => first,
                None => get_run(&self.state, &self.id).await.ok()?,
            };
            if self.last.as_ref() != Some(&view) {
                let data =
                    serde_json::to_string(&view).expect("texts and numbers always serialise");
                self.last = Some(view);
                return Some(Bytes::from(format!("event: run\ndata: {data}\n\n")));
            }
            match wait(&mut self.changes).await {
                Change::New => {}
                Change::Quiet => return Some(Bytes::from_static(b": alive\n\n")),
                Change::Closed => return None,
            }
        }
    }
}
