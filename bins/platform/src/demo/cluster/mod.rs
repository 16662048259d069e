//! `platform demo --cluster`: two runners, two orchestrators and two VM managers on one PostgreSQL
//! and one object storage, two indexers and two searchers on the same storage, on this machine
//! only.
//!
//! ```text
//! webhooks ─▶ entry ─┬▶ runner 1 ◀─┐        ┌─▶ VM manager 1, VM manager 2
//!                    ├▶ runner 2 ◀─┼────────┤
//!                    ├▶ orchestrator 1, 2   └─▶ PostgreSQL, object storage
//!                    └─ GET /readyz of each
//! pages ─▶ indexer 1, 2 ─▶ object storage ─▶ searcher 1, 2 ─▶ answers
//! ```
//! It shows a run, kills the leader of each product while webhooks come, and counts what became of
//! those that were accepted; then it kills the indexer that publishes, and compares answers.

mod deliveries;
mod entry;
mod free_ports;
mod member;
mod members;
mod searching;
mod storage;
mod takeover;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use scripted_peers::postgres::PostgresServer;

use self::free_ports::free_port;
use self::member::{ClusterMember, until_led, until_standby};
use self::members::Site;
pub(super) use self::members::check_programs;
use self::searching::SearchMembers;
use self::storage::Storage;
use super::environment::SampleEnvironment;
use super::ports::Ports;
use super::settings::create_folder;
use super::stop_signal::{DemoStopSignal, POLL_INTERVAL};
use super::{agents, secrets, terminal, workflow};

/// What is started, and where.
#[derive(Debug)]
pub(super) struct ClusterSettings {
    /// Where the programs are.
    pub(super) programs: PathBuf,
    /// The agent of VMs.
    pub(super) guest: PathBuf,
    /// Where further programs may be.
    pub(super) tools: Option<PathBuf>,
    /// Settings, data and logs; emptied at the start.
    pub(super) data: PathBuf,
    /// The runners' entry; 0 takes free ports for everything.
    pub(super) port: u16,
}

