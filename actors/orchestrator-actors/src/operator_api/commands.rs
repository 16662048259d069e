//! What an operator changes: a run is cancelled or repeated, a project paused.

use actix::{Context, Handler};
use orchestrator_core::admin::{CancelReply, ProjectView, RetryReply};
use orchestrator_engine::process::StopCause;

use super::{OperatorApi, Reply, no_run};
use crate::ledger;
use crate::messages::{CancelAgentRun, OperatorError, PauseProject, RetryRun};

impl Handler<CancelAgentRun> for OperatorApi {
    type Result = Reply<CancelReply>;

    fn handle(
        &mut self,
        CancelAgentRun(id): CancelAgentRun,
        _: &mut Context<Self>,
    ) -> Self::Result {
        let api = self.clone();
        let wanted = id.clone();
        Box::pin(async move {
            let cancelled = api
                .ledger
                .write(move |txn| ledger::cancel(txn, &wanted))
                .await?;
            let (before, kill) = cancelled.ok_or_else(|| no_run(&id))?;
            if kill {
                api.runs.stop(&id, StopCause::Cancelled);
            }
            api.notifier.notify_outbox();
            let ended = before.state.is_terminal();
            Ok(CancelReply {
                run: id.to_string(),
                state: match (ended, kill) {
                    (false, false) => "cancelled".to_owned(),
                    _ => before.state.to_string(),
                },
                cancelled: !ended,
            })
        })
    }
}

impl Handler<RetryRun> for OperatorApi {
    type Result = Reply<RetryReply>;

    fn handle(&mut self, RetryRun(id): RetryRun, _: &mut Context<Self>) -> Self::Result {
        let api = self.clone();
        let wanted = id.clone();
        Box::pin(async move {
            let found = api.ledger.write(move |txn| {
                let known = txn.has_run(&wanted)?;
                Ok((known, ledger::retry(txn, &wanted)?))
            });
            let run = match found.await? {
                (false, _) => return Err(no_run(&id)),
                (true, None) => {
                    return Err(OperatorError::Conflict(format!(
                        "run {id} has not ended; cancel it first"
                    )));
                }
                (true, Some(run)) => run,
            };
            api.notifier.notify();
            Ok(RetryReply {
                of: id.to_string(),
                run: run.id.to_string(),
            })
        })
    }
}

impl Handler<PauseProject> for OperatorApi {
    type Result = Reply<ProjectView>;

    fn handle(&mut self, request: PauseProject, _: &mut Context<Self>) -> Self::Result {
        let api = self.clone();
        Box::pin(async move {
            let config = api.ledger.config();
            let none =
                || OperatorError::NotFound(format!("there is no project {}", request.project));
            let id = request.project.parse().map_err(|_| none())?;
            if !config.projects.contains_key(&id) {
                return Err(none());
            }
            let (key, paused) = (id.clone(), request.paused);
            api.ledger
                .write(move |txn| ledger::set_paused(txn, &key, paused))
                .await?;
            api.notifier.ticks.request();
            let views = api
                .ledger
                .read(move |rows| ledger::projects(rows, &config))
                .await?;
            let wanted = id.to_string();
            views
                .into_iter()
                .find(|view| view.id == wanted)
                .ok_or_else(none)
        })
    }
}
