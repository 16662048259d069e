//! Server-sent events for pages that show runs while they change: that something did, not what.

use std::time::Duration;

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use edge_web::Problem;
use futures_util::Stream;
use runner_actors::RunnerView;
use tokio::sync::watch;

use crate::kept_files::newest_log;
use crate::problems::find;
use crate::state::RunnerState;

type State = web::Data<RunnerState>;

/// Changes that come close together are told once.
const DEBOUNCE: Duration = Duration::from_millis(250);
/// Silence after which a comment is sent, so that proxies keep the connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Between two looks at whether a run has ended.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Tells that runs began, went on or ended.
#[utoipa::path(get, path = "/runs/changes", tag = "runs",
    responses((status = 200, description = "Server-sent events: `changed` whenever runs have changed, at most four times a second", content_type = "text/event-stream", body = String)))]
pub(crate) async fn all(state: State) -> HttpResponse {
    let changes = state.view.changes();
    events(futures_util::stream::unfold(
        changes,
        |mut changes| async move {
            let event = tokio::select! {
                changed = changes.changed() => {
                    changed.ok()?;
                    tokio::time::sleep(DEBOUNCE).await;
                    changes.mark_unchanged();
                    "event: changed\ndata: {}\n\n"
                }
                () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => ": alive\n\n",
            };
            Some((Ok(Bytes::from_static(event.as_bytes())), changes))
        },
    ))
}

/// Tells that a run's record changed, or that its log grew.
#[utoipa::path(get, path = "/runs/{id}/changes", tag = "runs", params(("id" = String, Path, description = "The run's id")),
    responses((status = 200, description = "Server-sent events: `record` when the run's record has changed, `log` with its bytes when its log has grown, each at most four times a second; `end` when it has ended", content_type = "text/event-stream", body = String),
        (status = 404, description = "No such run")))]
pub(crate) async fn answer_change(
    state: State,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let record = find(&state.view, &id).await?;
    newest_log(&state.view, &record.id).await?;
    let view = state.view.clone();
    let follower = RunFollower {
        length: view.logs().watch(&record.id),
        known: String::new(),
        announced: 0,
        changes: view.changes(),
        run: record.id,
        view,
        ended: false,
    };
    Ok(events(futures_util::stream::unfold(
        follower,
        |mut follower| async move {
            let event = follower.next().await?;
            Some((Ok(Bytes::from(event)), follower))
        },
    )))
}

fn events(stream: impl Stream<Item = Result<Bytes, std::io::Error>> + 'static) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("cache-control", "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(stream)
}

/// Somebody who looks at a run.
struct RunFollower {
    view: RunnerView,
    run: String,
    length: watch::Receiver<u64>,
    changes: watch::Receiver<u64>,
    /// The record that was told of, as JSON.
    known: String,
    /// The log's bytes that were told of.
    announced: u64,
    ended: bool,
}

impl RunFollower {
    async fn next(&mut self) -> Option<String> {
        if self.ended {
            return None;
        }
        loop {
            self.changes.mark_unchanged();
            let Ok(record) = self.view.run(&self.run).await else {
                tokio::time::sleep(LOOK_INTERVAL).await;
                continue;
            };
            // Forgotten meanwhile.
            let record = record?;
            let is_terminal = record.state.is_terminal();
            if is_terminal {
                self.view.logs().flush().await;
            }
            let now = serde_json::to_string(&record).unwrap_or_default();
            if now != self.known {
                self.known = now;
                return Some("event: record\ndata: {}\n\n".to_owned());
            }
            let bytes = *self.length.borrow_and_update();
            if bytes != self.announced {
                self.announced = bytes;
                return Some(format!("event: log\ndata: {{\"bytes\":{bytes}}}\n\n"));
            }
            if is_terminal {
                self.ended = true;
                return Some("event: end\ndata: {}\n\n".to_owned());
            }
            tokio::select! {
                changed = self.length.changed() => if changed.is_err() {
                    tokio::time::sleep(DEBOUNCE).await;
                },
                _ = self.changes.changed() => {}
                () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => return Some(": alive\n\n".to_owned()),
            }
            tokio::time::sleep(DEBOUNCE).await;
        }
    }
}
