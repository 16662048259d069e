//! The life of a run after it was accepted; each function is one transition.

use forge_actors::outbox::{self, NewComment};
use forge_core::{Marker, RunId};
use orchestrator_core::Millis;
use orchestrator_core::config::OnRestart;
use orchestrator_core::run::{
    ExitClass, ExitReport, ProcessIdentity, Reason, Run, RunContext, RunState, Subject, Terminal,
    Trigger, WorktreeRecord,
};
use orchestrator_core::verdict::Verdict;
use store::{ReadRows, StoreError};

use super::admit::new_run_id;
use super::answer::{answer_run, restart_note};
use super::book::Book;
use super::health::{count_usage, judge_health, start_trial, uncount_run};
use super::rows::{At, CONTEXTS, ContextRow, Flag, STARTED, WORKTREES};
use crate::journal::{Entry, Happened};

/// A run that was begun, with everything its keeper needs.
#[derive(Debug, Clone)]
pub struct Started {
    /// The run, in state `starting`.
    pub run: Run,
    /// What its agent is told.
    pub context: RunContext,
}

/// What a run's keeper says about its end.
#[derive(Debug, Clone)]
pub struct EndOfRun {
    /// How.
    pub report: ExitReport,
    /// What the agent said about its commit.
    pub verdict: Option<Verdict>,
    /// Text to post on the issue.
    pub comment: Option<String>,
    /// The worktree after the run.
    pub worktree: Option<WorktreeRecord>,
}

/// A queued run is decided on. `None` when it is not queued any more: somebody was faster, and nothing is to
/// be started.
///
/// # Errors
/// The store's.
pub fn begin(book: &mut Book<'_, '_>, id: &RunId) -> Result<Option<Started>, StoreError> {
    let Some(mut run) = book.run(id)?.filter(|run| run.state == RunState::Queued) else {
        return Ok(None);
    };
    run.state = RunState::Starting;
    book.put(&run)?;
    let project = run.project.to_string();
    book.rows.put(&STARTED, &project, &At(book.now))?;
    count_usage(book, &run, 1, 0)?;
    start_trial(book, &run)?;
    let context = book.rows.get(&CONTEXTS, &id.to_string())?;
    let context = context
        .map(|ContextRow(context)| context)
        .unwrap_or_default();
    Ok(Some(Started { run, context }))
}

/// The process of a run exists. `false` when the run was ended meanwhile: the process must be ended, too.
///
/// # Errors
/// The store's.
pub fn running(
    book: &mut Book<'_, '_>,
    id: &RunId,
    process: ProcessIdentity,
    worktree: Option<WorktreeRecord>,
    provider: Option<String>,
) -> Result<bool, StoreError> {
    let Some(mut run) = book.run(id)?.filter(|run| run.state == RunState::Starting) else {
        return Ok(false);
    };
    run.state = RunState::Running;
    run.started_at = Some(book.now);
    if worktree.is_some() {
        book.rows.put(&WORKTREES, &id.to_string(), &Flag(()))?;
    }
    let pid = process.pid;
    run.process = Some(process);
    run.worktree = worktree;
    run.provider = provider;
    book.put(&run)?;
    if run.provider.is_some() {
        start_trial(book, &run)?;
    }
    book.update_status(&run, None, false)?;
    book.tell(Entry::of(&run, Happened::Spawned { pid }))?;
    Ok(run.ending.is_none())
}

/// Descriptors, threads, memory or disk ran out before a run could begin: it is queued again, as if nothing had been
/// tried. `false` when it was asked to end meanwhile, which it then has.
///
/// # Errors
/// The store's.
pub fn put_back(book: &mut Book<'_, '_>, id: &RunId) -> Result<bool, StoreError> {
    let Some(mut run) = book.run(id)?.filter(|run| run.state.is_active()) else {
        return Ok(false);
    };
    uncount_run(book, &run)?;
    // Gives a trial of its provider back.
    judge_health(book, &run, ExitClass::Cancelled)?;
    run.state = RunState::Queued;
    run.started_at = None;
    run.process = None;
    run.worktree = None;
    run.provider = None;
    if let Some(reason) = run.ending.take() {
        end_early(book, run, reason)?;
        return Ok(false);
    }
    book.put(&run)?;
    book.update_status(&run, None, false)?;
    Ok(true)
}

