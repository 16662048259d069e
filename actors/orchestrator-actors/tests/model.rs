//! F13: random sequences of accept, tick, crash, exit, cancel, close and supersede, against a model
//! of a few lines.
//!
//! The real store (in memory), the real transactions and the real reconciliation; no actors, no
//! processes. The model knows only what was acknowledged and what it has started itself.

use std::collections::{BTreeMap, BTreeSet};

use config_core::{Environment, UnknownKeys};
use forge_actors::deliveries::{Deliveries, DeliveryRetention};
use forge_actors::outbox::{self, EntryState};
use forge_core::{CommitState, ForgeEvent, ObjectFormats, RunId, WebhookHeaders};
use orchestrator_actors::ledger::{
    self, EventSource, LedgerTxn, OpenRunCache, RunEnd, TickContext,
};
use orchestrator_core::Millis;
use orchestrator_core::action::ReconcileAction;
use orchestrator_core::config::{AnyHost, Config, ConfigFile, ConfigFiles, check};
use orchestrator_core::run::{
    AgentRunState, ExitClass, ExitReport, ProcessIdentity, Reason, Run, Terminal,
};
use proptest::prelude::*;
use serde_json::json;
use store::{Store, StoreError, StoreOptions};

const CONFIG: &str = r#"
[webhook]
secret = "0123456789abcdef"
[forge]
kind = "gitea"
url = "http://127.0.0.1:3000"
token = "t"
[mentions]
max_dispatches_per_tick = 2
max_concurrent_mention_agents = 3
[pr_dispatch]
project = "main"
agents = [{ agent = "alpha", context = "orch/alpha" }, { agent = "beta", context = "orch/beta" }]
max_concurrent = 3
[[projects]]
id = "main"
repository = "acme/main"
working_dir = "/srv/main"
[[agents]]
project = "main"
name = "alpha"
cli = "sh"
script = "true"
max_parallel = 2
[[agents]]
project = "main"
name = "beta"
cli = "sh"
script = "true"
max_parallel = 2
on_restart = "requeue"
"#;

/// What happens from outside.
#[derive(Debug, Clone)]
enum Step {
    Comment(u8),
    Pull {
        number: u8,
        head: u8,
        reopened: bool,
    },
    Close(u8),
    Tick,
    /// The started run of that index gets its process.
    Spawn(u8),
    /// The process of that index ends.
    Exit {
        index: u8,
        code: i32,
    },
    Cancel(u8),
    Retry(u8),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..6_u8).prop_map(Step::Comment),
        4 => (0..3_u8, 0..4_u8, any::<bool>()).prop_map(|(number, head, reopened)| Step::Pull { number, head, reopened }),
        1 => (0..3_u8).prop_map(Step::Close),
        4 => Just(Step::Tick),
        4 => any::<u8>().prop_map(Step::Spawn),
        4 => (any::<u8>(), 0..2_i32).prop_map(|(index, code)| Step::Exit { index, code }),
        2 => any::<u8>().prop_map(Step::Cancel),
        1 => any::<u8>().prop_map(Step::Retry),
        1 => Just(Step::Crash),
    ]
}

fn config() -> Config {
    let files = ConfigFiles {
        folder: "/etc/orch".into(),
        main: ConfigFile::new("orchestrator.toml", CONFIG),
        ..ConfigFiles::default()
    };
    let checked = check(
        &files,
        &Environment::default(),
        &AnyHost,
        UnknownKeys::Refuse,
    );
    checked.unwrap_or_else(|wrong| panic!("{wrong}")).config
}

struct World {
    store: Store,
    deliveries: Deliveries,
    config: Config,
    now: Millis,
    /// Runs with an actor in this incarnation.
    active: BTreeSet<RunId>,
    /// Processes that exist, in this incarnation.
    processes: BTreeSet<RunId>,
    /// How often each run was started, over all incarnations.
    started: BTreeMap<RunId, u32>,
    /// Every run that was acknowledged.
    acknowledged: BTreeSet<RunId>,
    /// What this incarnation has read; a tick that uses it must see what is stored.
    open_runs: OpenRunCache,
}

fn open(store: &Store) -> Deliveries {
    Deliveries::open(store, DeliveryRetention::default()).expect("memory does not fail")
}

impl World {
    fn new() -> Self {
        let store = Store::in_memory(&StoreOptions::new("model")).expect("a store");
        Self {
            deliveries: open(&store),
            store,
            config: config(),
            now: 1_795_255_200_000,
            active: BTreeSet::new(),
            processes: BTreeSet::new(),
            started: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            open_runs: OpenRunCache::default(),
        }
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut LedgerTxn<'_, '_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        let (config, now) = (self.config.clone(), self.now);
        let done = self
            .store
            .write_blocking(move |rows| work(&mut LedgerTxn::new(rows, &config, now)));
        done.expect("memory does not fail")
    }

