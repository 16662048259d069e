//! The runner's part of an actor tree: what each part is given, and nothing else.
//!
//! ```text
//! runner ─┬─ outbox              posts commit statuses (permanent; with a forge token)
//!         ├─ jobs ─┬─ <run>-<n>   one copy of a job (temporary)
//!         │        └─ …
//!         ├─ runs ─┬─ <run>       one run (temporary)
//!         │        └─ …
//!         ├─ coordinator         starts runs (permanent)
//!         ├─ clock               starts what is scheduled (permanent)
//!         ├─ vm-hosts            asks the hosts of VMs how they are (permanent)
//!         ├─ hand-over           waits for jobs before another process leads (permanent)
//!         ├─ kept-vms            gives kept VMs back at their deadlines (permanent)
//!         ├─ settings            reads the settings again (permanent; where they can be)
//!         ├─ catch-up            starts what no webhook told of (permanent)
//!         └─ garbage-collector   gives left-over VMs back (permanent)
//! ```

use std::sync::Arc;
use std::time::Duration;

use cluster_actors::replica::{SharedFiles, follow_id};
use cluster_actors::vm_hosts::{CordonTable, VmHostWatcher, VmHosts};
use forge_actors::deliveries::{Deliveries, DeliveryRetention};
use forge_actors::{Accounts, OutboxOptions, OutboxWorker};
use http_clients::forge::ForgeClient;
use http_clients::http::HttpClient;
use store::{Store, Table};
use supervision::{ChildRef, ChildSpec, Supervisor, SupervisorSpec};
use tokio::sync::watch;

use crate::action_store::ActionStore;
use crate::artifacts::ArtifactStore;
use crate::caches::CacheStore;
use crate::catch_up::CatchUp;
use crate::checkouts::CheckoutPermits;
use crate::coordinator::{CoordinatorServices, RunCoordinator};
use crate::counters::RunCounters;
use crate::garbage_collector::RunGarbageCollector;
use crate::groups::ConcurrencyGroups;
use crate::hand_over::HandOver;
use crate::image_store::ContainerImageStore;
use crate::intake::RunnerIntake;
use crate::job_admission::JobAdmission;
use crate::job_services::{ForgeApi, GitBackend, JobServices, RunsBackend};
use crate::kept::{KeptVmWatcher, KeptVms};
use crate::ledger::RunRecorder;
use crate::leftovers;
use crate::log::Logs;
use crate::log_reader::LogReader;
use crate::own_forge::OwnForge;
use crate::permits::RepositoryPermits;
use crate::recovery::RunRecovery;
use crate::repositories::Repositories;
use crate::run::{JobLauncher, ParkedRuns, RunArrivals, RunHandles, RunServices};
use crate::run_control::JobRunControl;
use crate::run_files::{FILES, LOGS, RunFiles};
use crate::run_finder::RunFinder;
use crate::run_queue::RunQueue;
use crate::schedule_clock::ScheduleClock;
use crate::settings::RunnerSettings;
use crate::settings_reload::{SettingsReloader, SettingsSource};
use crate::shared_logs::SharedLogs;
use crate::view::RunnerView;

/// Which VM hosts take no new jobs.
const CORDONS: CordonTable = Table::new("runner_cordons");
/// Messages that the coordinator holds.
const COORDINATOR_CAPACITY: usize = 1024;
/// Longest wait for settings that are read again.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest wait for the coordinator's reply.
const COORDINATOR_TIMEOUT: Duration = Duration::from_secs(10);

/// The runner's part of a tree before it is started, and what peers hold.
pub struct RunnerService {
    /// The supervisor; add it to a root.
    pub supervisor: SupervisorSpec,
    /// Who starts runs.
    pub coordinator: ChildRef<RunCoordinator>,
    /// Who takes deliveries.
    pub intake: RunnerIntake,
    /// What can be read of runs without asking an actor.
    pub view: RunnerView,
    /// What clients in the machines of jobs talk to.
    pub job_services: JobServices,
    /// Who hands over once no job is under way.
    pub hand_over: ChildRef<HandOver>,
    /// Who reads the settings again, where they can be.
    pub settings: Option<ChildRef<SettingsReloader>>,
}

