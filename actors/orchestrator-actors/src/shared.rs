//! What the actors of one orchestrator share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config_core::{Diagnostic, Diagnostics, Environment};
use forge_actors::deliveries::{Bounds, Deliveries};
use forge_core::{Login, RunId};
use git_engine::Git;
use orchestrator_core::Millis;
use orchestrator_core::config::Config;
use orchestrator_core::run::Hold;
use orchestrator_engine::process::{Confinement, Sandbox, StopCause, Stopper};
use orchestrator_engine::worktree::Worktrees;
use parking_lot::{Mutex, RwLock};
use store::{Store, StoreError, WriteTxn};

use crate::journal::Entry;
use crate::ledger::{self, Book, Mirror, Standing};

/// Accounts whose comments start nothing.
pub type OwnLogins = BTreeSet<Login>;

/// Where programs are looked for without a `PATH`.
pub(crate) const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How long the start of a run is put off at first when descriptors, threads, memory or disk run out.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// And at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The clock: milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// Shared by all actors; clones are the same.
#[derive(Clone)]
pub struct Shared(Arc<Inner>);

struct Inner {
    store: Store,
    deliveries: Deliveries,
    config: RwLock<Arc<Config>>,
    config_path: PathBuf,
    environment: Environment,
    clock: Clock,
    /// When a former incarnation wrote into the journal last.
    last_entry_at: Option<Millis>,
    git: Git,
    confinement: Confinement,
    sandbox: Sandbox,
    worktrees: Mutex<HashMap<PathBuf, Worktrees>>,
    keepers: Mutex<HashMap<RunId, Keeper>>,
    holds: Mutex<BTreeMap<RunId, Hold>>,
    /// How often in a row the start of a run was put off.
    pauses: Mutex<HashMap<RunId, u32>>,
    own_logins: RwLock<Arc<OwnLogins>>,
    standing: Mutex<Standing>,
    ended: Mutex<BTreeMap<(String, &'static str), u64>>,
    mirror: Arc<Mutex<Mirror>>,
    /// Counts transactions that wrote into the journal.
    news: tokio::sync::watch::Sender<u64>,
}

/// What is known here of a run under way.
#[derive(Debug, Default)]
struct Keeper {
    stopper: Option<Stopper>,
    /// Asked for before there was a process.
    stop: Option<StopCause>,
}

/// What an orchestrator is made of.
pub struct Parts {
    /// Durable state.
    pub store: Store,
    /// The configuration.
    pub config: Config,
    /// Where it was read from.
    pub config_path: PathBuf,
    /// The environment of the daemon.
    pub environment: Environment,
    /// The clock.
    pub clock: Clock,
    /// git.
    pub git: Git,
    /// How far runs can be kept apart here.
    pub confinement: Confinement,
    /// What is odd about the configuration.
    pub warnings: Vec<String>,
}

impl Shared {
    /// Puts it together. Blocks for the store.
    ///
    /// # Errors
    /// The store's.
    pub fn new(parts: Parts) -> Result<Self, StoreError> {
        let now = (parts.clock)();
        let standing = Standing {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: now,
            configured_at: now,
            warnings: parts.warnings,
            ..Standing::default()
        };
        let own = parts.config.own_logins.iter().cloned().collect();
        let sandbox = Sandbox::detect(parts.environment.text("PATH").unwrap_or(USUAL_PATH));
        let cgroup = parts.confinement.is_complete();
        match sandbox.shortfall() {
            None => tracing::info!(
                event = "run.confinement",
                level = sandbox.level(),
                cgroup,
                "agents are kept apart by a sandbox"
            ),
            Some(why) => tracing::warn!(
                event = "run.confinement",
                level = sandbox.level(),
                cgroup,
                "{why}"
            ),
        }
        Ok(Self(Arc::new(Inner {
            deliveries: Deliveries::open(&parts.store, Bounds::default())?,
            last_entry_at: parts
                .store
                .read_blocking(|rows| ledger::last_entry_at(rows))?,
            store: parts.store,
            config: RwLock::new(Arc::new(parts.config)),
            config_path: parts.config_path,
            environment: parts.environment,
            clock: parts.clock,
            git: parts.git,
            confinement: parts.confinement,
            sandbox,
            pauses: Mutex::default(),
            worktrees: Mutex::default(),
            keepers: Mutex::default(),
            holds: Mutex::default(),
            own_logins: RwLock::new(Arc::new(own)),
            standing: Mutex::new(standing),
            ended: Mutex::default(),
            mirror: Arc::default(),
            news: tokio::sync::watch::channel(0).0,
        })))
    }

