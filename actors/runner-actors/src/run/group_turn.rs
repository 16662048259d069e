//! A run's turn in its concurrency group. One that has to wait for it is no run under way: its
//! actor ends, and it is started again when it has its turn.

use std::sync::Arc;

use futures_util::FutureExt;
use runner_core::plan::ConcurrencyGroup;
use runner_core::state::RunState;
use tokio::sync::watch;

use super::services::RunServices;
use super::signals::cancellation;
use crate::groups::{GroupRejection, GroupTicket};
use crate::ledger::RunLedger;
use crate::log::LineKind;

/// The run's turn in its concurrency group, where it has one; `None`: the run waits for it, or has
/// ended.
pub(super) async fn acquire_group(
    services: &RunServices,
    ledger: &mut RunLedger,
    group: Option<&ConcurrencyGroup>,
    cancel: &watch::Sender<Option<String>>,
) -> Option<Option<GroupTicket>> {
    let Some(group) = group else {
        return Some(None);
    };
    let mut cancelled = cancel.subscribe();
    let sender = cancel.clone();
    let (parked, queue) = (services.parked.clone(), services.queue.clone());
    let run = ledger.record.id.clone();
    let end = Arc::new(move |why: String| {
        sender.send_replace(Some(why));
        parked.wake(&run, &queue);
    });
    let (id, repository) = (&ledger.record.id, &ledger.record.repository);
    let reason = tokio::select! {
        () = services.arrivals.turn(id, repository) => {
            let mut turn = Box::pin(services.groups.acquire(repository, group, end));
            services.arrivals.remove(id);
            match turn.as_mut().now_or_never() {
                Some(Ok(ticket)) => return Some(Some(ticket)),
                Some(Err(reason)) => reason.to_string(),
                None => {
                    wait(services, ledger, group, turn, cancel).await;
                    return None;
                }
            }
        }
        reason = cancellation(&mut cancelled) => reason,
    };
    ledger.end(RunState::Cancelled, Some(reason)).await;
    None
}

/// Notes that the run waits for its turn.
async fn wait(
    services: &RunServices,
    ledger: &mut RunLedger,
    group: &ConcurrencyGroup,
    turn: impl Future<Output = Result<GroupTicket, GroupRejection>> + 'static,
    cancel: &watch::Sender<Option<String>>,
) {
    let (run, queue) = (ledger.record.id.clone(), services.queue.clone());
    services
        .parked
        .put_waiting(&run, turn, cancel.clone(), queue);
    let text = format!(
        "waits for its turn: another of the concurrency group {} runs",
        config_core::quoted(&group.name)
    );
    tracing::info!(event = "run.waiting", run, reason = text, "a run waits");
    ledger.log_line(LineKind::Info, &text).await;
    ledger.record.reason = Some(text);
    ledger.record.holds_group = true;
    ledger.become_state(RunState::Waiting);
    ledger.save(Vec::new()).await;
}
