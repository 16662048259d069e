//! The transitions of a run after it was accepted, one function each.

use forge_actors::outbox::{self, CommentAdmission, NewComment};
use forge_core::{Marker, RunId};
use orchestrator_core::Millis;
use orchestrator_core::config::OnRestart;
use orchestrator_core::run::{
    AgentRunState, ExitClass, ExitReport, ProcessIdentity, Reason, Run, RunContext, RunTrigger,
    Terminal, WorktreeRecord,
};
use orchestrator_core::verdict::Verdict;
use store::{JsonRow, ReadRows, StoreError};

use super::health::{count_usage, start_trial, uncount_run, update_health};
use super::ids::new_run_id;
use super::issue_comments::{answer_run, restart_note};
use super::rows::{At, CONTEXTS, ContextRow, Flag, RunVm, STARTED, VMS, WORKTREES};
use super::txn::LedgerTxn;
use crate::journal::{JournalEvent, RecordedEvent};

/// A run that was begun, with everything its actor needs.
#[derive(Debug, Clone)]
pub struct RunStart {
    /// The run, in state `starting`.
    pub run: Run,
    /// The context of its prompt.
    pub context: RunContext,
}

/// Where the process of a run is.
#[derive(Debug, Clone)]
pub enum RunPlace {
    /// On this machine.
    Process(ProcessIdentity),
    /// In a VM.
    Vm(RunVm),
}

impl RunVm {
    /// As a process of no machine: nothing here has that id.
    fn identity(&self) -> ProcessIdentity {
        ProcessIdentity {
            pid: 0,
            start_ticks: 0,
            boot_id: String::new(),
            isolation: Some(self.to_string()),
        }
    }
}

impl std::fmt::Display for RunVm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let level = self.isolation.as_deref().unwrap_or("vm");
        write!(f, "{level} ({} on {})", self.vm, self.host)
    }
}

/// The VM of an active run, if it has one.
///
/// # Errors
/// The store's.
pub fn run_vm(rows: &mut impl ReadRows, id: &RunId) -> Result<Option<RunVm>, StoreError> {
    let row = rows.get(&VMS, &id.to_string())?;
    Ok(row.and_then(|row| row.value()))
}

/// The end of a run, as its actor reports it.
#[derive(Debug, Clone)]
pub struct RunEnd {
    /// How.
    pub report: ExitReport,
    /// The agent's verdict on its commit.
    pub verdict: Option<Verdict>,
    /// Text to post on the issue.
    pub comment: Option<String>,
    /// The worktree after the run.
    pub worktree: Option<WorktreeRecord>,
}

/// A queued run is decided on. `None` when it is not queued any more: another transaction was
/// faster, and nothing is to be started.
///
/// # Errors
/// The store's.
pub fn start_run(txn: &mut LedgerTxn<'_, '_>, id: &RunId) -> Result<Option<RunStart>, StoreError> {
    let Some(mut run) = txn
        .run(id)?
        .filter(|run| run.state == AgentRunState::Queued)
    else {
        return Ok(None);
    };
    run.state = AgentRunState::Starting;
    txn.put(&run)?;
    let project = run.project.to_string();
    txn.rows.put(&STARTED, &project, &At(txn.now))?;
    count_usage(txn, &run, 1, 0)?;
    start_trial(txn, &run)?;
    let context = txn.rows.get(&CONTEXTS, &id.to_string())?;
    let context = context
        .map(|ContextRow(context)| context)
        .unwrap_or_default();
    Ok(Some(RunStart { run, context }))
}

