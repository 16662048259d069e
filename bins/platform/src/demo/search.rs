//! The search server's part: wait until it has indexed, search once.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::health::SearchHealthReply;
use super::server::Server;
use super::stop_signal::{DemoStopSignal, POLL_INTERVAL};
use super::{http, terminal};

/// Names the server to the terminal client.
const SERVER: &str = "SERVICE_SERVER_API_ENDPOINT";

/// Time for the server to answer at all.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Between two lines of progress where they do not take each other's place.
const LINE_INTERVAL: Duration = Duration::from_secs(3);
/// Time without any progress after which indexing counts as stuck.
const STALL_TIMEOUT: Duration = Duration::from_secs(300);

/// False when it was interrupted before.
pub(super) fn wait_until_ready(
    address: SocketAddr,
    server: &mut Server,
    stop: &DemoStopSignal,
) -> Result<bool> {
    let start = Instant::now();
    while !http::get(address, "/readyz").is_ok_and(|answer| answer.status == 200) {
        server.check_alive()?;
        if start.elapsed() > START_TIMEOUT {
            bail!(
                "not ready after {} s; its log: {}",
                START_TIMEOUT.as_secs(),
                server.log().display()
            );
        }
        if stop.wait_for(POLL_INTERVAL) {
            return Ok(false);
        }
    }
    terminal::line(&format!("ready after {} ms", start.elapsed().as_millis()));
    Ok(true)
}

/// False when it was interrupted before.
pub(super) fn wait_until_indexed(
    address: SocketAddr,
    sources: usize,
    server: &mut Server,
    stop: &DemoStopSignal,
) -> Result<bool> {
    let start = Instant::now();
    let (mut last, mut changed, mut shown) = (None, Instant::now(), None::<Instant>);
    loop {
        server.check_alive()?;
        let answer = http::get(address, "/health").context("GET /health")?;
        let health = SearchHealthReply::read(&answer.body)?;
        health.check(sources)?;
        if last.as_ref() != Some(&health) {
            let is_due = shown.is_none_or(|shown| shown.elapsed() > LINE_INTERVAL);
            if terminal::is_live() || is_due || health.complete() {
                terminal::progress(&format!("indexing: {health}"));
                shown = Some(Instant::now());
            }
            (last, changed) = (Some(health.clone()), Instant::now());
        }
        if health.complete() {
            terminal::progress_done();
            terminal::line(&format!(
                "indexed after {:.1} s",
                start.elapsed().as_secs_f64()
            ));
            return Ok(true);
        }
        if changed.elapsed() > STALL_TIMEOUT {
            bail!(
                "indexing stands still at {health}; its log: {}",
                server.log().display()
            );
        }
        if stop.wait_for(POLL_INTERVAL) {
            terminal::progress_done();
            return Ok(false);
        }
    }
}

/// One search with the terminal client.
pub(super) fn once(programs: &Path, data: &Path, address: SocketAddr, query: &str) -> Result<()> {
    terminal::heading("search: one search from the terminal");
    let server = format!("http://{address}");
    terminal::line(&format!(
        "$ {SERVER}={server} service-agent search {} --limit 5",
        command_line::quoted(query)
    ));
    let program = programs.join("service-agent");
    let mut agent = Command::new(&program);
    agent
        .current_dir(data)
        .stdin(Stdio::null())
        .env(SERVER, server)
        .args(["search", query, "--limit", "5"]);
    let status = agent.status();
    let status = status.with_context(|| format!("{} cannot be started", program.display()))?;
    if !status.success() {
        bail!("`service-agent search` failed: {status}");
    }
    Ok(())
}
