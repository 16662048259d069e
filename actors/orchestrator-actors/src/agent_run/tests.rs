//! The pipeline of a run without an actor system: the ledger is real, the neighbours are handles
//! that the test reads.

use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Waker};

use cluster_actors::vm_hosts::{CordonTable, VmHosts};
use config_core::Environment;
use forge_actors::{Accounts, OutboxOptions, OutboxWorker};
use forge_core::{ForgeEvent, ObjectFormats, RunId, WebhookHeaders};
use git_engine::Git;
use http_clients::forge::ForgeClient;
use http_clients::http::HttpClient;
use orchestrator_core::config::Config;
use orchestrator_core::run::{AgentRunState, ExitClass, Reason, Run, Terminal};
use orchestrator_engine::process::{Confinement, Sandbox, StopCause};
use store::{Store, StoreOptions};
use supervision::ChildSpec;

use super::pipeline::execute;
use super::{AgentRunServices, delay_start};
use crate::active_runs::{ActiveRuns, EndCounters};
use crate::change_notifier::ChangeNotifier;
use crate::host::{AgentHost, WorktreeRoots};
use crate::ledger::{self, EventSource, Ledger, RunStart};
use crate::live_config::{ConfigWriter, LiveConfig};
use crate::run_logs::RunLogs;
use crate::test_config::test_config;
use crate::ticks::TickTrigger;

struct NoAccounts;

impl Accounts for NoAccounts {
    fn client(&self, _: &HttpClient, _: &str) -> Option<ForgeClient> {
        None
    }
}

struct World {
    services: AgentRunServices,
    config: ConfigWriter,
    folder: tempfile::TempDir,
}

const AGENTS: &str = "[[agents]]\nproject = \"main\"\nname = \"broken\"\ncli = \"command\"\n\
    command = [\"/nonexistent/program\"]\nworktree = \"none\"\n\
    [[agents]]\nproject = \"main\"\nname = \"plain\"\ncli = \"sh\"\nscript = \"true\"\nworktree = \"none\"\n\
    [[agents]]\nproject = \"main\"\nname = \"lost\"\ncli = \"sh\"\nscript = \"true\"\nworktree = \"base\"\n";

fn config(folder: &Path, agents: &str) -> Config {
    test_config(folder, "[mentions]", agents)
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let store = Store::in_memory(&StoreOptions::new("agent-run")).expect("a store");
        let now = 1_795_255_200_000;
        let (live, writer) = LiveConfig::new(config(folder.path(), AGENTS), Vec::new(), now);
        let ledger = Ledger::open(store.clone(), live, Arc::new(move || now)).expect("a ledger");
        let hosts = VmHosts::open(&[], &store, CordonTable::new("cordons"));
        // Never started: what is told to it is refused, as while it restarts.
        let outbox = ChildSpec::new("outbox", move |_| {
            OutboxWorker::new(store.clone(), OutboxOptions::new(Arc::new(NoAccounts)))
        });
        let logs = RunLogs::open(&config(folder.path(), AGENTS), ledger.store());
        let services = AgentRunServices {
            ledger,
            logs: logs.expect("a folder"),
            runs: ActiveRuns::default(),
            ended: EndCounters::default(),
            host: AgentHost::detect(
                (
                    Environment::from_os(std::env::vars_os()),
                    folder.path().join("orchestrator.toml"),
                ),
                Confinement::Scan,
                hosts.expect("a store"),
            ),
            worktrees: WorktreeRoots::new(
                Git::new("git", crate::host::DEFAULT_PATH),
                &folder.path().join("data"),
            ),
            notifier: ChangeNotifier {
                ticks: TickTrigger::default(),
                outbox: outbox.reference(),
            },
        };
        Self {
            services,
            config: writer,
            folder,
        }
    }

    /// A run of `agent` that was started_run, as the dispatcher hands it over.
    fn started_run(&self, agent: &str) -> RunStart {
        let body = serde_json::json!({
            "action": "created", "orchctl": true,
            "comment": {"id": 1, "body": format!("@orch:{agent}"), "user": {"login": "ada"}},
            "issue": {"number": 7, "state": "open"}, "repository": {"full_name": "acme/main"},
        });
        let bytes = serde_json::to_vec(&body).expect("JSON");
        let headers = WebhookHeaders::collect([]);
        let event = ForgeEvent::parse(&headers, &bytes, ObjectFormats::Sha1).expect("an event");
        let deliveries = self.services.ledger.deliveries().clone();
        let started_run = self.services.ledger.write_blocking(move |txn| {
            let source = EventSource::Found {
                event: &event,
                asked_at: txn.time(),
            };
            let admitted = ledger::admit(txn, &deliveries, &source, &Default::default())?;
            let id: RunId = admitted.reply.dispatches[0].run.parse().expect("a run id");
            ledger::start_run(txn, &id)
        });
        let request = started_run
            .expect("memory does not fail")
            .expect("it is queued");
        self.services.runs.insert(&request.run.id);
        request
    }

    fn run(&self, id: &RunId) -> Run {
        let ledger = &self.services.ledger;
        let run = ledger.read_blocking(|rows| ledger::run_record(rows, id));
        run.expect("memory does not fail").expect("it is stored")
    }

    fn is_tick_requested(&self) -> bool {
        let requested = self.services.notifier.ticks.requested();
        let mut context = Context::from_waker(Waker::noop());
        std::pin::pin!(requested).poll(&mut context).is_ready()
    }
}

