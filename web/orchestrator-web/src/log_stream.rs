//! The log of a run, whole or as it is written.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use edge_web::{Problem, visible};
use forge_core::RunId;
use futures_util::stream::unfold;
use orchestrator_actors::messages::GetRun;
use orchestrator_engine::output::{AgentLogReader, LogPart};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::path_params::run_id;
use crate::problems::{ask_problem, operator_problem};
use crate::state::WebState;

/// Between two reads of a log that is being written.
const POLL_INTERVAL: Duration = Duration::from_millis(150);
/// A follower that gets nothing else gets a keep-alive so often.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// The longest that a reader waits for a log of another machine.
const FETCH_TIMEOUT: Duration = Duration::from_secs(15);
/// Read at once, in bytes.
const PART: usize = 64 << 10;
/// Most of a log that is sent whole, in bytes.
const MAX_WHOLE: usize = 64 << 20;

/// How much of a log.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentLogQuery {
    /// 1: as Server-Sent Events (`log`, `skipped`, `end`), until the run has ended.
    follow: Option<u8>,
    /// Only the last so many lines of what is there.
    tail: Option<usize>,
}

/// What a run's agent printed, secrets masked. Whole, what steers a terminal or is not seen is
/// shown by its number; followed, the text is exact, with escapes of JSON for such characters.
#[utoipa::path(get, path = "/admin/runs/{id}/log", tag = "admin",
    params(("id" = String, Path, description = "The run"), AgentLogQuery),
    responses((status = 200, description = "The log, or events of it.", content_type = "text/plain", body = String)))]
pub(crate) async fn log(
    state: web::Data<WebState>,
    id: web::Path<String>,
    query: web::Query<AgentLogQuery>,
) -> Result<HttpResponse, Problem> {
    let id = run_id(&id)?;
    let asked = state.operator_api.ask(GetRun(id.clone())).await;
    let found = asked.map_err(|error| ask_problem(&error))?;
    let run = found.map_err(|error| operator_problem(&error))?;
    if run.ended {
        fetch(&state, &id).await?;
    }
    let directory = state.view.log_directory(id.as_str());
    let tail = query.tail;
    let (text, at) = blocking(move || read_log(&directory, tail)).await?;
    if query.follow != Some(1) {
        return Ok(HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, "text/plain; charset=utf-8"))
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .body(visible::plain(&text)));
    }
    let follower = LogFollower {
        state,
        directory: None,
        run: id,
        at,
        quiet: Duration::ZERO,
        ready: VecDeque::from(first_events(&text)),
        has_ended: false,
        over: false,
    };
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .streaming(unfold(follower, |mut follower| async move {
            let event = follower.next().await?;
            Some((Ok::<_, actix_web::Error>(event), follower))
        })))
}

/// Has the log of an ended run on this machine, wherever it ran.
pub(crate) async fn fetch(state: &WebState, run: &RunId) -> Result<(), Problem> {
    let (view, name) = (state.view.clone(), run.to_string());
    let fetching = blocking(move || {
        let fetched = view.fetch_log(&name);
        fetched.map_err(|error| {
            tracing::warn!(event = "objects.log_unreadable", run = name, %error, "the log of a run cannot be fetched");
            Problem::unavailable(format!("the log is not on this machine: {error}"), 10)
        })
    });
    let late = |_| Problem::unavailable("the object storage does not answer in time", 10);
    tokio::time::timeout(FETCH_TIMEOUT, fetching)
        .await
        .map_err(late)?
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::internal()))
}

/// What is there, and the place after it.
fn read_log(directory: &std::path::Path, tail: Option<usize>) -> Result<(String, u64), Problem> {
    let mut reader = AgentLogReader::new(directory, 0);
    let mut bytes: Vec<u8> = Vec::new();
    while bytes.len() < MAX_WHOLE {
        match reader.next(PART) {
            Ok(LogPart::Bytes(part)) => bytes.extend(part),
            Ok(LogPart::Skipped(count)) => {
                bytes.extend(format!("\n[{count} bytes left out]\n").bytes());
            }
            Ok(LogPart::Waiting | LogPart::End(_)) => break,
            Err(error) => return Err(Problem::unavailable(error.to_string(), 5)),
        }
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let text = match tail {
        Some(lines) => last_lines(&text, lines).to_owned(),
        None => text,
    };
    Ok((text, reader.position()))
}

fn last_lines(text: &str, lines: usize) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    if lines == 0 {
        return "";
    }
    let starts = body.match_indices('\n').map(|(at, _)| at + 1).rev();
    starts
        .into_iter()
        .nth(lines - 1)
        .map_or(text, |at| &text[at..])
}