    /// Durable state.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The deliveries seen already.
    pub(crate) fn deliveries(&self) -> &Deliveries {
        &self.0.deliveries
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.0.config.read())
    }

    /// Where the configuration stands.
    pub fn config_path(&self) -> &std::path::Path {
        &self.0.config_path
    }

    /// The environment of the daemon.
    pub fn environment(&self) -> &Environment {
        &self.0.environment
    }

    /// When a former incarnation wrote into the journal last.
    pub(crate) fn last_entry_at(&self) -> Option<Millis> {
        self.0.last_entry_at
    }

    /// Now.
    pub fn now(&self) -> Millis {
        (self.0.clock)()
    }

    /// The clock.
    pub fn clock(&self) -> Clock {
        Arc::clone(&self.0.clock)
    }

    pub(crate) fn git(&self) -> &Git {
        &self.0.git
    }

    pub(crate) fn confinement(&self) -> &Confinement {
        &self.0.confinement
    }

    /// How far agents can be kept apart here.
    pub fn sandbox(&self) -> &Sandbox {
        &self.0.sandbox
    }

    /// The start of a run is put off once more: for how long, a little more each time.
    pub(crate) fn put_off(&self, run: &RunId) -> Duration {
        let mut pauses = self.0.pauses.lock();
        let times = pauses.entry(run.clone()).or_default();
        *times = times.saturating_add(1);
        FIRST_PAUSE
            .saturating_mul(1 << (*times - 1).min(8))
            .min(LONGEST_PAUSE)
    }

    /// How many starts of a run were put off so far.
    pub(crate) fn times_put_off(&self, run: &RunId) -> u32 {
        self.0.pauses.lock().get(run).copied().unwrap_or(0)
    }

    /// Puts another configuration in force. Runs under way keep theirs.
    pub(crate) fn set_config(&self, config: Config, warnings: &Diagnostics) {
        let own: OwnLogins = config.own_logins.iter().cloned().collect();
        self.add_own_logins(own);
        *self.0.config.write() = Arc::new(config);
        let mut standing = self.0.standing.lock();
        standing.configured_at = self.now();
        standing.warnings = warnings.iter().map(Diagnostic::headline).collect();
    }

    /// Accounts whose comments start nothing.
    pub fn own_logins(&self) -> Arc<OwnLogins> {
        Arc::clone(&self.0.own_logins.read())
    }

    pub(crate) fn add_own_logins(&self, more: impl IntoIterator<Item = Login>) {
        let mut own = self.0.own_logins.write();
        let mut all = OwnLogins::clone(&own);
        all.extend(more);
        *own = Arc::new(all);
    }

    /// Where runs' logs are.
    pub fn log_folder(&self, run: &str) -> PathBuf {
        let name = orchestrator_engine::names::safe_name(run);
        self.config()
            .directories
            .data
            .join("runs")
            .join(name)
            .join("log")
    }

    /// The worktrees below a project's root.
    pub(crate) fn worktrees(&self, root: &std::path::Path) -> Result<Worktrees, String> {
        let mut known = self.0.worktrees.lock();
        if let Some(worktrees) = known.get(root) {
            return Ok(worktrees.clone());
        }
        let mirrors = self.config().directories.data.join("mirrors");
        let made = Worktrees::new(self.0.git.clone(), root, &mirrors);
        let made = made.map_err(|error| error.to_string())?;
        known.insert(root.to_owned(), made.clone());
        Ok(made)
    }

    /// A keeper is about to be made for a run.
    pub(crate) fn keep(&self, run: &RunId) {
        self.0.keepers.lock().entry(run.clone()).or_default();
    }

    /// The process of a run exists; what was asked for meanwhile takes effect.
    pub(crate) fn has_process(&self, run: &RunId, stopper: Stopper) {
        let mut keepers = self.0.keepers.lock();
        let keeper = keepers.entry(run.clone()).or_default();
        if let Some(cause) = keeper.stop {
            stopper.stop(cause);
        }
        keeper.stopper = Some(stopper);
        drop(keepers);
        self.0.pauses.lock().remove(run);
    }