/// The process of a run exists. `false` when the run was ended meanwhile: the process must be
/// ended, too.
///
/// # Errors
/// The store's.
pub fn running(
    txn: &mut LedgerTxn<'_, '_>,
    id: &RunId,
    place: RunPlace,
    worktree: Option<WorktreeRecord>,
    provider: Option<String>,
) -> Result<bool, StoreError> {
    let Some(mut run) = txn
        .run(id)?
        .filter(|run| run.state == AgentRunState::Starting)
    else {
        return Ok(false);
    };
    run.state = AgentRunState::Running;
    run.started_at = Some(txn.now);
    if worktree.is_some() {
        txn.rows.put(&WORKTREES, &id.to_string(), &Flag(()))?;
    }
    let mut spawned = RecordedEvent::new(&run, JournalEvent::Spawned { pid: 0 });
    run.process = Some(match place {
        RunPlace::Process(process) => {
            spawned.event = JournalEvent::Spawned { pid: process.pid };
            process
        }
        RunPlace::Vm(vm) => {
            spawned = spawned.about(vm.to_string());
            txn.rows.put(&VMS, &id.to_string(), &JsonRow::new(&vm))?;
            vm.identity()
        }
    });
    run.worktree = worktree;
    run.provider = provider;
    txn.put(&run)?;
    if run.provider.is_some() {
        start_trial(txn, &run)?;
    }
    txn.update_status(&run, None, false)?;
    txn.journal(spawned)?;
    Ok(run.ending.is_none())
}

/// Descriptors, threads, memory or disk ran out before a run could begin: it is queued again, as if
/// nothing had been tried. `false` when it was asked to end meanwhile, which it then has.
///
/// # Errors
/// The store's.
pub fn return_to_queue(txn: &mut LedgerTxn<'_, '_>, id: &RunId) -> Result<bool, StoreError> {
    let Some(mut run) = txn.run(id)?.filter(|run| run.state.is_active()) else {
        return Ok(false);
    };
    txn.rows.delete(&VMS, &id.to_string())?;
    uncount_run(txn, &run)?;
    // Gives a trial of its provider back.
    update_health(txn, &run, ExitClass::Cancelled)?;
    run.state = AgentRunState::Queued;
    run.started_at = None;
    run.process = None;
    run.worktree = None;
    run.provider = None;
    if let Some(reason) = run.ending.take() {
        end_early(txn, run, reason)?;
        return Ok(false);
    }
    txn.put(&run)?;
    txn.update_status(&run, None, false)?;
    Ok(true)
}

/// A run ended. `false` when its end was recorded before.
///
/// # Errors
/// The store's.
pub fn end(txn: &mut LedgerTxn<'_, '_>, id: &RunId, end: RunEnd) -> Result<bool, StoreError> {
    let Some(mut run) = txn.run(id)?.filter(|run| !run.state.is_terminal()) else {
        return Ok(false);
    };
    txn.rows.delete(&VMS, &id.to_string())?;
    let class = end.report.class;
    let wall_ms = end.report.wall_millis;
    let cut = matches!(end.report.terminal, Terminal::WallClock | Terminal::Stalled);
    let cost = end.report.cost_cents;
    run.state = match (run.ending, class) {
        (Some(_), ExitClass::Cancelled) => AgentRunState::Cancelled,
        _ => AgentRunState::Exited,
    };
    run.reason = match (run.state, class) {
        (AgentRunState::Cancelled, _) => run.ending,
        (_, ExitClass::OrchestratorRestart) => Some(Reason::OrchestratorRestart),
        _ if end.report.terminal == Terminal::NotStarted => Some(Reason::StartFailed),
        _ => None,
    };
    run.ended_at = Some(txn.now);
    run.worktree = end.worktree.or(run.worktree);
    run.exit = Some(end.report);
    txn.put(&run)?;
    let agent = txn.config.agent(&run.home, &run.agent);
    // For an agent that was removed meanwhile it is unknown whether its exit status counts.
    let needs_verdict = agent.is_none_or(|agent| agent.verdict_block);
    txn.update_status(&run, end.verdict.as_ref(), needs_verdict)?;
    let restarted = class == ExitClass::OrchestratorRestart;
    let note = restarted.then(|| restart_note(txn, &run)).flatten();
    if let Some(text) = end.comment.or(note) {
        post_comment(txn, &run, &text)?;
    }
    if cut {
        txn.journal(RecordedEvent::new(&run, JournalEvent::WallClockKilled).about(class.as_str()))?;
    }
    let why = run.reason.map(|reason| reason.to_string());
    let exited = RecordedEvent::new(&run, JournalEvent::Exited { class, wall_ms });
    txn.journal(exited.about(why.unwrap_or_default()))?;
    let per_run = agent.map_or(0, |agent| agent.budget.cents_per_run);
    count_usage(txn, &run, 0, cost.unwrap_or(per_run))?;
    update_health(txn, &run, class)?;
    requeue(txn, &run, class)?;
    Ok(true)
}