    fn admit(&mut self, body: &serde_json::Value) {
        let headers = WebhookHeaders::collect([]);
        let bytes = serde_json::to_vec(body).expect("JSON");
        let event = ForgeEvent::parse(&headers, &bytes, ObjectFormats::Sha1).expect("an event");
        let (config, now) = (self.config.clone(), self.now);
        let deliveries = self.deliveries.clone();
        let admitted = self.store.write_blocking(move |rows| {
            ledger::admit(
                &mut LedgerTxn::new(rows, &config, now),
                &deliveries,
                &EventSource::Found {
                    event: &event,
                    asked_at: now,
                },
                &BTreeSet::new(),
            )
        });
        let admitted = admitted.expect("memory does not fail");
        for dispatch in admitted.reply.dispatches {
            self.acknowledged
                .insert(dispatch.run.parse().expect("a run id"));
        }
        self.kill(admitted.kill);
    }

    /// Processes are ended: in the model at once.
    fn kill(&mut self, runs: Vec<RunId>) {
        for run in runs {
            if self.active.contains(&run) {
                self.end(&run, Terminal::Cancelled, ExitClass::Cancelled);
            }
        }
    }

    fn end(&mut self, run: &RunId, terminal: Terminal, class: ExitClass) {
        let (id, at) = (run.clone(), self.now);
        let report = ExitReport {
            class,
            terminal,
            wall_millis: 5,
            output_bytes: 1,
            cost_cents: None,
            detail: None,
            at,
        };
        let over = RunEnd {
            report,
            verdict: None,
            comment: None,
            worktree: None,
        };
        self.write(move |txn| ledger::end(txn, &id, over));
        self.active.remove(run);
        self.processes.remove(run);
    }

    fn tick(&mut self) {
        let tick = TickContext {
            number: 1,
            active: self.active.clone(),
        };
        let (config, now) = (self.config.clone(), self.now);
        let actions = self
            .store
            .read_blocking(|rows| {
                ledger::decide_tick(rows, &mut self.open_runs, &config, &tick, now)
            })
            .expect("memory does not fail");
        for action in actions {
            match action {
                ReconcileAction::Start { run } => self.start(&run),
                ReconcileAction::Lost { run } => {
                    let id = run.clone();
                    self.write(move |txn| ledger::lost(txn, &id));
                }
                ReconcileAction::Reject { run, reason } => {
                    self.write(move |txn| ledger::reject(txn, &run, reason));
                }
                // The forge says yes to most.
                ReconcileAction::CheckAuthor { run } => {
                    let may_write = !run.as_str().ends_with('0');
                    let against = (!may_write).then_some(Reason::NotAllowed);
                    self.write(move |txn| ledger::checked(txn, &run, against));
                }
                ReconcileAction::Kill { run, .. } => self.kill(vec![run]),
                ReconcileAction::CloseStatus { run, .. } => {
                    self.write(move |txn| ledger::close_status(txn, &run));
                }
                _ => {}
            }
        }
    }

    fn start(&mut self, run: &RunId) {
        let id = run.clone();
        if self.write(move |txn| ledger::start_run(txn, &id)).is_some() {
            self.active.insert(run.clone());
            *self.started.entry(run.clone()).or_default() += 1;
        }
    }

    fn spawn(&mut self, run: &RunId) {
        let id = run.clone();
        let process = ProcessIdentity {
            pid: 7,
            start_ticks: 1,
            boot_id: "b".into(),
            isolation: None,
        };
        let wanted = self.write(move |txn| {
            ledger::running(txn, &id, ledger::RunPlace::Process(process), None, None)
        });
        self.processes.insert(run.clone());
        if !wanted {
            self.end(run, Terminal::Cancelled, ExitClass::Cancelled);
        }
    }

    fn run(&self, id: &RunId) -> Run {
        let found = self
            .store
            .read_blocking(|rows| ledger::run_record(rows, id));
        let found: Option<Run> = found.expect("memory does not fail");
        found.unwrap_or_else(|| panic!("run {id} was acknowledged and is lost"))
    }

    fn open(&self) -> Vec<Run> {
        self.store
            .read_blocking(|rows| ledger::open_runs(rows))
            .expect("memory does not fail")
    }

    fn nth(set: &BTreeSet<RunId>, index: u8) -> Option<RunId> {
        set.iter()
            .nth(usize::from(index) % set.len().max(1))
            .cloned()
    }

