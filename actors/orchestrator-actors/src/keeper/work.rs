//! A run from `starting` to its end, on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use forge_actors::messages::Wake;
use orchestrator_core::run::{
    ExitClass, ExitReport, ProcessIdentity, Run, Terminal, WorktreeRecord,
};
use orchestrator_engine::process::{ProcessMark, RunningAgent, StopCause};
use orchestrator_engine::worktree::Worktree;
use store::StoreError;

use super::Peers;
use super::end::end_of;
use super::log_pause::LogPause;
use super::prepare::{Prepared, prepare};
use crate::journal::Entry;
use crate::ledger::{self, EndOfRun, Started};
use crate::messages::Reconcile;
use crate::shared::Shared;

/// Between two attempts to write an end down while the disk refuses.
const STORE_PAUSE: Duration = Duration::from_millis(500);

/// Carries out one run. Whatever happens, its end is written down once; only a store that is closed (the
/// daemon has gone) leaves that to the next start.
pub(super) fn work(shared: &Shared, order: &Started, peers: &Peers) {
    let run = &order.run;
    let end = catch_unwind(AssertUnwindSafe(|| carry_out(shared, order)));
    let end = end.unwrap_or_else(|panic| {
        let text = panic_text(panic.as_ref());
        tracing::error!(event = "run.panicked", run = %run.id, panic = %text, "a keeper panicked");
        ledger::spawned_nothing(&format!("the orchestrator failed: {text}"), shared.now())
    });
    let class = end.report.class;
    if record(shared, run, &end).is_ok() {
        shared.count_end(run.agent.as_str(), class.as_str());
    }
    shared.release(&run.id);
    // Wake-ups only: the next tick finds everything in the store.
    let _ = peers.poster.tell(Wake);
    let _ = peers.dispatcher.tell(Reconcile);
}

fn carry_out(shared: &Shared, order: &Started) -> EndOfRun {
    let run = &order.run;
    if let Some(cause) = shared.is_stopped(&run.id) {
        return stopped_early(shared, cause);
    }
    let prepared = match prepare(shared, run, &order.context) {
        Ok(prepared) => prepared,
        Err(reason) => return ledger::spawned_nothing(&reason, shared.now()),
    };
    let Prepared {
        process,
        log,
        tree,
        record,
        provider,
        entries,
    } = prepared;
    let started = RunningAgent::start(process, shared.confinement(), log);
    let agent = match started {
        Ok(agent) => agent,
        Err(error) => {
            let end = ledger::spawned_nothing(&error.to_string(), shared.now());
            return with_tree(shared, run, end, tree.as_ref(), record);
        }
    };
    shared.has_process(&run.id, agent.stopper());
    let identity = identity(agent.mark());
    let begun = (identity, record.clone(), provider);
    if !tell_running(shared, run, begun, entries) {
        agent.stopper().stop(StopCause::Cancelled);
    }
    let ended = agent.run();
    let config = shared.config();
    let spec = config.agent(&run.home, &run.agent);
    let end = end_of(shared, run, spec, &ended, None);
    with_tree(shared, run, end, tree.as_ref(), record)
}

/// The process, the worktree, and the provider that the task was routed to.
type Begun = (ProcessIdentity, Option<WorktreeRecord>, Option<String>);

/// Writes down that the process exists. `false` when it is to be ended again.
fn tell_running(
    shared: &Shared,
    run: &Run,
    (identity, record, provider): Begun,
    entries: Vec<Entry>,
) -> bool {
    let id = run.id.clone();
    let told = shared.write_blocking(move |book| {
        let wanted = ledger::running(book, &id, identity, record, provider)?;
        for entry in entries {
            book.note(entry)?;
        }
        Ok(wanted)
    });
    // A store that cannot take it: the run goes on, and its end will be written down.
    told.unwrap_or(true)
}

fn identity(mark: &ProcessMark) -> ProcessIdentity {
    ProcessIdentity {
        pid: mark.pid.unsigned_abs(),
        start_ticks: mark.started,
        boot_id: mark.boot.clone(),
        cgroup: None,
    }
}

/// After the run no commit of it is without a branch.
fn with_tree(
    shared: &Shared,
    run: &Run,
    end: EndOfRun,
    tree: Option<&Worktree>,
    record: Option<WorktreeRecord>,
) -> EndOfRun {
    let Some((tree, mut record)) = tree.zip(record) else {
        return end;
    };
    let config = shared.config();
    let root = config
        .projects
        .get(&run.project)
        .map(|project| project.worktree_root.clone());
    let settled = root.map(|root| shared.worktrees(&root));
    if let Some(Ok(worktrees)) = settled {
        match worktrees.settle(tree) {
            Ok(settled) => {
                if let Ok(branch) = settled.branch.parse() {
                    record.branch = branch;
                }
            }
            Err(error) => tracing::warn!(
                event = "worktree.not_settled", run = %run.id, error = %error,
                "the commits of a run could not be looked after; its worktree stays"
            ),
        }
    }
    EndOfRun {
        worktree: Some(record),
        ..end
    }
}

fn stopped_early(shared: &Shared, cause: StopCause) -> EndOfRun {
    let (class, terminal) = match cause {
        StopCause::Shutdown => (ExitClass::OrchestratorRestart, Terminal::Restart),
        StopCause::Cancelled | StopCause::Superseded => (ExitClass::Cancelled, Terminal::Cancelled),
    };
    EndOfRun {
        report: ExitReport {
            class,
            terminal,
            wall_millis: 0,
            output_bytes: 0,
            cost_cents: None,
            detail: Some("ended before its process was started".to_owned()),
            at: shared.now(),
        },
        verdict: None,
        comment: None,
        worktree: None,
    }
}

/// All runs meet the same full disk.
static NOT_STORED: LogPause = LogPause::new();

/// Writes the end down, as often as it takes.
fn record(shared: &Shared, run: &Run, end: &EndOfRun) -> Result<(), StoreError> {
    loop {
        let (id, over) = (run.id.clone(), end.clone());
        let written = shared.write_blocking(move |book| ledger::end(book, &id, over).map(|_| ()));
        match written {
            Ok(()) => return Ok(()),
            Err(StoreError::Closed) => return Err(StoreError::Closed),
            Err(error) => {
                if let Some(suppressed) = NOT_STORED.admit(&error.to_string(), Instant::now()) {
                    tracing::warn!(
                        event = "run.end_not_stored", run = %run.id, error = %error, suppressed,
                        "the end of a run cannot be written down yet"
                    );
                }
                std::thread::park_timeout(STORE_PAUSE);
            }
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