/// A run ended. `false` when its end was recorded before.
///
/// # Errors
/// The store's.
pub fn end(book: &mut Book<'_, '_>, id: &RunId, end: EndOfRun) -> Result<bool, StoreError> {
    let Some(mut run) = book.run(id)?.filter(|run| !run.state.is_terminal()) else {
        return Ok(false);
    };
    let class = end.report.class;
    let wall_ms = end.report.wall_millis;
    let cut = matches!(end.report.terminal, Terminal::WallClock | Terminal::Stalled);
    let cost = end.report.cost_cents;
    run.state = match (run.ending, class) {
        (Some(_), ExitClass::Cancelled) => RunState::Cancelled,
        _ => RunState::Exited,
    };
    run.reason = match (run.state, class) {
        (RunState::Cancelled, _) => run.ending,
        (_, ExitClass::OrchestratorRestart) => Some(Reason::OrchestratorRestart),
        _ if end.report.terminal == Terminal::NotStarted => Some(Reason::StartFailed),
        _ => None,
    };
    run.ended_at = Some(book.now);
    run.worktree = end.worktree.or(run.worktree);
    run.exit = Some(end.report);
    book.put(&run)?;
    let agent = book.config.agent(&run.home, &run.agent);
    // Of an agent that was taken out meanwhile nobody can say what its exit status was worth.
    let needs_verdict = agent.is_none_or(|agent| agent.verdict_block);
    book.update_status(&run, end.verdict.as_ref(), needs_verdict)?;
    let restarted = class == ExitClass::OrchestratorRestart;
    let note = restarted.then(|| restart_note(book, &run)).flatten();
    if let Some(text) = end.comment.or(note) {
        post_comment(book, &run, &text)?;
    }
    if cut {
        book.tell(Entry::of(&run, Happened::WallClockKilled).about(class.as_str()))?;
    }
    let why = run.reason.map(|reason| reason.to_string());
    let exited = Entry::of(&run, Happened::Exited { class, wall_ms });
    book.tell(exited.about(why.unwrap_or_default()))?;
    let per_run = agent.map_or(0, |agent| agent.budget.cents_per_run);
    count_usage(book, &run, 0, cost.unwrap_or(per_run))?;
    judge_health(book, &run, class)?;
    requeue(book, &run, class)?;
    Ok(true)
}

/// A run is active by the record, but its keeper is gone with a former life of the orchestrator.
///
/// # Errors
/// The store's.
pub fn lost(book: &mut Book<'_, '_>, id: &RunId) -> Result<bool, StoreError> {
    let Some(run) = book.run(id)?.filter(|run| run.state.is_active()) else {
        return Ok(false);
    };
    let report = ExitReport {
        class: ExitClass::OrchestratorRestart,
        terminal: Terminal::Restart,
        wall_millis: run.started_at.map_or(0, |at| book.now.saturating_sub(at)),
        output_bytes: 0,
        cost_cents: None,
        detail: Some("the orchestrator ended while it ran".to_owned()),
        at: book.now,
    };
    let over = EndOfRun {
        report,
        verdict: None,
        comment: None,
        worktree: None,
    };
    end(book, id, over)
}