/// Runs it.
///
/// # Errors
/// When something is missing or does not start, or when something that was accepted was lost.
pub(super) fn run(settings: &ClusterSettings, stop: &DemoStopSignal, once: bool) -> Result<()> {
    let started = Instant::now();
    let folder = emptied(&settings.data)?;
    terminal::heading("a cluster on this machine");
    terminal::line(&format!("settings, data and logs: {}", folder.display()));
    let database = database()?;
    terminal::line(&format!("database       {}", database.describe()));
    let logs = create_folder(&folder.join("logs"))?;
    let storage = Storage::start(&folder.join("storage"), &logs, settings.tools.as_deref())?;
    terminal::line(&format!("object storage {}", storage.describe()));
    let mut cluster = Cluster::new(settings, &folder, database, storage)?;
    let shown = cluster.show(stop);
    if matches!(shown, Ok(true)) {
        terminal::line(&format!("all of it took {} s", started.elapsed().as_secs()));
        cluster.show_addresses();
        if !once {
            terminal::line("\nCtrl-C stops it.");
            cluster.stay(stop)?;
        }
    }
    let stopped = cluster.stop();
    shown?;
    stopped?;
    // What it kept is of no use without its database; the logs may be.
    for entry in std::fs::read_dir(&folder)?.flatten() {
        if entry.path() != logs && entry.path().is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    terminal::line("stopped cleanly");
    Ok(())
}

/// The database that all share. Dropped, it is stopped and removed.
fn database() -> Result<PostgresServer> {
    let made = PostgresServer::try_on_network(free_port()?, &secrets::random());
    made.map_err(anyhow::Error::msg)
}

/// The folder, without what a former demonstration left in it. A folder of anything else is not
/// emptied.
fn emptied(folder: &Path) -> Result<PathBuf> {
    const MARK: &str = "demo-cluster";
    let own = create_folder(folder)?;
    let entries = std::fs::read_dir(&own)?.count();
    if own.join(MARK).is_file() {
        std::fs::remove_dir_all(&own)?;
        create_folder(&own)?;
    } else if entries > 0 {
        bail!(
            "{} has files of something else; name another folder by `--data`",
            own.display()
        );
    }
    std::fs::write(own.join(MARK), "")?;
    Ok(own)
}

/// All processes. Dropped, they are killed, the database last.
struct Cluster {
    runners: Vec<ClusterMember>,
    orchestrators: Vec<ClusterMember>,
    managers: Vec<ClusterMember>,
    search: SearchMembers,
    samples: SampleEnvironment,
    storage: Storage,
    _database: PostgresServer,
}

impl Cluster {
    /// The settings of all, and the entry; nothing of it started yet.
    fn new(
        settings: &ClusterSettings,
        folder: &Path,
        database: PostgresServer,
        storage: Storage,
    ) -> Result<Self> {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let ports = Ports {
            search: nowhere,
            machines: nowhere,
            runner: nowhere,
            webhook: nowhere,
            operations: nowhere,
        };
        let mut samples = SampleEnvironment::new(&folder.join("sample"), ports)?;
        let site = Site {
            folder,
            programs: &settings.programs,
            guest: &settings.guest,
            secrets: &samples.secrets,
            forge: &samples.forge.url(),
            checkout: &samples.sample.checkout(),
            database: &database,
            storage: &storage,
        };
        let managers = site.managers()?;
        let (runners, orchestrators) = (site.runners(&managers)?, site.orchestrators()?);
        let search = site.search()?;
        let usual = |port: u16| if settings.port == 0 { 0 } else { port };
        let by = |members: &[ClusterMember], address: fn(&ClusterMember) -> SocketAddr| {
            let pairs = members.iter().map(|it| (address(it), it.health));
            pairs.collect::<Vec<_>>()
        };
        let receivers = by(&orchestrators, |it| it.address);
        let operations = by(&orchestrators, |it| it.health);
        samples.ports.runner = entry::serve(settings.port, &by(&runners, |it| it.address))?;
        samples.ports.webhook = entry::serve(usual(3200), &receivers)?;
        samples.ports.operations = entry::serve(usual(3201), &operations)?;
        Ok(Self {
            runners,
            orchestrators,
            managers: managers.into_iter().map(|(manager, _)| manager).collect(),
            search,
            samples,
            storage,
            _database: database,
        })
    }

    /// Everything that is shown. False when it was interrupted before.
    fn show(&mut self, stop: &DemoStopSignal) -> Result<bool> {
        if !self.start(stop)? {
            return Ok(false);
        }
        if !workflow::show(&self.samples, stop)? || !agents::show(&self.samples, stop)? {
            return Ok(false);
        }
        terminal::heading("the leader of the runners is killed while pushes come");
        if !takeover::of_runners(&self.samples, &mut self.runners, stop)? {
            return Ok(false);
        }
        terminal::heading("the leader of the orchestrators is killed while mentions come");
        if !takeover::of_orchestrators(&self.samples, &mut self.orchestrators, stop)? {
            return Ok(false);
        }
        terminal::heading("the indexer that publishes is killed while searchers answer");
        self.search.show(stop)
    }

    /// Starts all processes, and waits until one of each product leads and the other stands by.
    fn start(&mut self, stop: &DemoStopSignal) -> Result<bool> {
        for member in &mut self.managers {
            if !member.start(stop)? {
                return Ok(false);
            }
            terminal::line(&format!("{:<15} {}", member.name, member.address));
        }
        for members in [&mut self.runners, &mut self.orchestrators] {
            for member in &mut *members {
                if !member.start(stop)? {
                    return Ok(false);
                }
            }
            let Some((leader, epoch)) = until_led(members, 0, stop)? else {
                return Ok(false);
            };
            if !until_standby(members, leader, stop)? {
                return Ok(false);
            }
            for (at, member) in members.iter().enumerate() {
                let role = match at == leader {
                    true => format!("leads, epoch {epoch}"),
                    false => "stands by".to_owned(),
                };
                terminal::line(&format!("{:<15} {} {role}", member.name, member.address));
            }
        }
        if !self.search.start(stop)? {
            return Ok(false);
        }
        let ports = self.samples.ports;
        terminal::line(&format!(
            "entry           {} for the runners, {} for the orchestrators",
            ports.runner, ports.webhook
        ));
        Ok(true)
    }

    fn show_addresses(&self) {
        let ports = self.samples.ports;
        terminal::heading("the pages");
        terminal::line(&format!("workflows   http://{}/runs", ports.runner));
        terminal::line(&format!("operations  http://{}/", ports.operations));
        terminal::line(&format!(
            "            its token, of this start: {}",
            self.samples.secrets.admin
        ));
        for searcher in &self.search.searchers {
            terminal::line(&format!("search      http://{}/", searcher.address));
        }
        terminal::line("kill any of the processes, and look at the pages again");
    }

    /// Until a signal asks to stop. A process that was killed meanwhile is part of the
    /// demonstration.
    fn stay(&mut self, stop: &DemoStopSignal) -> Result<()> {
        while !stop.wait_for(POLL_INTERVAL) {
            self.storage.check_alive()?;
        }
        terminal::line("\nstopping");
        Ok(())
    }

    /// Stops all that runs, the managers last: what ends gives its VMs back.
    fn stop(&mut self) -> Result<()> {
        let mut all: Vec<&mut ClusterMember> = self.orchestrators.iter_mut().collect();
        all.extend(&mut self.runners);
        all.extend(&mut self.managers);
        all.extend(self.search.all());
        let ended: Vec<Result<()>> = all.into_iter().map(ClusterMember::stop).collect();
        ended
            .into_iter()
            .collect::<Result<()>>()
            .context("a process did not stop as it should")
    }
}