/// What those hold that work with the machines of jobs: files, hosts, and machines that are kept.
struct MachineHandles {
    files: RunFiles,
    hosts: VmHosts,
    kept: KeptVms,
    admission: JobAdmission,
}

impl RunnerService {
    /// Puts the runner together. Blocks for its directories and its store.
    ///
    /// # Errors
    /// When a directory cannot be made, or the store cannot be read.
    pub fn new(settings: RunnerSettings, store: Store) -> std::io::Result<Self> {
        let settings = Arc::new(settings);
        prepare_directories(&settings)?;
        let deliveries = Deliveries::open(&store, DeliveryRetention::default());
        let deliveries = deliveries.map_err(std::io::Error::other)?;
        follow_newest_id(&store)?;
        let outbox = outbox_spec(&settings, &store);
        let runs = SupervisorSpec::new("runs").max_dynamic(1024);
        let jobs = SupervisorSpec::new("jobs").max_dynamic(settings.max_jobs.max(1) + 16);

        let (queue, groups) = (RunQueue::default(), ConcurrencyGroups::default());
        let counters = Arc::new(RunCounters::default());
        let hosts =
            VmHosts::open(&settings.vm_hosts, &store, CORDONS).map_err(std::io::Error::other)?;
        let repositories = Repositories::new(&settings);
        let (changed, changes) = watch::channel(0);
        let files = run_files(&settings, &store)?;
        let machines = MachineHandles {
            files: files.clone(),
            hosts: hosts.clone(),
            kept: KeptVms::new(&settings, &hosts, &files.logs),
            admission: JobAdmission::default(),
        };
        let offered = offered(&settings, &files, (&repositories, &store))?;
        let job_services = offered.1.clone();
        let recorder = RunRecorder {
            store: store.clone(),
            logs: files.logs.clone(),
            outbox: outbox.as_ref().map(ChildSpec::reference),
            public_url: settings.public_url.clone(),
            counters: Arc::clone(&counters),
            changed,
            queue: queue.clone(),
        };
        let run_services = RunServices {
            settings: Arc::clone(&settings),
            recorder: recorder.clone(),
            queue: queue.clone(),
            repositories: repositories.clone(),
            checkouts: CheckoutPermits::new(&settings.checkouts),
            jobs: job_launcher(&settings, &jobs, offered, &machines),
            groups,
            arrivals: RunArrivals::default(),
            parked: ParkedRuns::default(),
        };
        let coordinator = coordinator_spec(&machines, runs.reference(), run_services);
        let reference = coordinator.reference();
        let control = JobRunControl {
            coordinator: coordinator.reference(),
            store: store.clone(),
            repositories: repositories.clone(),
        };
        job_services.reach_runs(runs_backend(control, &files, &settings));
        let supervisor = with_outbox(outbox)
            .supervisor(jobs)
            .supervisor(runs)
            .child(coordinator);
        let (supervisor, hand_over) = with_hand_over(supervisor, (&machines.admission, &store));
        let supervisor = with_collectors(supervisor, &settings, &recorder, &machines);
        let supervisor = with_periodic_actors(supervisor, &settings, &repositories, &queue, &store);
        let view = RunnerView {
            log_reader: LogReader::new(files.logs.clone()),
            git: repositories,
            store,
            files,
            queue,
            counters,
            hosts,
            admission: machines.admission,
            public_url: settings.public_url.clone(),
            changes,
            kept: machines.kept,
        };
        Ok(Self {
            supervisor,
            coordinator: reference,
            intake: intake(&settings, &view, deliveries),
            view,
            job_services,
            hand_over,
            settings: None,
        })
    }

    /// Has the settings read again by `source` when that is asked for.
    #[must_use]
    pub fn reading(self, source: SettingsSource) -> Self {
        let hosts = self.view.hosts.clone();
        let reloader = SettingsReloader::new(hosts, source);
        let spec = ChildSpec::new("settings", move |_| reloader.clone());
        let spec = spec.ask_timeout(RELOAD_TIMEOUT);
        Self {
            settings: Some(spec.reference()),
            supervisor: self.supervisor.child(spec),
            ..self
        }
    }
}