/// A run is active by the record, but its actor ended with a previous incarnation of the
/// orchestrator.
///
/// # Errors
/// The store's.
pub fn lost(txn: &mut LedgerTxn<'_, '_>, id: &RunId) -> Result<bool, StoreError> {
    let Some(run) = txn.run(id)?.filter(|run| run.state.is_active()) else {
        return Ok(false);
    };
    let report = ExitReport {
        class: ExitClass::OrchestratorRestart,
        terminal: Terminal::Restart,
        wall_millis: run.started_at.map_or(0, |at| txn.now.saturating_sub(at)),
        output_bytes: 0,
        cost_cents: None,
        detail: Some("the orchestrator ended while it ran".to_owned()),
        at: txn.now,
    };
    let over = RunEnd {
        report,
        verdict: None,
        comment: None,
        worktree: None,
    };
    end(txn, id, over)
}

/// The process could not be made: what to record.
pub fn start_failure(detail: &str, now: Millis) -> RunEnd {
    RunEnd {
        report: ExitReport {
            class: ExitClass::ConfigError,
            terminal: Terminal::NotStarted,
            wall_millis: 0,
            output_bytes: 0,
            cost_cents: None,
            detail: Some(forge_core::text::one_line(detail, 300)),
            at: now,
        },
        verdict: None,
        comment: None,
        worktree: None,
    }
}

/// A queued run is refused by today's configuration or budget.
///
/// # Errors
/// The store's.
pub fn reject(txn: &mut LedgerTxn<'_, '_>, id: &RunId, reason: Reason) -> Result<(), StoreError> {
    let Some(mut run) = txn
        .run(id)?
        .filter(|run| run.state == AgentRunState::Queued)
    else {
        return Ok(());
    };
    run.state = AgentRunState::Rejected;
    run.reason = Some(reason);
    run.ended_at = Some(txn.now);
    txn.put(&run)?;
    txn.update_status(&run, None, false)?;
    answer_run(txn, &run, reason)?;
    txn.journal(RecordedEvent::new(&run, JournalEvent::Rejected(reason)))
}

/// Stores the forge's answer about a waiting run: nothing prevents its start, or this reason does.
///
/// # Errors
/// The store's.
pub fn checked(
    txn: &mut LedgerTxn<'_, '_>,
    id: &RunId,
    against: Option<Reason>,
) -> Result<(), StoreError> {
    if let Some(reason) = against {
        return reject(txn, id, reason);
    }
    let Some(mut run) = txn
        .run(id)?
        .filter(|run| run.state == AgentRunState::Queued)
    else {
        return Ok(());
    };
    run.check_author = false;
    txn.put(&run)
}

/// Ends an open run early. `true` when it is active, and its process has to be ended.
pub(super) fn end_early(
    txn: &mut LedgerTxn<'_, '_>,
    mut run: Run,
    reason: Reason,
) -> Result<bool, StoreError> {
    if run.state.is_active() {
        run.ending.get_or_insert(reason);
        txn.put(&run)?;
        return Ok(true);
    }
    run.state = AgentRunState::Cancelled;
    run.reason = Some(reason);
    run.ended_at = Some(txn.now);
    txn.put(&run)?;
    txn.update_status(&run, None, false)?;
    txn.journal(RecordedEvent::new(&run, JournalEvent::Ended(reason)))?;
    Ok(false)
}