#[test]
fn a_program_that_cannot_be_started_ends_its_run_and_makes_room() {
    let world = World::new();
    let request = world.started_run("broken");
    assert_eq!(execute(&world.services, &request), None);
    let run = world.run(&request.run.id);
    let exit = run.exit.expect("it has ended");
    assert_eq!(
        (run.state, run.reason, exit.class, exit.terminal),
        (
            AgentRunState::Exited,
            Some(Reason::StartFailed),
            ExitClass::ConfigError,
            Terminal::NotStarted
        )
    );
    assert!(world.services.runs.ids().is_empty());
    assert!(world.is_tick_requested());
    let counted = world.services.ended.snapshot();
    assert_eq!(
        counted.get(&("broken".to_owned(), ExitClass::ConfigError.as_str())),
        Some(&1)
    );
}

#[test]
fn a_run_that_is_stopped_before_its_process_exists_starts_none() {
    let world = World::new();
    let request = world.started_run("broken");
    assert!(
        world
            .services
            .runs
            .stop(&request.run.id, StopCause::Shutdown)
    );
    assert_eq!(execute(&world.services, &request), None);
    let exit = world.run(&request.run.id).exit.expect("it has ended");
    assert_eq!(exit.class, ExitClass::OrchestratorRestart);
    assert!(
        !world.folder.path().join("data/runs").exists(),
        "no log was opened"
    );
}

#[test]
fn an_agent_that_was_taken_out_meanwhile_is_not_started() {
    let world = World::new();
    let request = world.started_run("broken");
    let without = AGENTS.split_inclusive("worktree = \"none\"\n").nth(2);
    let without = config(world.folder.path(), without.expect("the other agent"));
    world.config.replace(without, &Default::default(), 0);
    assert_eq!(execute(&world.services, &request), None);
    let exit = world.run(&request.run.id).exit.expect("it has ended");
    let detail = exit.detail.expect("why");
    assert!(
        detail.contains("not in the configuration any more"),
        "{detail}"
    );
}

#[test]
fn a_worktree_without_a_repository_fails_the_start_and_leaves_nothing_active() {
    let world = World::new();
    let request = world.started_run("lost");
    assert_eq!(execute(&world.services, &request), None);
    let run = world.run(&request.run.id);
    assert_eq!(run.reason, Some(Reason::StartFailed), "{run:?}");
    assert!(run.worktree.is_none());
    assert!(world.services.runs.ids().is_empty());
}

#[test]
fn a_start_that_lacks_something_is_queued_again_and_active_until_its_delay_is_over() {
    actix_rt::System::new().block_on(async {
        let world = World::new();
        let request = world.started_run("broken");
        let id = request.run.id.clone();
        delay_start(&world.services, request.run, "no thread");
        world.services.notifier.ticks.requested().await;
        assert_eq!(world.run(&id).state, AgentRunState::Queued);
        assert!(world.services.runs.ids().contains(&id), "no tick starts it");
        world.services.notifier.ticks.requested().await;
        assert!(world.services.runs.ids().is_empty(), "now one may");
        assert_eq!(world.services.runs.start_delays(&id), 1);
    });
}

/// A sandbox program that answers as bubblewrap does when a folder goes while it is mounted.
fn sandbox_without_a_folder(folder: &Path) -> Sandbox {
    let script = "#!/bin/sh\nwhile [ \"$1\" != --json-status-fd ]; do shift; done\n\
        echo \"{\\\"child-pid\\\": $$}\" > /proc/self/fd/$2\n\
        echo \"bwrap: Can't remount readonly on /newroot/worktrees: No such file or directory\" >&2\n\
        exit 1\n";
    let path = folder.join("bwrap");
    std::fs::write(&path, script).expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("a program");
    Sandbox::Bubblewrap(path)
}

#[test]
fn i14_a_folder_that_goes_while_a_sandbox_is_made_is_tried_again_and_not_for_ever() {
    let mut world = World::new();
    std::fs::create_dir(world.folder.path().join("repo")).expect("a folder");
    world.services.host.sandbox = sandbox_without_a_folder(world.folder.path());
    let mut request = world.started_run("plain");
    let id = request.run.id.clone();
    for attempt in 1..=2 {
        assert!(execute(&world.services, &request).is_some(), "{attempt}");
        assert_eq!(world.run(&id).state, AgentRunState::Queued, "{attempt}");
        let begun = world.services.ledger.write_blocking({
            let id = id.clone();
            move |txn| ledger::start_run(txn, &id)
        });
        request = begun.expect("memory does not fail").expect("it is queued");
    }
    assert_eq!(execute(&world.services, &request), None);
    let exit = world.run(&id).exit.expect("it has ended");
    assert_eq!(exit.class, ExitClass::ConfigError);
    let detail = exit.detail.expect("why");
    assert!(detail.contains("worktrees: No such file"), "{detail}");
}
