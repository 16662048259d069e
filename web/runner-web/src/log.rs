//! A run's log as it is read: whole, or followed while it grows.

use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use edge_web::Problem;
use futures_util::Stream;
use runner_actors::RunnerView;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::handlers::find;
use crate::state::RunnerState;

type State = web::Data<RunnerState>;

/// How to read a log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogQuery {
    /// `1`: as server-sent events, until the run has ended.
    pub follow: Option<u8>,
}

/// A run's log: JSON Lines, or server-sent events with `follow=1`.
#[utoipa::path(get, path = "/runs/{id}/log", tag = "runs", params(("id" = String, Path, description = "The run's id"), LogQuery),
    responses((status = 200, description = "A JSON object a line; followed: an event a line, then the event `end` with the run's state"), (status = 404, description = "No such run")))]
pub(crate) async fn log(
    state: State,
    id: web::Path<String>,
    query: web::Query<LogQuery>,
) -> Result<HttpResponse, Problem> {
    let record = find(&state.view, &id).await?;
    if query.follow == Some(1) {
        let events = follow(state.view.clone(), record.id);
        return Ok(HttpResponse::Ok()
            .content_type("text/event-stream")
            .insert_header(("cache-control", "no-store"))
            .streaming(events));
    }
    let path = state.view.logs().path(&record.id);
    let lines = Chunks { path, at: 0 };
    Ok(HttpResponse::Ok()
        .content_type("application/jsonl")
        .streaming(whole(lines)))
}

/// Reads a file piece by piece, each on a thread that may block.
pub(crate) struct Chunks {
    pub(crate) path: std::path::PathBuf,
    pub(crate) at: u64,
}

const CHUNK: u64 = 256 << 10;

impl Chunks {
    async fn next(&mut self) -> std::io::Result<Bytes> {
        let (path, at) = (self.path.clone(), self.at);
        let read = tokio::task::spawn_blocking(move || {
            let mut file = match std::fs::File::open(path) {
                Ok(file) => file,
                // Nothing was written yet.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            };
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = Vec::new();
            file.take(CHUNK).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        let bytes = read.await.map_err(std::io::Error::other)??;
        self.at += bytes.len() as u64;
        Ok(Bytes::from(bytes))
    }
}

pub(crate) fn whole(chunks: Chunks) -> impl Stream<Item = std::io::Result<Bytes>> {
    futures_util::stream::unfold(chunks, |mut chunks| async move {
        match chunks.next().await {
            Ok(bytes) if bytes.is_empty() => None,
            read => Some((read, chunks)),
        }
    })
}

/// A log that is followed.
struct Follow {
    view: RunnerView,
    run: String,
    chunks: Chunks,
    length: tokio::sync::watch::Receiver<u64>,
    rest: Vec<u8>,
    ended: bool,
}

/// A sign of life, so that proxies keep the connection.
const ALIVE: Duration = Duration::from_secs(15);

fn follow(view: RunnerView, run: String) -> impl Stream<Item = std::io::Result<Bytes>> {
    let follow = Follow {
        chunks: Chunks {
            path: view.logs().path(&run),
            at: 0,
        },
        length: view.logs().watch(&run),
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

impl Follow {
    async fn next(&mut self) -> std::io::Result<Bytes> {
        loop {
            // Looked at before the file is read: what an ended run wrote is all there.
            let record = self.view.run(&self.run).await.ok().flatten();
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
                () = tokio::time::sleep(ALIVE) => return Ok(Bytes::from_static(b": alive\n\n")),
            }
        }
    }

    /// Whole lines as events; the rest waits.
    fn events(&mut self, bytes: &[u8]) -> Bytes {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Bytes::new();
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let mut events = Vec::with_capacity(whole.len() + 64);
        for line in whole
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            events.extend_from_slice(b"data: ");
            events.extend_from_slice(line);
            events.extend_from_slice(b"\n\n");
        }
        Bytes::from(events)
    }
}
