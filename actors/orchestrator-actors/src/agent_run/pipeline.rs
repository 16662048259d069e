//! A run from `starting` to its end, on a thread of its own. Each stage is entered once:
//!
//! ```text
//! workspace ─▶ process ─▶ result ─▶ workspace settled ─▶ ledger (run, status, comment, outbox: one transaction)
//!      └───────────┴─── a shortage of the machine, a folder that was gone: queued again after a delay
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use forge_core::RunId;
use orchestrator_core::run::{ExitClass, Run};
use orchestrator_engine::exhaustion;
use store::StoreError;

use super::assignment::Assignment;
use super::log_throttle::LogThrottle;
use super::prepare_error::RunPrepareError;
use super::process::{AgentLaunch, StartedProcess};
use super::result;
use super::sandbox_view::sandbox;
use super::services::AgentRunServices;
use super::start_delay::next_delay;
use super::workspace::{Commits, Workspace};
use crate::ledger::{self, Ledger, LedgerTxn, RunEnd, RunStart};

/// Between two attempts to store an end while the disk refuses.
const STORE_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The longest that an end waits until its log is stored where every process can read it.
const LOG_WAIT: Duration = Duration::from_secs(10);
/// The same at the end of the daemon, which waits no longer for its runs than it says.
const LOG_WAIT_AT_STOP: Duration = Duration::from_secs(3);

/// How an attempt to run ended.
enum RunOutcome {
    /// The run has ended.
    Ended(RunEnd),
    /// Descriptors, threads, memory or disk ran out before its agent had begun, or a folder was
    /// gone for a moment: the error's text.
    Shortage(String),
}

/// Executes one run. Whatever happens, its end is stored once; only a store that is closed (the
/// daemon has gone) leaves that to the next start. The value is how long to wait before the run may
/// be started again, when the machine lacked something: it is queued again by then.
pub(super) fn execute(services: &AgentRunServices, request: &RunStart) -> Option<Duration> {
    let run = &request.run;
    let outcome = catch_unwind(AssertUnwindSafe(|| run_stages(services, request)));
    let outcome = outcome.unwrap_or_else(|panic| {
        let text = panic_text(panic.as_ref());
        tracing::error!(event = "run.panicked", run = %run.id, panic = %text, "the thread of a run panicked");
        let text = format!("the orchestrator failed: {text}");
        let mut end = ledger::start_failure(&text, services.ledger.now());
        // Nothing that the agent's configuration could be blamed for.
        end.report.class = ExitClass::Unknown;
        RunOutcome::Ended(end)
    });
    match outcome {
        RunOutcome::Ended(end) => {
            let at_most = match end.report.class {
                ExitClass::OrchestratorRestart => LOG_WAIT_AT_STOP,
                _ => LOG_WAIT,
            };
            services.logs.store_ended(&run.id, at_most);
            finish(services, run, &end);
            None
        }
        RunOutcome::Shortage(reason) => {
            let delay = queue_again(services, run, &reason);
            // The tick records why it waits.
            services.notifier.ticks.request();
            delay
        }
    }
}

fn run_stages(services: &AgentRunServices, request: &RunStart) -> RunOutcome {
    let (run, ledger) = (&request.run, &services.ledger);
    if let Some(cause) = services.runs.requested_stop(&run.id) {
        return RunOutcome::Ended(result::stopped_before_start(cause, ledger.now()));
    }
    let (workspace, process) = match prepare(services, request) {
        Ok(prepared) => prepared,
        Err(error) => return not_prepared(&error, ledger),
    };
    let nonce = process.nonce.clone();
    let stoppable = |stopper| services.runs.set_process(&run.id, stopper);
    let waited = process.run(&services.host.confinement, stoppable, |started| {
        store_running(ledger, run, started, &workspace)
    });
    let mut commits = Commits::None;
    let end = match waited {
        Ok((ended, made)) => {
            commits = made;
            let known = (nonce.as_str(), services.runs.start_delays(&run.id));
            result::of_process(&ledger.config(), run, &ended, known, ledger.now())
        }
        Err(error) => result::without_end(&error, ledger.now()),
    };
    match end {
        Ok(end) => {
            let (worktree, left_behind) = workspace.settle(&run.id, &commits);
            RunOutcome::Ended(RunEnd {
                worktree,
                report: result::with_commits_left(end.report, left_behind),
                ..end
            })
        }
        Err(shortage) => {
            workspace.discard();
            RunOutcome::Shortage(shortage)
        }
    }
}

