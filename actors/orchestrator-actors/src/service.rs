//! The orchestrator's part of an actor tree, composed.
//!
//! ```text
//! orchestrator ─┬─ vm-hosts      asks the hosts of VMs how they are (permanent)
//!               ├─ vm-collector  gives back VMs that no run has (the same)
//!               ├─ outbox        posts statuses and comments (permanent)
//!               ├─ runs ─┬─ <run>   one actor an agent process (temporary)
//!               │        └─ …
//!               ├─ log-collector looks after shared logs (permanent)
//!               ├─ worktree-gc   removes worktrees (permanent)
//!               ├─ preflight     asks the forge before a run starts (permanent)
//!               ├─ dispatcher    the tick (permanent)
//!               ├─ intake        makes events durable (permanent)
//!               ├─ poller        asks the forge what was missed (permanent)
//!               └─ operator-api  answers operators (permanent)
//! ```
//! Stopped in reverse: nothing new comes in, then the runs end, and the outbox goes last.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cluster_actors::replica::follow_id;
use cluster_actors::vm_hosts::{CordonTable, VmHostWatcher, VmHosts};
use config_core::Environment;
use forge_actors::{OutboxOptions, OutboxWorker, PostEvent};
use git_engine::Git;
use orchestrator_core::config::Config;
use orchestrator_engine::process::Confinement;
use store::{Store, StoreError, Table};
use supervision::{ChildRef, ChildSpec, PastLimit, SupervisorSpec, ThreadPlacement};
use tokio::sync::watch;

use crate::accounts::ConfiguredAccounts;
use crate::active_runs::{ActiveRuns, EndCounters};
use crate::agent_run::AgentRunServices;
use crate::change_notifier::ChangeNotifier;
use crate::dispatcher::{DispatchTargets, Dispatcher};
use crate::host::{AgentHost, WorktreeRoots};
use crate::intake::Intake;
use crate::journal::{JournalEvent, RecordedEvent};
use crate::ledger::{self, Ledger, WallClock};
use crate::live_config::LiveConfig;
use crate::log_collector::LogCollector;
use crate::operator_api::OperatorApi;
use crate::poller::Poller;
use crate::preflight::Preflight;
use crate::run_logs::RunLogs;
use crate::ticks::{TickStats, TickTrigger};
use crate::view::OrchestratorView;
use crate::vm_collector::VmCollector;
use crate::worktree_gc::WorktreeGc;

/// Which VM hosts take no new runs.
const CORDONS: CordonTable = Table::new("orch_cordons");
/// More actors than any `max_running` allows at a time, those of ended runs included:
/// reconciliation keeps to what is configured, which a reload can change.
const MAX_RUN_ACTORS: usize = 20_000;
/// Webhooks that may wait for the disk; one more is answered with 503.
const INTAKE_CAPACITY: usize = 512;
/// The longest a webhook waits for the disk.
const INTAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// What an orchestrator is made of.
pub struct OrchestratorSetup {
    /// Durable state.
    pub store: Store,
    /// The configuration.
    pub config: Config,
    /// Where it was read from.
    pub config_path: PathBuf,
    /// The environment of the daemon.
    pub environment: Environment,
    /// The clock.
    pub clock: WallClock,
    /// git.
    pub git: Git,
    /// How far runs can be isolated here.
    pub confinement: Confinement,
    /// What is odd about the configuration.
    pub warnings: Vec<String>,
}

/// Why an orchestrator cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Files that are shared with other processes.
    #[error("[objects]: {0}")]
    Files(std::io::Error),
}

/// The orchestrator's part of a tree before it is started: its spec, and what peers hold.
pub struct OrchestratorService {
    /// The supervisor; add it to a root.
    pub supervisor: SupervisorSpec,
    /// What the web edge reads.
    pub view: OrchestratorView,
    /// Durable state; close it when everything has ended.
    pub store: Store,
    /// Takes events in.
    pub intake: ChildRef<Intake>,
    /// The tick.
    pub dispatcher: ChildRef<Dispatcher>,
    /// Requests early ticks.
    pub ticks: TickTrigger,
    /// Answers operators.
    pub operator_api: ChildRef<OperatorApi>,
    /// Asks the forge.
    pub poller: ChildRef<Poller>,
}

