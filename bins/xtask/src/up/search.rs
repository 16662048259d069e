//! The search server's part: wait until it has indexed, search once.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::health::Health;
use super::server::Server;
use super::stop::Stop;
use super::{PULSE, http};
use crate::{say, shell};

/// Time for the server to answer at all.
const START: Duration = Duration::from_secs(60);

/// Time without any progress after which indexing counts as stuck.
const STUCK: Duration = Duration::from_secs(300);

/// False when it was interrupted before.
pub(super) fn wait_until_ready(
    address: SocketAddr,
    server: &mut Server,
    stop: &Stop,
) -> Result<bool> {
    let start = Instant::now();
    while !http::get(address, "/readyz").is_ok_and(|answer| answer.status == 200) {
        server.check_alive()?;
        if start.elapsed() > START {
            bail!(
                "not ready after {} s; its log: {}",
                START.as_secs(),
                server.log().display()
            );
        }
        if stop.within(PULSE) {
            return Ok(false);
        }
    }
    say::line(&format!("ready after {} ms", start.elapsed().as_millis()));
    Ok(true)
}

/// False when it was interrupted before.
pub(super) fn wait_until_indexed(
    address: SocketAddr,
    sources: usize,
    server: &mut Server,
    stop: &Stop,
) -> Result<bool> {
    let start = Instant::now();
    let (mut last, mut changed) = (None, Instant::now());
    loop {
        server.check_alive()?;
        let answer = http::get(address, "/health").context("GET /health")?;
        let health = Health::read(&answer.body)?;
        health.check(sources)?;
        if last.as_ref() != Some(&health) {
            say::progress(&format!("indexing: {health}"));
            (last, changed) = (Some(health.clone()), Instant::now());
        }
        if health.complete() {
            say::progress_done();
            say::line(&format!(
                "indexed after {:.1} s",
                start.elapsed().as_secs_f64()
            ));
            return Ok(true);
        }
        if changed.elapsed() > STUCK {
            bail!(
                "indexing stands still at {health}; its log: {}",
                server.log().display()
            );
        }
        if stop.within(PULSE) {
            say::progress_done();
            return Ok(false);
        }
    }
}

/// One search with the terminal client.
pub(super) fn once(programs: &Path, data: &Path, address: SocketAddr, query: &str) -> Result<()> {
    say::heading("search: one search from the terminal");
    let program = programs.join("service-agent");
    let mut agent = shell::command(&program.to_string_lossy(), data);
    agent.env("SERVICE_SERVER_API_ENDPOINT", format!("http://{address}"));
    shell::run(agent.args(["search", query, "--limit", "5"]))
}