/// The stages before the process, under one configuration.
fn prepare(
    services: &AgentRunServices,
    request: &RunStart,
) -> Result<(Workspace, AgentLaunch), RunPrepareError> {
    let config = services.ledger.config();
    let assignment = Assignment::find(&config, &request.run)?;
    let sandbox = sandbox(&services.host, assignment.agent)?;
    let (directory, log) = assignment.open_log()?;
    let workspace = Workspace::prepare(&services.worktrees, &assignment)?;
    let route = assignment.route(&services.ledger, &request.context);
    let process = assignment.process(
        (&services.host, sandbox),
        &workspace,
        (&directory, log),
        (&request.context, route),
    )?;
    Ok((workspace, process))
}

/// What a failed preparation means: a delay, or an end.
fn not_prepared(error: &RunPrepareError, ledger: &Ledger) -> RunOutcome {
    if exhaustion::of_text(error.text()) {
        return RunOutcome::Shortage(error.text().to_owned());
    }
    let mut end = ledger::start_failure(error.text(), ledger.now());
    if matches!(error, RunPrepareError::Network(_)) {
        end.report.class = ExitClass::NetworkError;
    }
    RunOutcome::Ended(end)
}

/// Stores that the process exists. `false` when it is to be ended again.
fn store_running(
    ledger: &Ledger,
    run: &Run,
    started: StartedProcess,
    workspace: &Workspace,
) -> bool {
    let (id, worktree) = (run.id.clone(), workspace.record());
    let mut entries = Vec::from_iter(workspace.created_entry(run));
    entries.extend(started.entries);
    let (place, provider) = (started.place, started.provider);
    let stored = ledger.write_blocking(move |txn| {
        let wanted = ledger::running(txn, &id, place, worktree, provider)?;
        for entry in entries {
            txn.journal(entry)?;
        }
        Ok(wanted)
    });
    // A store that refuses it: the run goes on, and its end will be stored.
    stored.unwrap_or(true)
}

/// Stores the end of a run, and makes room for others.
fn finish(services: &AgentRunServices, run: &Run, end: &RunEnd) {
    let class = end.report.class;
    let stored = until_stored(&services.ledger, run, |id| {
        let end = end.clone();
        move |txn| ledger::end(txn, &id, end).map(|_| ())
    });
    if stored.is_ok() {
        services.ended.count(run.agent.as_str(), class.as_str());
    }
    services.runs.forget(&run.id);
    services.notifier.notify();
}

/// Queues a run again whose start lacked something.
fn queue_again(services: &AgentRunServices, run: &Run, reason: &str) -> Option<Duration> {
    let delay = next_delay(&services.runs, run, reason);
    // What was made for it; the next attempt makes it anew.
    services.logs.discard(&run.id);
    let stored = until_stored(&services.ledger, run, |id| {
        move |txn| ledger::return_to_queue(txn, &id).map(|_| ())
    });
    stored.is_ok().then_some(delay)
}

/// All runs meet the same full disk.
static NOT_STORED: LogThrottle = LogThrottle::new();

/// A transaction about a run, repeated until it succeeds. The store's error is logged once, and
/// again after a pause.
fn until_stored<W>(ledger: &Ledger, run: &Run, work: impl Fn(RunId) -> W) -> Result<(), StoreError>
where
    W: FnOnce(&mut LedgerTxn<'_, '_>) -> Result<(), StoreError> + Send + 'static,
{
    loop {
        match ledger.write_blocking(work(run.id.clone())) {
            Ok(()) => return Ok(()),
            // The next leader records what became of it.
            Err(error) if error.is_final() => return Err(error),
            Err(error) => {
                if let Some(suppressed) = NOT_STORED.admit(&error.to_string(), Instant::now()) {
                    tracing::warn!(
                        event = "run.end_not_stored", run = %run.id, error = %error, suppressed,
                        "the end of a run cannot be written down yet"
                    );
                }
                std::thread::park_timeout(STORE_RETRY_DELAY);
            }
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