impl OrchestratorService {
    /// Puts the orchestrator together. Blocks for the store.
    ///
    /// # Errors
    /// The store's; when there can be no folder for files of other processes.
    pub fn new(setup: OrchestratorSetup) -> Result<Self, SetupError> {
        let started_at = (setup.clock)();
        let store = setup.store;
        let longest_stop = longest_stop(&setup.config);
        let worktrees = WorktreeRoots::new(setup.git, &setup.config.directories.data);
        let vms = VmHosts::open(&setup.config.vm_hosts, &store, CORDONS)?;
        let host = (setup.environment.clone(), setup.config_path.clone());
        let host = AgentHost::detect(host, setup.confinement, vms.clone());
        let logs = RunLogs::open(&setup.config, &store).map_err(SetupError::Files)?;
        let (config, config_writer) = LiveConfig::new(setup.config, setup.warnings, started_at);
        let ledger = Ledger::open(store.clone(), config.clone(), Arc::clone(&setup.clock))?;
        let ages = ledger.read_blocking(|rows| ledger::age_clock(rows))?;
        follow_newest_id(&ledger)?;
        let (stats, ticks_read) = watch::channel(TickStats::default());
        let (active, ended) = (ActiveRuns::default(), EndCounters::default());
        let outbox = outbox_spec(&ledger, config, setup.clock);
        let notifier = ChangeNotifier {
            ticks: TickTrigger::default(),
            outbox: outbox.reference(),
        };
        let runs = AgentRunServices {
            ledger: ledger.clone(),
            runs: active.clone(),
            ended: ended.clone(),
            host,
            logs: logs.clone(),
            worktrees: worktrees.clone(),
            notifier: notifier.clone(),
        };
        let supervisor = supervisor(&vms, &ledger);
        let log_collector = log_collector_spec(&logs, &ledger, &active);
        let run_supervisor = run_supervisor();
        let worktree_gc = worktree_gc_spec(&ledger, worktrees);
        let preflight = preflight_spec(&ledger, &notifier);
        let (intake, poller) = event_specs(&ledger, &active, &preflight.reference(), &notifier);
        let targets = DispatchTargets {
            runs: run_supervisor.reference(),
            poller: poller.reference(),
            preflight: preflight.reference(),
            worktree_gc: worktree_gc.reference(),
        };
        let dispatcher = dispatcher_spec(move || {
            Dispatcher::new(runs.clone(), targets.clone(), stats.clone(), ages.clone())
        });
        let operator_api = operator_api_spec(OperatorApi {
            ledger: ledger.clone(),
            runs: active,
            config: config_writer,
            vm_hosts: vms.clone(),
            config_path: setup.config_path,
            environment: setup.environment,
            ticks: ticks_read.clone(),
            dispatcher: dispatcher.reference(),
            notifier: notifier.clone(),
            started_at,
        });
        Ok(Self {
            view: OrchestratorView {
                ledger,
                ended,
                ticks: ticks_read,
                logs,
                vm_hosts: vms,
            },
            store,
            intake: intake.reference(),
            dispatcher: dispatcher.reference(),
            ticks: notifier.ticks,
            operator_api: operator_api.reference(),
            poller: poller.reference(),
            supervisor: supervisor
                .child(outbox)
                .child(run_supervisor.into_child().shutdown(longest_stop))
                .child(log_collector)
                .child(worktree_gc)
                .child(preflight)
                .child(dispatcher)
                .child(intake)
                .child(poller)
                .child(operator_api),
        })
    }
}

/// New runs get ids above that of the newest one there is.
fn follow_newest_id(ledger: &Ledger) -> Result<(), SetupError> {
    let newest = ledger.read_blocking(|rows| ledger::newest_run(rows))?;
    newest.iter().for_each(|id| follow_id(id));
    Ok(())
}

/// The supervisor, with what looks after the hosts of VMs.
fn supervisor(hosts: &VmHosts, ledger: &Ledger) -> SupervisorSpec {
    let supervisor = SupervisorSpec::new("orchestrator");
    let watcher = VmHostWatcher::new(hosts.clone(), None);
    let collector = VmCollector {
        hosts: hosts.clone(),
        ledger: ledger.clone(),
    };
    supervisor
        .child(ChildSpec::new("vm-hosts", move |_| watcher.clone()))
        .child(ChildSpec::new("vm-collector", move |_| collector.clone()))
}

/// What the longest grace of an agent needs, and its last writes.
fn longest_stop(config: &Config) -> Duration {
    let graces = config.agents.values().map(|agent| agent.limits.grace);
    graces.max().unwrap_or_default() + Duration::from_secs(10)
}