fn first_events(text: &str) -> Vec<Bytes> {
    if text.is_empty() {
        return Vec::new();
    }
    vec![log_event(text)]
}

fn log_event(text: &str) -> Bytes {
    let data = serde_json::json!({ "text": text }).to_string();
    Bytes::from(format!("event: log\ndata: {}\n\n", visible::json(&data)))
}

/// One follower of one log.
struct LogFollower {
    state: web::Data<WebState>,
    directory: Option<PathBuf>,
    run: RunId,
    at: u64,
    quiet: Duration,
    ready: VecDeque<Bytes>,
    /// The run had ended when nothing more was there.
    has_ended: bool,
    over: bool,
}

impl LogFollower {
    /// The next event; `None` after the last.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.quiet = Duration::ZERO;
                return Some(event);
            }
            if self.over {
                return None;
            }
            if self.quiet >= KEEPALIVE_INTERVAL {
                self.quiet = Duration::ZERO;
                return Some(Bytes::from_static(b": alive\n\n"));
            }
            self.read_more().await;
        }
    }

    async fn read_more(&mut self) {
        let directory = self
            .directory
            .get_or_insert_with(|| self.state.view.log_directory(self.run.as_str()));
        let (directory, at) = (directory.clone(), self.at);
        let part = blocking(move || {
            let mut reader = AgentLogReader::new(&directory, at);
            let part = reader.next(PART);
            let part = part.map_err(|error| Problem::unavailable(error.to_string(), 5))?;
            Ok((part, reader.position()))
        });
        match part.await {
            Ok((LogPart::Bytes(bytes), at)) => {
                self.at = at;
                self.ready
                    .push_back(log_event(&String::from_utf8_lossy(&bytes)));
            }
            Ok((LogPart::Skipped(count), at)) => {
                self.at = at;
                self.ready
                    .push_back(Bytes::from(format!("event: skipped\ndata: {count}\n\n")));
            }
            Ok((LogPart::End(_), _)) | Err(_) => self.end(),
            Ok((LogPart::Waiting, _)) => self.wait().await,
        }
    }

    fn end(&mut self) {
        self.over = true;
        self.ready
            .push_back(Bytes::from_static(b"event: end\ndata: {}\n\n"));
    }

    /// Nothing new: a run that ended without a log (refused, cancelled early, lost with its
    /// machine) has no end in it either.
    async fn wait(&mut self) {
        if self.has_ended {
            self.end();
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        self.quiet += POLL_INTERVAL;
        if self.at > 0 {
            return;
        }
        let asked = self.state.operator_api.ask(GetRun(self.run.clone())).await;
        // What was written meanwhile is read first.
        self.has_ended = matches!(&asked, Ok(Ok(view)) if view.ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t11_events_of_a_log_hide_nothing_and_change_nothing() {
        let text = "a\u{202e}b\u{1b}[2J\n";
        let event = String::from_utf8(log_event(text).to_vec()).unwrap();
        assert!(!event.contains('\u{202e}'), "{event}");
        let data = event.lines().find_map(|line| line.strip_prefix("data: "));
        let data: serde_json::Value = serde_json::from_str(data.unwrap()).unwrap();
        assert_eq!(data["text"], text);
    }

    #[test]
    fn the_last_lines_are_whole_lines() {
        for (text, lines, expected) in [
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\n", 9, "a\nb\n"),
            ("a\n", 0, ""),
            ("", 3, ""),
        ] {
            assert_eq!(last_lines(text, lines), expected, "{text:?} {lines}");
        }
    }
}
