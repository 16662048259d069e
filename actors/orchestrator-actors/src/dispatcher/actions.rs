//! Carries out the actions of a tick.

use std::time::Duration;

use forge_actors::messages::VerifyStatuses;
use forge_core::RunId;
use orchestrator_core::Millis;
use orchestrator_core::action::ReconcileAction;
use orchestrator_core::intake::{AgentKey, IntakeContext, scheduled};
use orchestrator_core::reconcile::ScheduleMark;
use orchestrator_core::run::Reason;
use orchestrator_engine::process::StopCause;
use store::StoreError;
use supervision::{ChildRef, StartChildError, Supervisor};

use crate::agent_run::{AgentRun, AgentRunServices, delay_start};
use crate::ledger::{self, LedgerTxn, RunStart};
use crate::messages::{CheckBeforeStart, PollProject};
use crate::poller::Poller;
use crate::preflight::Preflight;
use crate::worktree_gc::WorktreeGc;

/// Most runs begun by one transaction: fewer waits for the disk, and no more that a crash at that
/// moment cuts off.
const MAX_STARTS_PER_TXN: usize = 16;
/// The longest that the outbox compares the statuses of a commit.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(60);

/// To whom the dispatcher gives work.
#[derive(Clone)]
pub(crate) struct DispatchTargets {
    /// The supervisor of the runs.
    pub(crate) runs: ChildRef<Supervisor>,
    /// Asks the forge what was missed.
    pub(crate) poller: ChildRef<Poller>,
    /// Asks the forge before a run starts.
    pub(crate) preflight: ChildRef<Preflight>,
    /// Removes worktrees.
    pub(crate) worktree_gc: ChildRef<WorktreeGc>,
}

/// Carries out the actions of a tick.
pub(super) async fn carry_out(
    runs: &AgentRunServices,
    targets: &DispatchTargets,
    actions: Vec<ReconcileAction>,
) {
    let (mut rows, mut starts) = (Vec::new(), Vec::new());
    for action in actions {
        match action {
            ReconcileAction::Start { run } => starts.push(run),
            ReconcileAction::Reject { run, reason } => rows.push(RowAction::Reject { run, reason }),
            ReconcileAction::Lost { run } => rows.push(RowAction::Lost { run }),
            ReconcileAction::MarkSchedule { agent, mark } => {
                rows.push(RowAction::MarkSchedule { agent, mark });
            }
            ReconcileAction::Schedule {
                project,
                agent,
                due,
            } => rows.push(RowAction::Schedule {
                agent: (project, agent),
                due,
            }),
            ReconcileAction::CloseStatus { run, .. } => rows.push(RowAction::CloseStatus { run }),
            // The cache of open runs has it, where the operator API reads it.
            ReconcileAction::Hold { .. } => {}
            ReconcileAction::Kill { run, .. } => {
                runs.runs.stop(&run, StopCause::Cancelled);
            }
            ReconcileAction::CheckAuthor { run } => {
                // One that is being checked already is not checked twice.
                let _ = targets.preflight.tell(CheckBeforeStart(run));
            }
            ReconcileAction::Poll { project } => {
                let _ = targets.poller.tell(PollProject(project));
            }
            ReconcileAction::VerifyStatuses { repository, sha } => {
                let verify = VerifyStatuses {
                    repo: repository,
                    sha,
                };
                // The outbox compares and repairs; nothing here waits for it.
                let outbox = runs.notifier.outbox.clone();
                actix_rt::spawn(async move {
                    let _ = outbox.ask_within(verify, VERIFY_TIMEOUT).await;
                });
            }
        }
    }
    for chunk in starts.chunks(MAX_STARTS_PER_TXN) {
        start(runs, targets, chunk.to_vec()).await;
    }
    if rows.is_empty() {
        return;
    }
    let queues_runs = rows
        .iter()
        .any(|row| matches!(row, RowAction::Schedule { .. }));
    if let Err(error) = runs.ledger.write(move |txn| store_rows(txn, rows)).await {
        tracing::warn!(event = "tick.failed", error = %error, "decisions of a tick could not be stored");
    }
    runs.notifier.notify_outbox();
    if queues_runs {
        runs.notifier.ticks.request();
    }
}

/// An action that changes rows only.
enum RowAction {
    Reject { run: RunId, reason: Reason },
    Lost { run: RunId },
    MarkSchedule { agent: AgentKey, mark: ScheduleMark },
    Schedule { agent: AgentKey, due: Millis },
    CloseStatus { run: RunId },
}

fn store_rows(txn: &mut LedgerTxn<'_, '_>, rows: Vec<RowAction>) -> Result<(), StoreError> {
    for row in rows {
        match row {
            RowAction::Reject { run, reason } => ledger::reject(txn, &run, reason)?,
            RowAction::Lost { run } => {
                ledger::lost(txn, &run)?;
            }
            RowAction::MarkSchedule { agent, mark } => ledger::mark_schedule(txn, &agent, mark)?,
            RowAction::Schedule { agent, due } => queue_scheduled(txn, &agent, due)?,
            RowAction::CloseStatus { run } => ledger::close_status(txn, &run)?,
        }
    }
    Ok(())
}

fn queue_scheduled(
    txn: &mut LedgerTxn<'_, '_>,
    key: &AgentKey,
    due: Millis,
) -> Result<(), StoreError> {
    let config = txn.config();
    let found = config.agents.get(key).zip(config.projects.get(&key.0));
    let Some((agent, project)) = found else {
        return Ok(());
    };
    let (quarantined, own) = (
        std::collections::BTreeSet::new(),
        std::collections::BTreeSet::new(),
    );
    let context = IntakeContext {
        config,
        own_logins: &own,
        now: txn.time(),
        quarantined: &quarantined,
        usage: &|_| orchestrator_core::health::AgentUsage::default(),
        recent: &|_, _| 0,
        queued: 0,
        new_id: &ledger::new_run_id,
    };
    let new = scheduled(agent, project, due, &context);
    ledger::add_run(txn, &new.run, Some(new.context))
}

/// Begins runs, and gives each an actor. The order matters: the row says `starting` before anything
/// exists, so that no crash can start it twice.
async fn start(runs: &AgentRunServices, targets: &DispatchTargets, ids: Vec<RunId>) {
    for run in &ids {
        runs.runs.insert(run);
    }
    let begin = ids.clone();
    let begun = runs.ledger.write(move |txn| {
        let begun = begin.iter().map(|id| ledger::start_run(txn, id));
        begun.collect::<Result<Vec<_>, _>>()
    });
    let requests = match begun.await {
        Ok(requests) => requests,
        Err(error) => {
            tracing::warn!(event = "tick.failed", error = %error, "runs could not be begun");
            vec![None; ids.len()]
        }
    };
    for (run, request) in ids.into_iter().zip(requests) {
        match request {
            Some(request) => spawn_run(runs, targets, request).await,
            None => runs.runs.end_delay(&run),
        }
    }
}

async fn spawn_run(runs: &AgentRunServices, targets: &DispatchTargets, request: RunStart) {
    let run = request.run.clone();
    let spec = AgentRun::spec(runs.clone(), request);
    let Err(refused) = targets.runs.start_child(spec).await else {
        return;
    };
    // Without an answer of the supervisor it is unknown whether the actor exists; then the run
    // stays as it is.
    let is_known = matches!(refused, StartChildError::Refused(_));
    tracing::error!(event = "run.not_kept", run = %run.id, error = %refused, "a run has no actor");
    if is_known {
        // No capacity now, which says nothing about the agent: it is tried again.
        delay_start(runs, run, &refused.to_string());
    }
}
