//! A run from `starting` to its end, on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use forge_actors::messages::Wake;
use forge_core::RunId;
use orchestrator_core::run::{
    ExitClass, ExitReport, ProcessIdentity, Run, Terminal, WorktreeRecord,
};
use orchestrator_engine::exhaustion;
use orchestrator_engine::process::{EndCause, ProcessMark, RunningAgent, StopCause};
use orchestrator_engine::worktree::Worktree;
use store::StoreError;

use super::Peers;
use super::end::{end_of, why_not_run};
use super::log_pause::LogPause;
use super::prepare::{Failure, Prepared, prepare};
use crate::journal::Entry;
use crate::ledger::{self, Book, EndOfRun, Started};
use crate::messages::Reconcile;
use crate::shared::Shared;

/// Between two attempts to write an end down while the disk refuses.
const STORE_PAUSE: Duration = Duration::from_millis(500);

/// What became of a run.
enum Outcome {
    /// It has ended.
    Ended(EndOfRun),
    /// Descriptors, threads, memory or disk ran out before its agent had begun: this is what was said.
    PutOff(String),
}

/// Carries out one run. Whatever happens, its end is written down once; only a store that is closed (the
/// daemon has gone) leaves that to the next start. The value is how long to wait before it may be started again, when it
/// could not begin for lack of something: it is queued again by then.
pub(super) fn work(shared: &Shared, order: &Started, peers: &Peers) -> Option<Duration> {
    let run = &order.run;
    let outcome = catch_unwind(AssertUnwindSafe(|| carry_out(shared, order)));
    let outcome = outcome.unwrap_or_else(|panic| {
        let text = panic_text(panic.as_ref());
        tracing::error!(event = "run.panicked", run = %run.id, panic = %text, "a keeper panicked");
        let mut end =
            ledger::spawned_nothing(&format!("the orchestrator failed: {text}"), shared.now());
        // Nothing that the agent's configuration could be blamed for.
        end.report.class = ExitClass::Unknown;
        Outcome::Ended(end)
    });
    let end = match outcome {
        Outcome::Ended(end) => end,
        Outcome::PutOff(reason) => {
            let pause = put_off(shared, run, &reason);
            // The tick sees why it waits.
            let _ = peers.dispatcher.tell(Reconcile);
            return pause;
        }
    };
    let class = end.report.class;
    if record(shared, run, &end).is_ok() {
        shared.count_end(run.agent.as_str(), class.as_str());
    }
    shared.release(&run.id);
    // Wake-ups only: the next tick finds everything in the store.
    let _ = peers.poster.tell(Wake);
    let _ = peers.dispatcher.tell(Reconcile);
    None
}

/// Queues a run again whose start lacked something.
pub(super) fn put_off(shared: &Shared, run: &Run, reason: &str) -> Option<Duration> {
    let pause = shared.put_off(&run.id);
    tracing::warn!(
        event = "run.start_paused", run = %run.id, agent = %run.agent, reason,
        pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
        "a run could not be started for lack of descriptors, threads, memory or disk; it is tried again"
    );
    // What was made for it; the next start makes it anew.
    let _ = std::fs::remove_dir_all(shared.log_folder(run.id.as_str()));
    let written = until_stored(shared, run, |id| {
        move |book| ledger::put_back(book, &id).map(|_| ())
    });
    written.is_ok().then_some(pause)
}

fn carry_out(shared: &Shared, order: &Started) -> Outcome {
    let run = &order.run;
    if let Some(cause) = shared.is_stopped(&run.id) {
        return Outcome::Ended(stopped_early(shared, cause));
    }
    let prepared = match prepare(shared, run, &order.context) {
        Ok(prepared) => prepared,
        Err(failure) => return not_started(shared, &failure),
    };
    let Prepared {
        process,
        log,
        tree,
        record,
        provider,
        entries,
        nonce,
    } = prepared;
    let level = process.sandbox.level();
    let started = RunningAgent::start(process, shared.confinement(), log);
    let agent = match started {
        Ok(agent) => agent,
        Err(error) if error.is_exhaustion() => {
            discard(shared, run, tree.as_ref());
            return Outcome::PutOff(error.to_string());
        }
        Err(error) => {
            let end = ledger::spawned_nothing(&error.to_string(), shared.now());
            return Outcome::Ended(with_tree(shared, run, end, tree.as_ref(), record));
        }
    };
    shared.has_process(&run.id, agent.stopper());
    let identity = identity(agent.mark(), level);
    let begun = (identity, record.clone(), provider);
    if !tell_running(shared, run, begun, entries) {
        agent.stopper().stop(StopCause::Cancelled);
    }
    let ended = agent.run();
    let config = shared.config();
    let spec = config.agent(&run.home, &run.agent);
    let end = if ended.not_run && ended.cause == EndCause::Exited {
        let why = why_not_run(shared, run);
        if exhaustion::of_text(&why) {
            discard(shared, run, tree.as_ref());
            return Outcome::PutOff(why);
        }
        ledger::spawned_nothing(&why, shared.now())
    } else {
        end_of(shared, run, spec, &ended, &nonce)
    };
    Outcome::Ended(with_tree(shared, run, end, tree.as_ref(), record))
}

/// What a start that failed means: a pause, or an end.
fn not_started(shared: &Shared, failure: &Failure) -> Outcome {
    if exhaustion::of_text(failure.text()) {
        return Outcome::PutOff(failure.text().to_owned());
    }
    let mut end = ledger::spawned_nothing(failure.text(), shared.now());
    if matches!(failure, Failure::Network(_)) {
        end.report.class = ExitClass::NetworkError;
    }
    Outcome::Ended(end)
}

/// Takes back the worktree of a run that did not begin.
fn discard(shared: &Shared, run: &Run, tree: Option<&Worktree>) {
    let config = shared.config();
    let project = config.projects.get(&run.project);
    let Some((tree, project)) = tree.zip(project) else {
        return;
    };
    let removed = shared
        .worktrees(&project.worktree_root)
        .and_then(|all| all.remove(tree).map_err(|error| error.to_string()));
    if let Err(error) = removed {
        tracing::warn!(
            event = "worktree.not_removed", path = %tree.folder.display(), error = %error,
            "the worktree of a run that did not begin stays"
        );
    }
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

fn identity(mark: &ProcessMark, level: &str) -> ProcessIdentity {
    ProcessIdentity {
        pid: mark.pid.unsigned_abs(),
        start_ticks: mark.started,
        boot_id: mark.boot.clone(),
        isolation: Some(level.to_owned()),
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
    until_stored(shared, run, |id| {
        let over = end.clone();
        move |book| ledger::end(book, &id, over).map(|_| ())
    })
}

/// A transaction about a run, as often as it takes. What the store says is logged once, and again after a pause.
fn until_stored<W>(shared: &Shared, run: &Run, work: impl Fn(RunId) -> W) -> Result<(), StoreError>
where
    W: FnOnce(&mut Book<'_, '_>) -> Result<(), StoreError> + Send + 'static,
{
    loop {
        match shared.write_blocking(work(run.id.clone())) {
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