/// The process could not be made: what to record.
pub fn spawned_nothing(detail: &str, now: Millis) -> EndOfRun {
    EndOfRun {
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
pub fn reject(book: &mut Book<'_, '_>, id: &RunId, reason: Reason) -> Result<(), StoreError> {
    let Some(mut run) = book.run(id)?.filter(|run| run.state == RunState::Queued) else {
        return Ok(());
    };
    run.state = RunState::Rejected;
    run.reason = Some(reason);
    run.ended_at = Some(book.now);
    book.put(&run)?;
    book.update_status(&run, None, false)?;
    answer_run(book, &run, reason)?;
    book.tell(Entry::of(&run, Happened::Rejected(reason)))
}

/// The forge has said what a waiting run depends on: nothing stands against it, or this reason.
///
/// # Errors
/// The store's.
pub fn checked(
    book: &mut Book<'_, '_>,
    id: &RunId,
    against: Option<Reason>,
) -> Result<(), StoreError> {
    if let Some(reason) = against {
        return reject(book, id, reason);
    }
    let Some(mut run) = book.run(id)?.filter(|run| run.state == RunState::Queued) else {
        return Ok(());
    };
    run.check_author = false;
    book.put(&run)
}

/// Ends an open run early. `true` when it is active, and its process has to be ended.
pub(super) fn end_early(
    book: &mut Book<'_, '_>,
    mut run: Run,
    reason: Reason,
) -> Result<bool, StoreError> {
    if run.state.is_active() {
        run.ending.get_or_insert(reason);
        book.put(&run)?;
        return Ok(true);
    }
    run.state = RunState::Cancelled;
    run.reason = Some(reason);
    run.ended_at = Some(book.now);
    book.put(&run)?;
    book.update_status(&run, None, false)?;
    book.tell(Entry::of(&run, Happened::Ended(reason)))?;
    Ok(false)
}

/// An operator cancels a run: the run as it was, and whether its process has to be ended. `None`: there is
/// no such run.
///
/// # Errors
/// The store's.
pub fn cancel(book: &mut Book<'_, '_>, id: &RunId) -> Result<Option<(Run, bool)>, StoreError> {
    let Some(run) = book.run(id)? else {
        return Ok(None);
    };
    if run.state.is_terminal() {
        return Ok(Some((run, false)));
    }
    let kill = end_early(book, run.clone(), Reason::CancelledByOperator)?;
    Ok(Some((run, kill)))
}

/// An operator repeats a run that has ended. `None`: there is no such run, or it has not ended.
///
/// # Errors
/// The store's.
pub fn retry(book: &mut Book<'_, '_>, id: &RunId) -> Result<Option<Run>, StoreError> {
    let Some(run) = book.run(id)?.filter(|run| run.state.is_terminal()) else {
        return Ok(None);
    };
    repeat(book, &run).map(Some)
}

fn requeue(book: &mut Book<'_, '_>, run: &Run, class: ExitClass) -> Result<(), StoreError> {
    let agent = book.config.agent(&run.home, &run.agent);
    let wanted = agent.is_some_and(|agent| agent.on_restart == OnRestart::Requeue);
    if class != ExitClass::OrchestratorRestart || !wanted || run.ending.is_some() {
        return Ok(());
    }
    repeat(book, run).map(|_| ())
}

/// Queues the same again, as a run of its own.
fn repeat(book: &mut Book<'_, '_>, run: &Run) -> Result<Run, StoreError> {
    let context = book.rows.get(&CONTEXTS, &run.id.to_string())?;
    let again = Run {
        id: new_run_id(),
        state: RunState::Queued,
        hold: None,
        reason: None,
        ending: None,
        queued_at: book.now,
        started_at: None,
        ended_at: None,
        process: None,
        worktree: None,
        exit: None,
        provider: None,
        // Whoever repeats a check has decided that the commit is to be checked.
        check_author: run.check_author && !matches!(run.subject, Subject::PullRequest { .. }),
        ..run.clone()
    };
    add_run(book, &again, context.map(|ContextRow(context)| context))?;
    Ok(again)
}

/// Queues a run that no event asked for: a schedule's, a repetition.
///
/// # Errors
/// The store's.
pub fn add_run(
    book: &mut Book<'_, '_>,
    run: &Run,
    context: Option<RunContext>,
) -> Result<(), StoreError> {
    book.put(run)?;
    if let Some(context) = context {
        book.put_context(run, context)?;
    }
    book.begin_status(run)?;
    book.tell(Entry::of(run, Happened::Queued).about(run.trigger.as_str()))
}

fn post_comment(book: &mut Book<'_, '_>, run: &Run, text: &str) -> Result<(), StoreError> {
    let issue = run.issue().filter(|_| run.trigger == Trigger::Mention);
    let Some(issue) = issue.filter(|_| book.config.forge.is_some()) else {
        return Ok(());
    };
    let marker = Marker {
        run: run.id.clone(),
        depth: run.depth,
    };
    let comment = NewComment {
        key: format!("run:{}", run.id),
        account: book.account(run),
        repo: run.repository.clone(),
        issue,
        body: marker.attach(text),
    };
    outbox::comment(book.rows, &comment, book.now).map(|_| ())
}

/// A status is pending, but its run has ended or is gone: it gets its terminal state.
///
/// # Errors
/// The store's.
pub fn close_status(book: &mut Book<'_, '_>, id: &RunId) -> Result<(), StoreError> {
    match book.run(id)? {
        Some(run) if run.state.is_terminal() => book.update_status(&run, None, false),
        Some(_) => Ok(()),
        None => book.abandon_status(id),
    }
}
