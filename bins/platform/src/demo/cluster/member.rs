//! The processes of the cluster: started, asked for their role, killed and started again.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use super::super::http;
use super::super::server::Server;
use super::super::stop_signal::DemoStopSignal;

/// How long a process may take to answer.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A process, and how it is started.
pub(super) struct ClusterMember {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) variables: Vec<(String, String)>,
    /// Where its logs are.
    pub(super) logs: PathBuf,
    /// Where it takes webhooks, or orders for VMs.
    pub(super) address: SocketAddr,
    /// Where it is asked how it is.
    pub(super) health: SocketAddr,
    /// While it runs.
    pub(super) server: Option<Server>,
    /// How often it was started: each start has a log of its own.
    pub(super) starts: u32,
}

impl ClusterMember {
    /// Starts it, and waits until it answers. False when it was interrupted before.
    ///
    /// # Errors
    /// When it ends or does not answer, with the end of its log.
    pub(super) fn start(&mut self, stop: &DemoStopSignal) -> Result<bool> {
        self.starts += 1;
        let log = format!("{}.{}.log", self.name, self.starts);
        let arguments: Vec<_> = self.arguments.iter().map(OsString::as_os_str).collect();
        let variables = self.variables.iter();
        let variables: Vec<_> = variables.map(|(key, value)| (&**key, &**value)).collect();
        let place = (self.logs.as_path(), log.as_str());
        let mut server = Server::start(&self.program, &arguments, place, &variables)?;
        let started = Instant::now();
        while !http::get(self.health, "/livez").is_ok_and(|answer| answer.status == 200) {
            server.check_alive()?;
            if started.elapsed() > START_TIMEOUT {
                bail!(
                    "{} does not answer; its log: {}",
                    self.name,
                    server.log().display()
                );
            }
            if stop.wait_for(POLL_INTERVAL) {
                return Ok(false);
            }
        }
        self.server = Some(server);
        Ok(true)
    }

    /// SIGKILL; the process that it was.
    pub(super) fn kill(&mut self) -> Option<u32> {
        let server = self.server.take()?;
        let process = server.id();
        server.kill();
        Some(process)
    }

    /// SIGTERM, and its end.
    ///
    /// # Errors
    /// When it does not end, or not with 0.
    pub(super) fn stop(&mut self) -> Result<()> {
        self.server.take().map_or(Ok(()), Server::stop)
    }

    /// Refuses one that has ended by itself.
    ///
    /// # Errors
    /// With the end of its log.
    pub(super) fn check_alive(&mut self) -> Result<()> {
        self.server.as_mut().map_or(Ok(()), Server::check_alive)
    }

    /// What it says of its role: `role`, `epoch`, and `leader` once it knows one.
    fn replica(&self) -> Option<Value> {
        let health = http::get(self.health, "/health").ok()?;
        let mut health: Value = serde_json::from_str(&health.body).ok()?;
        Some(health["replica"].take())
    }
}

/// Who leads, and under which epoch: later than this one.
pub(super) fn leader(members: &[ClusterMember], after: u64) -> Option<(usize, u64)> {
    let leading = members.iter().enumerate().filter_map(|(at, member)| {
        let replica = member.replica()?;
        let epoch = replica["epoch"].as_u64()?;
        (replica["role"] == "leader" && epoch > after).then_some((at, epoch))
    });
    leading.max_by_key(|(_, epoch)| *epoch)
}

/// Waits until somebody leads under a later epoch. `None` when it was interrupted before.
///
/// # Errors
/// When nobody does.
pub(super) fn until_led(
    members: &mut [ClusterMember],
    after: u64,
    stop: &DemoStopSignal,
) -> Result<Option<(usize, u64)>> {
    let started = Instant::now();
    loop {
        if let Some(found) = leader(members, after) {
            return Ok(Some(found));
        }
        for member in &mut *members {
            member.check_alive()?;
        }
        if started.elapsed() > START_TIMEOUT {
            bail!("nobody leads after {} s", START_TIMEOUT.as_secs());
        }
        if stop.wait_for(POLL_INTERVAL) {
            return Ok(None);
        }
    }
}

/// Waits until all others than this one stand by, and know where it is. False when it was
/// interrupted before.
///
/// # Errors
/// When one does not.
pub(super) fn until_standby(
    members: &mut [ClusterMember],
    leader: usize,
    stop: &DemoStopSignal,
) -> Result<bool> {
    let started = Instant::now();
    let stands_by = |member: &ClusterMember| {
        let replica = member.replica();
        replica.is_some_and(|it| it["role"] == "standby" && it["leader"].is_string())
    };
    while !(members.iter().enumerate()).all(|(at, it)| at == leader || stands_by(it)) {
        for member in &mut *members {
            member.check_alive()?;
        }
        if started.elapsed() > START_TIMEOUT {
            bail!("one does not stand by after {} s", START_TIMEOUT.as_secs());
        }
        if stop.wait_for(POLL_INTERVAL) {
            return Ok(false);
        }
    }
    Ok(true)
}
