//! The runner's part of an actor tree.
//!
//! ```text
//! runner ─┬─ poster              posts commit statuses (permanent; with a forge token)
//!         ├─ jobs ─┬─ <run>-<n>   one copy of a job (temporary)
//!         │        └─ …
//!         ├─ runs ─┬─ <run>       one run (temporary)
//!         │        └─ …
//!         ├─ desk                starts runs (permanent)
//!         ├─ clock               starts what is scheduled (permanent)
//!         ├─ catch-up            starts what no webhook told of (permanent)
//!         └─ caretaker           gives left-over VMs back (permanent)
//! ```

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use forge_actors::deliveries::{Bounds, Deliveries};
use forge_actors::{Accounts, ForgePoster, PosterOptions};
use forge_core::Forge;
use git_engine::Mirrors;
use outbound::forge::ForgeClient;
use outbound::http::{HttpClient, HttpOptions};
use outbound::vmm::VmmClient;
use parking_lot::Mutex;
use store::Store;
use supervision::{ChildRef, ChildSpec, SupervisorSpec};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::caretaker::Caretaker;
use crate::catch_up::CatchUp;
use crate::checkouts::Checkouts;
use crate::desk::{Arrived, RunDesk, RunEnded};
use crate::figures::Figures;
use crate::groups::Groups;
use crate::intake::RunnerIntake;
use crate::job::Stores;
use crate::log::Logs;
use crate::run::WorkflowRun;
use crate::schedule_clock::ScheduleClock;
use crate::settings::RunnerSettings;
use crate::source;
use crate::view::RunnerView;

/// Stored runs that the desk has not taken yet.
#[derive(Default)]
pub(crate) struct Arrivals {
    runs: Vec<String>,
    /// The desk has as many runs as it takes. It is not woken then; it looks here when one of them ends.
    no_room: bool,
}

impl Arrivals {
    /// Adds a run; says whether the desk is to be told.
    fn add(&mut self, run: String) -> bool {
        self.runs.push(run);
        self.runs.len() == 1 && !self.no_room
    }

    /// The runs, which are the desk's now.
    pub(crate) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.runs)
    }

    /// The desk says whether it has room; says whether runs came meanwhile that nobody told of.
    pub(crate) fn note_room(&mut self, has_room: bool) -> bool {
        self.no_room = !has_room;
        has_room && !self.runs.is_empty()
    }
}

/// What all of the runner shares.
pub(crate) struct Shared {
    pub(crate) settings: Arc<RunnerSettings>,
    pub(crate) store: Store,
    /// Those seen already.
    pub(crate) deliveries: Deliveries,
    pub(crate) logs: Logs,
    pub(crate) stores: Stores,
    pub(crate) groups: Groups,
    pub(crate) mirrors: Mirrors,
    pub(crate) poster: Option<ChildRef<ForgePoster>>,
    /// Counts changes of records: for those who show them.
    pub(crate) changed: watch::Sender<u64>,
    pub(crate) figures: Figures,
    pub(crate) leaks: Leaks,
    pub(crate) trouble: VmmTrouble,
    /// Runs under way: here, so that a desk that is restarted knows them.
    pub(crate) started: Mutex<HashMap<String, ChildRef<WorkflowRun>>>,
    /// Stored runs that the desk does not know yet.
    pub(crate) arrived: Mutex<Arrivals>,
    /// Work with git, bounded.
    pub(crate) checkouts: Checkouts,
    /// Ids of runs whose events started nothing, the oldest first.
    pub(crate) ignored: Mutex<VecDeque<String>>,
    desk: OnceLock<ChildRef<RunDesk>>,
    places: Arc<Semaphore>,
    by_repository: Mutex<HashMap<String, Arc<Semaphore>>>,
    running: Arc<Mutex<HashSet<String>>>,
}

/// Runs that started nothing and are remembered, so that it can be looked up why.
const IGNORED: usize = 500;

/// Whether a VM could not be given back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leaks(Arc<AtomicBool>);