/// An operator cancels a run: the run as it was, and whether its process has to be ended. `None`:
/// there is no such run.
///
/// # Errors
/// The store's.
pub fn cancel(txn: &mut LedgerTxn<'_, '_>, id: &RunId) -> Result<Option<(Run, bool)>, StoreError> {
    let Some(run) = txn.run(id)? else {
        return Ok(None);
    };
    if run.state.is_terminal() {
        return Ok(Some((run, false)));
    }
    let kill = end_early(txn, run.clone(), Reason::CancelledByOperator)?;
    Ok(Some((run, kill)))
}

/// An operator repeats a run that has ended. `None`: there is no such run, or it has not ended.
///
/// # Errors
/// The store's.
pub fn retry(txn: &mut LedgerTxn<'_, '_>, id: &RunId) -> Result<Option<Run>, StoreError> {
    let Some(run) = txn.run(id)?.filter(|run| run.state.is_terminal()) else {
        return Ok(None);
    };
    repeat(txn, &run).map(Some)
}

fn requeue(txn: &mut LedgerTxn<'_, '_>, run: &Run, class: ExitClass) -> Result<(), StoreError> {
    let agent = txn.config.agent(&run.home, &run.agent);
    let wanted = agent.is_some_and(|agent| agent.on_restart == OnRestart::Requeue);
    if class != ExitClass::OrchestratorRestart || !wanted || run.ending.is_some() {
        return Ok(());
    }
    repeat(txn, run).map(|_| ())
}

/// Queues the same again, as a run of its own.
fn repeat(txn: &mut LedgerTxn<'_, '_>, run: &Run) -> Result<Run, StoreError> {
    let context = txn.rows.get(&CONTEXTS, &run.id.to_string())?;
    let again = run.repetition(new_run_id(), txn.now);
    add_run(txn, &again, context.map(|ContextRow(context)| context))?;
    Ok(again)
}

/// Queues a run that no event asked for: a schedule's, a repetition.
///
/// # Errors
/// The store's.
pub fn add_run(
    txn: &mut LedgerTxn<'_, '_>,
    run: &Run,
    context: Option<RunContext>,
) -> Result<(), StoreError> {
    txn.put(run)?;
    if let Some(context) = context {
        txn.put_context(run, context)?;
    }
    txn.start_status(run)?;
    txn.journal(RecordedEvent::new(run, JournalEvent::Queued).about(run.trigger.as_str()))
}

fn post_comment(txn: &mut LedgerTxn<'_, '_>, run: &Run, text: &str) -> Result<(), StoreError> {
    // At issue 0, which is the command line's usually, the outbox says that nothing can be posted.
    let is_asked = matches!(run.trigger, RunTrigger::Mention | RunTrigger::Cli);
    let issue = run.issue().filter(|_| is_asked);
    let Some(issue) = issue.filter(|_| txn.config.forge.is_some()) else {
        return Ok(());
    };
    let marker = Marker {
        run: run.id.clone(),
        depth: run.depth,
    };
    let comment = NewComment {
        key: format!("run:{}", run.id),
        account: txn.account(run),
        repo: run.repository.clone(),
        issue,
        body: marker.attach(text),
    };
    if outbox::comment(txn.rows, &comment, txn.now)? == CommentAdmission::NoIssue {
        let about = format!("{}#{issue}", run.repository);
        txn.journal(RecordedEvent::new(run, JournalEvent::NoIssueToPostAt).about(about))?;
    }
    Ok(())
}

/// A status is pending, but its run has ended or is gone: it gets its terminal state.
///
/// # Errors
/// The store's.
pub fn close_status(txn: &mut LedgerTxn<'_, '_>, id: &RunId) -> Result<(), StoreError> {
    match txn.run(id)? {
        Some(run) if run.state.is_terminal() => txn.update_status(&run, None, false),
        Some(_) => Ok(()),
        None => txn.abandon_status(id),
    }
}
