//! Bodies of git that go to the disk as they come.

use std::io::Write as _;
use std::time::Duration;

use actix_web::web;
use futures_util::StreamExt as _;
use runner_actors::{GatewayRefusal, GitFolder};

/// Bytes that are collected before they are written.
const BATCH: usize = 1 << 20;

/// Longest time that a body may take: it has one of the job's turns.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// A refusal of what the client has sent.
pub(super) fn bad_request(message: &str) -> GatewayRefusal {
    GatewayRefusal {
        status: 400,
        message: message.to_owned(),
    }
}

/// Writes the body to the disk.
pub(super) async fn receive(
    folder: &GitFolder,
    mut payload: web::Payload,
    most: u64,
) -> Result<(), GatewayRefusal> {
    let path = folder.body();
    let unwritten = |_: std::io::Error| GatewayRefusal {
        status: 507,
        message: "the runner has no room for the request".to_owned(),
    };
    let file = web::block(move || std::fs::File::create(path)).await;
    let mut file = file
        .map_err(|_| bad_request("the runner ends"))?
        .map_err(unwritten)?;
    let (mut batch, mut bytes) = (Vec::new(), 0_u64);
    loop {
        let next = payload.next().await;
        let end = next.is_none();
        if let Some(chunk) = next {
            let chunk = chunk.map_err(|_| bad_request("the body breaks off"))?;
            bytes += chunk.len() as u64;
            batch.extend_from_slice(&chunk);
        }
        if bytes > most {
            return Err(GatewayRefusal {
                status: 413,
                message: format!("a push or a fetch of a job sends at most {most} bytes"),
            });
        }
        if batch.len() >= BATCH || end {
            let full = std::mem::take(&mut batch);
            let written = web::block(move || file.write_all(&full).map(|()| file)).await;
            let written = written.map_err(|_| bad_request("the runner ends"))?;
            file = written.map_err(unwritten)?;
        }
        if end {
            return Ok(());
        }
    }
}