    fn apply(&mut self, step: &Step) {
        self.now += 1000;
        match step {
            Step::Comment(id) => self.admit(&json!({
                "action": "created",
                "comment": {"id": u32::from(*id) + 1, "body": "@orch:alpha @orch:beta", "user": {"login": "alice"}},
                "issue": {"number": 7, "state": "open"},
                "repository": {"full_name": "acme/main"},
            })),
            Step::Pull { number, head, reopened } => {
                let action = if *reopened { "reopened" } else { "synchronized" };
                self.admit(&pull(action, *number, *head));
            }
            Step::Close(number) => self.admit(&pull("closed", *number, 0)),
            Step::Tick => self.tick(),
            Step::Spawn(index) => {
                let waiting = self.active.difference(&self.processes).cloned().collect();
                if let Some(run) = Self::nth(&waiting, *index) {
                    self.spawn(&run);
                }
            }
            Step::Exit { index, code } => {
                if let Some(run) = Self::nth(&self.processes.clone(), *index) {
                    let class = if *code == 0 { ExitClass::Success } else { ExitClass::TestFailure };
                    self.end(&run, Terminal::Code(*code), class);
                }
            }
            Step::Cancel(index) => {
                if let Some(run) = Self::nth(&self.acknowledged.clone(), *index) {
                    let id = run.clone();
                    let (_, kill) = self.write(move |txn| ledger::cancel(txn, &id)).expect("it exists");
                    if kill {
                        self.kill(vec![run]);
                    }
                }
            }
            Step::Retry(index) => {
                let again = Self::nth(&self.acknowledged.clone(), *index)
                    .and_then(|run| self.write(move |txn| ledger::retry(txn, &run)));
                self.acknowledged.extend(again.map(|again| again.id));
            }
            // Memory is gone, and processes with it; the store stays.
            Step::Crash => {
                self.active.clear();
                self.processes.clear();
                self.open_runs = OpenRunCache::default();
                self.deliveries = open(&self.store);
            }
        }
    }

    /// What holds after every step.
    fn check(&self) {
        for (run, times) in &self.started {
            assert_eq!(*times, 1, "run {run} was started {times} times");
        }
        for run in &self.acknowledged {
            let run = self.run(run);
            assert_eq!(run.ended_at.is_some(), run.state.is_terminal(), "{run:?}");
            assert!(
                run.state != AgentRunState::Rejected || run.reason.is_some(),
                "{run:?}"
            );
        }
        let active: Vec<Run> = self
            .open()
            .into_iter()
            .filter(|run| run.state.is_active())
            .collect();
        let of = |agent: &str| {
            active
                .iter()
                .filter(|run| run.agent.as_str() == agent)
                .count()
        };
        assert!(
            of("alpha") <= 2 && of("beta") <= 2,
            "max_parallel: {active:?}"
        );
        let mentions = active.iter().filter(|run| run.trigger.is_mention()).count();
        assert!(mentions <= 3, "max_concurrent_mention_agents");
    }

    /// Nothing more comes in: everything ends, and no status stays pending.
    fn settle(&mut self) {
        for _ in 0..400 {
            self.now += 1000;
            self.tick();
            let waiting: Vec<RunId> = self.active.difference(&self.processes).cloned().collect();
            waiting.iter().for_each(|run| self.spawn(run));
            for run in self.processes.clone() {
                self.end(&run, Terminal::Code(0), ExitClass::Success);
            }
            if self.open().is_empty() {
                break;
            }
        }
        assert_eq!(self.open(), [], "something never ends");
        self.tick();
        let entries = self.store.read_blocking(|rows| outbox::list(rows, 10_000));
        for entry in entries.expect("memory does not fail") {
            if let Some(status) = entry.says {
                assert_ne!(
                    status.state,
                    CommitState::Pending,
                    "{}: {status:?}",
                    entry.subject
                );
                assert_eq!(entry.state, EntryState::Waiting);
            }
        }
    }
}

fn pull(action: &str, number: u8, head: u8) -> serde_json::Value {
    let sha = format!("{:040x}", u32::from(number) * 16 + u32::from(head) + 1);
    let state = if action == "closed" { "closed" } else { "open" };
    json!({
        "action": action, "number": number + 1,
        "pull_request": {
            "title": "t", "state": state, "user": {"login": "alice"},
            "head": {"ref": "topic", "sha": sha, "repo": {"full_name": "acme/main"}}, "base": {"ref": "main"},
        },
        "repository": {"full_name": "acme/main"},
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn f13_no_sequence_of_events_loses_doubles_or_leaves_hanging(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            world.apply(step);
            world.check();
        }
        world.settle();
        world.check();
    }
}