    /// The end of a run is recorded.
    pub(crate) fn release(&self, run: &RunId) {
        self.0.keepers.lock().remove(run);
        self.0.holds.lock().remove(run);
    }

    /// Ends the process of a run, now or as soon as it exists. `false`: it is not kept here.
    pub(crate) fn stop(&self, run: &RunId, cause: StopCause) -> bool {
        let mut keepers = self.0.keepers.lock();
        let Some(keeper) = keepers.get_mut(run) else {
            return false;
        };
        keeper.stop.get_or_insert(cause);
        if let Some(stopper) = &keeper.stopper {
            stopper.stop(cause);
        }
        true
    }

    /// Whether the run was asked to end before its process exists.
    pub(crate) fn is_stopped(&self, run: &RunId) -> Option<StopCause> {
        self.0
            .keepers
            .lock()
            .get(run)
            .and_then(|keeper| keeper.stop)
    }

    /// Runs with a keeper in this process.
    pub fn kept(&self) -> BTreeSet<RunId> {
        self.0.keepers.lock().keys().cloned().collect()
    }

    pub(crate) fn hold(&self, run: RunId, hold: Hold) {
        self.0.holds.lock().insert(run, hold);
    }

    pub(crate) fn unhold(&self, run: &RunId) {
        self.0.holds.lock().remove(run);
    }

    /// Why a queued run waits.
    pub(crate) fn hold_of(&self, run: &RunId) -> Option<Hold> {
        self.0.holds.lock().get(run).copied()
    }

    /// What the process knows of itself.
    pub fn standing(&self) -> Standing {
        self.0.standing.lock().clone()
    }

    pub(crate) fn ticked(&self, took: std::time::Duration, counted: bool) {
        let mut standing = self.0.standing.lock();
        standing.last_tick_at = Some(self.now());
        standing.last_tick_ms = Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        standing.last_tick_took = took;
        standing.ticks += u64::from(counted);
    }

    pub(crate) fn count_end(&self, agent: &str, class: &'static str) {
        *self
            .0
            .ended
            .lock()
            .entry((agent.to_owned(), class))
            .or_default() += 1;
    }

    /// Ended runs of this process by agent and exit class, for metrics.
    pub fn ended(&self) -> BTreeMap<(String, &'static str), u64> {
        self.0.ended.lock().clone()
    }

    /// The open runs as they were last read; for threads that may block.
    pub(crate) fn mirror(&self) -> Arc<Mutex<Mirror>> {
        Arc::clone(&self.0.mirror)
    }

    /// Entries of the journal are durable: they are logged, and whoever follows the journal is told.
    pub(crate) fn journalled(&self, entries: &[Entry]) {
        entries.iter().for_each(Entry::log);
        if !entries.is_empty() {
            self.0.news.send_modify(|count| *count += 1);
        }
    }

    /// Changes whenever something new is in the journal.
    pub fn news(&self) -> tokio::sync::watch::Receiver<u64> {
        self.0.news.subscribe()
    }

    /// One transaction under the configuration in force; its journal is logged once it is durable.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: FnOnce(&mut Book<'_, '_>) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        let (value, entries) = self.0.store.write(self.transaction(work)).await?;
        self.journalled(&entries);
        Ok(value)
    }

    /// The same for threads that may block.
    pub(crate) fn write_blocking<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: FnOnce(&mut Book<'_, '_>) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        let (value, entries) = self.0.store.write_blocking(self.transaction(work))?;
        self.journalled(&entries);
        Ok(value)
    }

    fn transaction<T, F>(
        &self,
        work: F,
    ) -> impl FnOnce(&mut WriteTxn<'_>) -> Result<(T, Vec<Entry>), StoreError> + Send + 'static + use<T, F>
    where
        F: FnOnce(&mut Book<'_, '_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (config, now) = (self.config(), self.now());
        move |rows: &mut WriteTxn<'_>| {
            let mut book = Book::new(rows, &config, now);
            let value = work(&mut book)?;
            Ok((value, book.entries()))
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("config_path", &self.0.config_path)
            .finish_non_exhaustive()
    }
}