impl Leaks {
    pub(crate) fn add(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Why the VM manager gives no VMs now, as it was last seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct VmmTrouble(Arc<Mutex<Option<String>>>);

impl VmmTrouble {
    pub(crate) fn set(&self, reason: Option<String>) {
        *self.0.lock() = reason;
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.0.lock().clone()
    }
}

/// A job's place among those that run at once.
pub(crate) struct Place(#[expect(dead_code, reason = "held")] [Option<OwnedSemaphorePermit>; 2]);

/// A job that runs; dropped, it does not.
pub(crate) struct Running {
    key: String,
    all: Arc<Mutex<HashSet<String>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.all.lock().remove(&self.key);
    }
}

impl Shared {
    /// Waits for a place: first the repository's, then one of all.
    pub(crate) async fn place(&self, repository: &str) -> Place {
        let own = {
            let mut all = self.by_repository.lock();
            let most = self.settings.max_jobs_per_repository.max(1);
            Arc::clone(
                all.entry(repository.to_lowercase())
                    .or_insert_with(|| Arc::new(Semaphore::new(most))),
            )
        };
        // Neither is ever closed.
        let first = own.acquire_owned().await.ok();
        let second = Arc::clone(&self.places).acquire_owned().await.ok();
        Place([first, second])
    }

    pub(crate) fn running(&self, key: &str) -> Running {
        self.running.lock().insert(key.to_owned());
        Running {
            key: key.to_owned(),
            all: Arc::clone(&self.running),
        }
    }

    pub(crate) fn is_running(&self, key: &str) -> bool {
        self.running.lock().contains(key)
    }

    /// Has the desk start a stored run.
    pub(crate) fn start(&self, run: String) {
        let tell = self.arrived.lock().add(run);
        if tell && let Some(desk) = self.desk.get() {
            // A desk that hears nothing looks by itself.
            let _ = desk.tell(Arrived);
        }
    }

    /// Runs that are stored and not started.
    pub(crate) fn waiting(&self) -> usize {
        let known = usize::try_from(self.figures.runs_waiting()).unwrap_or(usize::MAX);
        known.saturating_add(self.arrived.lock().runs.len())
    }

    /// Tells the desk that a run's actor has ended.
    pub(crate) fn run_ended(&self, run: &str) {
        if let Some(desk) = self.desk.get() {
            // A desk that hears nothing looks by itself.
            let _ = desk.tell(RunEnded(run.to_owned()));
        }
    }

    /// A run started nothing: it is remembered for a while, apart from those that did something. Gives those to be forgotten for it.
    pub(crate) fn note_ignored(&self, run: &str) -> Vec<String> {
        let mut ignored = self.ignored.lock();
        ignored.push_back(run.to_owned());
        let excess = ignored.len().saturating_sub(IGNORED);
        ignored.drain(..excess).collect()
    }

    /// Removes what a forgotten run left on the disk.
    pub(crate) fn remove_files(&self, run: &str) {
        let (log, stores, run) = (self.logs.path(run), self.stores.clone(), run.to_owned());
        actix_rt::spawn(async move {
            let removed = tokio::task::spawn_blocking(move || {
                let _ = std::fs::remove_file(log);
                stores.remove_run(&run);
            });
            let _ = removed.await;
        });
    }
}

/// The runner's part of a tree before it is started, and what peers hold.
pub struct RunnerService {
    /// The supervisor; add it to a root.
    pub supervisor: SupervisorSpec,
    /// Who starts runs.
    pub desk: ChildRef<RunDesk>,
    /// Who takes deliveries.
    pub intake: RunnerIntake,
    /// What can be read of runs without asking an actor.
    pub view: RunnerView,
}

impl RunnerService {
    /// Puts the runner together. Blocks for its folders and its store.
    ///
    /// # Errors
    /// When a folder cannot be made, or the store cannot be read.
    pub fn new(settings: RunnerSettings, store: Store) -> std::io::Result<Self> {
        let settings = Arc::new(settings);
        for folder in [&settings.data, &settings.repositories] {
            std::fs::create_dir_all(folder)?;
        }
        // Checkouts of a former life.
        let _ = std::fs::remove_dir_all(settings.data.join("checkouts"));
        let deliveries = Deliveries::open(&store, Bounds::default());
        let deliveries = deliveries.map_err(std::io::Error::other)?;
        let poster = settings
            .forge_token
            .is_some()
            .then(|| poster_spec(&settings, &store));
        let runs = SupervisorSpec::new("runs").max_dynamic(1024);
        let jobs = SupervisorSpec::new("jobs").max_dynamic(settings.max_jobs.max(1) + 16);
        let shared = Arc::new(Shared {
            logs: Logs::open(&settings.data.join("logs"))?,
            stores: Stores::open(&settings.data, settings.cache_bytes),
            groups: Groups::default(),
            mirrors: source::mirrors(&settings),
            poster: poster.as_ref().map(ChildSpec::reference),
            changed: watch::channel(0).0,
            figures: Figures::default(),
            leaks: Leaks::default(),
            trouble: VmmTrouble::default(),
            started: Mutex::default(),
            arrived: Mutex::default(),
            checkouts: Checkouts::new(&settings.checkouts),
            ignored: Mutex::default(),
            desk: OnceLock::new(),
            places: Arc::new(Semaphore::new(settings.max_jobs.max(1))),
            by_repository: Mutex::default(),
            running: Arc::default(),
            settings,
            store,
            deliveries,
        });
        let desk = desk_spec(&shared, &runs, &jobs);
        let reference = desk.reference();
        // Set once, before the first life of anyone who asks for it.
        let _ = shared.desk.set(reference.clone());
        let mut supervisor = SupervisorSpec::new("runner");
        if let Some(poster) = poster {
            supervisor = supervisor.child(poster);
        }
        let supervisor = supervisor
            .supervisor(jobs)
            .supervisor(runs)
            .child(desk)
            .child(clock_spec(&shared))
            .child(catch_up_spec(&shared))
            .child(caretaker_spec(&shared));
        Ok(Self {
            supervisor,
            desk: reference,
            intake: RunnerIntake {
                shared: Arc::clone(&shared),
            },
            view: RunnerView { shared },
        })
    }
}

fn desk_spec(
    shared: &Arc<Shared>,
    runs: &SupervisorSpec,
    jobs: &SupervisorSpec,
) -> ChildSpec<RunDesk> {
    let (shared, runs, jobs) = (Arc::clone(shared), runs.reference(), jobs.reference());
    let spec = ChildSpec::new("desk", move |_| {
        RunDesk::new(Arc::clone(&shared), runs.clone(), jobs.clone())
    });
    // Ends of runs, above all.
    spec.capacity(1024).ask_timeout(Duration::from_secs(10))
}

fn clock_spec(shared: &Arc<Shared>) -> ChildSpec<ScheduleClock> {
    let shared = Arc::clone(shared);
    ChildSpec::new("clock", move |_| ScheduleClock::new(Arc::clone(&shared)))
}

fn catch_up_spec(shared: &Arc<Shared>) -> ChildSpec<CatchUp> {
    let shared = Arc::clone(shared);
    ChildSpec::new("catch-up", move |_| CatchUp::new(Arc::clone(&shared)))
}

fn caretaker_spec(shared: &Arc<Shared>) -> ChildSpec<Caretaker> {
    let shared = Arc::clone(shared);
    ChildSpec::new("caretaker", move |_| Caretaker::new(Arc::clone(&shared)))
}

fn poster_spec(settings: &Arc<RunnerSettings>, store: &Store) -> ChildSpec<ForgePoster> {
    let accounts = Arc::new(Account {
        settings: Arc::clone(settings),
    });
    let options = PosterOptions::new(accounts);
    let store = store.clone();
    ChildSpec::new("poster", move |_| {
        ForgePoster::new(store.clone(), options.clone())
    })
    .capacity(256)
}

/// The one account: the runner's token, at its forge.
struct Account {
    settings: Arc<RunnerSettings>,
}

impl Accounts for Account {
    fn client(&self, http: &HttpClient, _: &str) -> Option<ForgeClient> {
        let token = self.settings.forge_token.clone()?;
        let base = match (&self.settings.forge_url, self.settings.forge) {
            (Some(url), _) => url.clone(),
            (None, Forge::GitHub) => url::Url::parse("https://api.github.com").ok()?,
            (None, _) => return None,
        };
        Some(ForgeClient::new(
            http.clone(),
            self.settings.forge,
            base,
            Some(token),
        ))
    }
}

/// A client of the VM manager, on this thread.
pub(crate) fn vmm_client(settings: &RunnerSettings) -> VmmClient {
    let http = HttpClient::new(HttpOptions::default());
    VmmClient::new(http, settings.vmm_url.clone(), settings.vmm_token.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_desk_is_told_once_and_not_while_it_has_no_room_and_misses_nothing() {
        let mut arrived = Arrivals::default();
        assert!(arrived.add("a".to_owned()), "it sleeps");
        assert!(!arrived.add("b".to_owned()), "it was told");
        assert_eq!(arrived.take(), ["a", "b"]);
        assert!(!arrived.note_room(false));
        assert!(!arrived.add("c".to_owned()), "it has no room");
        assert!(!arrived.note_room(false), "nor now");
        assert!(arrived.note_room(true), "c came, and nobody told of it");
        assert_eq!(arrived.take(), ["c"]);
        assert!(!arrived.note_room(true));
        assert!(arrived.add("d".to_owned()), "it sleeps again");
    }
}