/// What jobs reach of runs by their services.
fn runs_backend(
    control: JobRunControl,
    files: &RunFiles,
    settings: &RunnerSettings,
) -> RunsBackend {
    let (logs, public_url) = (files.logs.clone(), settings.public_url.clone());
    RunsBackend::new(Box::new(control), logs, public_url)
}

/// Has new ids follow the newest that is stored, whatever the clock of who made it.
fn follow_newest_id(store: &Store) -> std::io::Result<()> {
    let newest = store.read_blocking(|rows| crate::rows::newest(rows));
    let newest = newest.map_err(std::io::Error::other)?;
    newest.iter().for_each(|id| follow_id(id));
    Ok(())
}

/// Makes the directories, and removes checkouts of the previous incarnation.
fn prepare_directories(settings: &RunnerSettings) -> std::io::Result<()> {
    for directory in [&settings.data, &settings.repositories] {
        std::fs::create_dir_all(directory)?;
    }
    leftovers::clear(&settings.data.join("checkouts"));
    Ok(())
}

fn intake(settings: &RunnerSettings, view: &RunnerView, deliveries: Deliveries) -> RunnerIntake {
    RunnerIntake {
        store: view.store.clone(),
        deliveries,
        queue: view.queue.clone(),
        counters: Arc::clone(&view.counters),
        files: view.files.clone(),
        max_waiting: settings.max_waiting,
        keep_runs: settings.keep_runs,
        forge: OwnForge::from_settings(settings),
    }
}

/// A supervisor with who posts statuses, if anybody does.
fn with_outbox(outbox: Option<ChildSpec<OutboxWorker>>) -> SupervisorSpec {
    let supervisor = SupervisorSpec::new("runner");
    match outbox {
        Some(outbox) => supervisor.child(outbox),
        None => supervisor,
    }
}

/// Adds who waits for jobs before another process leads.
fn with_hand_over(
    supervisor: SupervisorSpec,
    (admission, store): (&JobAdmission, &Store),
) -> (SupervisorSpec, ChildRef<HandOver>) {
    let (admission, store) = (admission.clone(), store.clone());
    let hand_over = ChildSpec::new("hand-over", move |_| {
        HandOver::new(admission.clone(), store.clone())
    });
    let reference = hand_over.reference();
    (supervisor.child(hand_over), reference)
}

/// Adds who gives VMs back: kept ones at their deadlines, and those that are left over.
fn with_collectors(
    supervisor: SupervisorSpec,
    settings: &Arc<RunnerSettings>,
    recorder: &RunRecorder,
    machines: &MachineHandles,
) -> SupervisorSpec {
    let watcher = KeptVmWatcher::new(machines.kept.clone());
    let collector = RunGarbageCollector::new(
        settings,
        recorder,
        machines.files.clone(),
        machines.hosts.clone(),
        machines.kept.clone(),
    );
    let hosts = VmHostWatcher::new(machines.hosts.clone(), settings.gc_interval);
    supervisor
        .child(ChildSpec::new("vm-hosts", move |_| hosts.clone()))
        .child(ChildSpec::new("kept-vms", move |_| watcher.clone()))
        .child(ChildSpec::new("garbage-collector", move |_| {
            collector.clone()
        }))
}

/// Adds the actors that look for work by themselves.
fn with_periodic_actors(
    supervisor: SupervisorSpec,
    settings: &Arc<RunnerSettings>,
    repositories: &Repositories,
    queue: &RunQueue,
    store: &Store,
) -> SupervisorSpec {
    let clock = ScheduleClock {
        store: store.clone(),
        queue: queue.clone(),
        time: settings.schedules,
    };
    let catch_up = CatchUp {
        settings: Arc::clone(settings),
        store: store.clone(),
        repositories: repositories.clone(),
        queue: queue.clone(),
    };
    supervisor
        .child(ChildSpec::new("clock", move |_| clock.clone()))
        .child(ChildSpec::new("catch-up", move |_| catch_up.clone()))
}