fn outbox_spec(ledger: &Ledger, config: LiveConfig, clock: WallClock) -> ChildSpec<OutboxWorker> {
    let ledger = ledger.clone();
    ChildSpec::new("outbox", move |_| {
        let accounts = Arc::new(ConfiguredAccounts(config.clone()));
        let options = OutboxOptions {
            now: Arc::clone(&clock),
            listener: Some(Arc::new(journal_posts(&ledger))),
            ..OutboxOptions::new(accounts)
        };
        OutboxWorker::new(ledger.store().clone(), options)
    })
    .capacity(1024)
    .placement(ThreadPlacement::Own)
}

/// Journals what became of each post, as `orchctl` and the page show it.
fn journal_posts(ledger: &Ledger) -> impl Fn(&PostEvent) + Send + Sync + 'static + use<> {
    let ledger = ledger.clone();
    move |event| {
        let (name, about) = match event {
            PostEvent::Status {
                repo,
                sha,
                context,
                state,
            } => ("status.posted", format!("{state} {repo} {sha} {context}")),
            PostEvent::Comment { key, repo, .. } => ("forge.post.ok", format!("{repo} {key}")),
            PostEvent::Failed {
                subject,
                repo,
                reason,
                ..
            } => ("forge.post.failed", format!("{repo} {subject}: {reason}")),
        };
        let entry = RecordedEvent::plain(JournalEvent::Posted(name), about);
        let ledger = ledger.clone();
        actix_rt::spawn(async move {
            // A store that refuses: the log has the line all the same.
            let _ = ledger.write(move |txn| txn.journal(entry)).await;
        });
    }
}

fn dispatcher_spec(make: impl Fn() -> Dispatcher + Send + 'static) -> ChildSpec<Dispatcher> {
    ChildSpec::new("dispatcher", move |_| make())
        .capacity(64)
        .ask_timeout(Duration::from_secs(60))
}

fn run_supervisor() -> SupervisorSpec {
    SupervisorSpec::new("runs")
        .past_limit(PastLimit::Park)
        .max_dynamic(MAX_RUN_ACTORS)
}

fn log_collector_spec(
    logs: &RunLogs,
    ledger: &Ledger,
    runs: &ActiveRuns,
) -> ChildSpec<LogCollector> {
    let collector = LogCollector {
        logs: logs.clone(),
        ledger: ledger.clone(),
        runs: runs.clone(),
    };
    ChildSpec::new("log-collector", move |_| collector.clone()).capacity(4)
}

fn worktree_gc_spec(ledger: &Ledger, worktrees: WorktreeRoots) -> ChildSpec<WorktreeGc> {
    let ledger = ledger.clone();
    ChildSpec::new("worktree-gc", move |_| {
        WorktreeGc::new(ledger.clone(), worktrees.clone())
    })
    .capacity(4)
    .ask_timeout(Duration::from_secs(120))
}

fn preflight_spec(ledger: &Ledger, notifier: &ChangeNotifier) -> ChildSpec<Preflight> {
    let (ledger, notifier) = (ledger.clone(), notifier.clone());
    ChildSpec::new("preflight", move |_| {
        Preflight::new(ledger.clone(), notifier.clone())
    })
    .capacity(1024)
}

/// Intake and poller, which takes what it finds there.
fn event_specs(
    ledger: &Ledger,
    runs: &ActiveRuns,
    preflight: &ChildRef<Preflight>,
    notifier: &ChangeNotifier,
) -> (ChildSpec<Intake>, ChildSpec<Poller>) {
    let (token_logins, logins_read) = watch::channel(Arc::default());
    let intake = {
        let (ledger, runs) = (ledger.clone(), runs.clone());
        let (preflight, notifier) = (preflight.clone(), notifier.clone());
        ChildSpec::new("intake", move |_| {
            Intake::new(
                ledger.clone(),
                runs.clone(),
                preflight.clone(),
                notifier.clone(),
                logins_read.clone(),
            )
        })
    };
    let intake = intake
        .capacity(INTAKE_CAPACITY)
        .ask_timeout(INTAKE_TIMEOUT)
        .placement(ThreadPlacement::Own);
    let (ledger, intake_ref) = (ledger.clone(), intake.reference());
    let poller = ChildSpec::new("poller", move |_| {
        Poller::new(ledger.clone(), intake_ref.clone(), token_logins.clone())
    });
    (intake, poller.capacity(64).placement(ThreadPlacement::Own))
}

fn operator_api_spec(api: OperatorApi) -> ChildSpec<OperatorApi> {
    ChildSpec::new("operator-api", move |_| api.clone())
        .capacity(64)
        .ask_timeout(Duration::from_secs(30))
}
