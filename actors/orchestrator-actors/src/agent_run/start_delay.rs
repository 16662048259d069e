//! Delays of a start for lack of descriptors, threads, memory or disk, or of a folder for a moment.

use std::time::Duration;

use orchestrator_core::run::Run;

use super::services::AgentRunServices;
use crate::active_runs::ActiveRuns;
use crate::ledger;

/// How long a start is delayed now; logs it.
pub(super) fn next_delay(runs: &ActiveRuns, run: &Run, reason: &str) -> Duration {
    let delay = runs.delay_start(&run.id);
    tracing::warn!(
        event = "run.start_paused", run = %run.id, agent = %run.agent, reason,
        pause_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
        "a run could not be started: the machine lacked something or a folder was gone; it is tried again"
    );
    delay
}

/// Queues a run again that got neither thread nor actor, and lets it start after a delay.
pub(crate) fn delay_start(services: &AgentRunServices, run: Run, reason: &str) {
    let (services, reason) = (services.clone(), reason.to_owned());
    actix_rt::spawn(async move {
        let delay = next_delay(&services.runs, &run, &reason);
        loop {
            let id = run.id.clone();
            let back = services
                .ledger
                .write(move |txn| ledger::return_to_queue(txn, &id));
            match back.await {
                Ok(_) => break,
                Err(error) if error.is_final() => return,
                Err(_) => actix_rt::time::sleep(delay).await,
            }
        }
        services.notifier.ticks.request();
        actix_rt::time::sleep(delay).await;
        services.runs.end_delay(&run.id);
        services.notifier.ticks.request();
    });
}