fn coordinator_spec(
    machines: &MachineHandles,
    runs: ChildRef<Supervisor>,
    run_services: RunServices,
) -> ChildSpec<RunCoordinator> {
    let recovery = RunRecovery {
        recorder: run_services.recorder.clone(),
        settings: Arc::clone(&run_services.settings),
        hosts: machines.hosts.clone(),
    };
    let services = CoordinatorServices {
        store: recovery.recorder.store.clone(),
        queue: run_services.queue.clone(),
        handles: RunHandles::default(),
        files: machines.files.clone(),
        repositories: run_services.repositories.clone(),
        runs,
        keep_runs: recovery.settings.keep_runs,
        recovery,
        run_services,
    };
    let spec = ChildSpec::new("coordinator", move |_| {
        RunCoordinator::new(services.clone())
    });
    spec.capacity(COORDINATOR_CAPACITY)
        .ask_timeout(COORDINATOR_TIMEOUT)
}

/// What runs and jobs keep, and where.
fn run_files(settings: &RunnerSettings, store: &Store) -> std::io::Result<RunFiles> {
    let data = &settings.data;
    let objects = settings.objects.as_ref();
    let shared = objects.map(|objects| SharedFiles::open(data, objects, store, FILES));
    let shared = shared.transpose()?;
    let logs = data.join(LOGS);
    std::fs::create_dir_all(&logs)?;
    let shared_logs = shared.as_ref().map(|files| SharedLogs::open(&logs, files));
    Ok(RunFiles {
        logs: Logs::open_shared(&logs, shared_logs)?,
        artifacts: ArtifactStore::new(data, shared.as_ref()).with_limits(settings.artifacts),
        caches: CacheStore::open(data, settings.cache_bytes, shared.as_ref())
            .with_max_entry_bytes(settings.cache_max),
        shared,
    })
}

/// How clients in the machines of jobs reach what jobs keep.
fn offered(
    settings: &RunnerSettings,
    files: &RunFiles,
    (repositories, store): (&Repositories, &Store),
) -> std::io::Result<(CacheStore, JobServices)> {
    let git = GitBackend {
        repositories: repositories.clone(),
        store: store.clone(),
        max_pack: settings.checkouts.fetch_bytes,
    };
    let forge = ForgeApi::from_settings(settings, RunFinder::new(store));
    let caches = files.caches.clone();
    let issuer = settings.public_url.as_ref().map(url::Url::as_str);
    let artifacts = files.artifacts.clone();
    let services = JobServices::open(
        &settings.data,
        artifacts,
        caches.clone(),
        issuer,
        forge.map(|forge| forge.with_git(git)),
    )?;
    Ok((caches, services))
}

fn job_launcher(
    settings: &Arc<RunnerSettings>,
    supervisor: &SupervisorSpec,
    (caches, services): (CacheStore, JobServices),
    machines: &MachineHandles,
) -> JobLauncher {
    JobLauncher {
        supervisor: supervisor.reference(),
        permits: RepositoryPermits::lending(settings.max_jobs, settings.max_jobs_per_repository),
        logs: machines.files.logs.clone(),
        artifacts: machines.files.artifacts.clone(),
        actions: ActionStore::new(settings),
        images: ContainerImageStore::new(&settings.images),
        caches,
        services,
        hosts: machines.hosts.clone(),
        admission: machines.admission.clone(),
        kept: machines.kept.clone(),
    }
}

/// Who posts statuses; nobody without a token of the forge.
fn outbox_spec(settings: &Arc<RunnerSettings>, store: &Store) -> Option<ChildSpec<OutboxWorker>> {
    settings.forge_token.as_ref()?;
    let accounts = Arc::new(RunnerAccount {
        settings: Arc::clone(settings),
    });
    let options = OutboxOptions::new(accounts);
    let store = store.clone();
    let spec = ChildSpec::new("outbox", move |_| {
        OutboxWorker::new(store.clone(), options.clone())
    });
    Some(spec.capacity(256))
}

/// The one account: the runner's token, at its forge.
struct RunnerAccount {
    settings: Arc<RunnerSettings>,
}

impl Accounts for RunnerAccount {
    fn client(&self, http: &HttpClient, _: &str) -> Option<ForgeClient> {
        self.settings.forge_token.as_ref()?;
        self.settings.forge_client_over(http.clone())
    }
}
