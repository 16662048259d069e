//! What a former life left behind: processes, open logs, runs that were under way.
//!
//! ```text
//! first tick ─▶ recover ──one task a run──▶ end its processes ─▶ its end, recorded ─▶ Reconcile, Wake
//!                  └─▶ the tick goes on: new work does not wait for old
//! ```
//! Each end is recorded by itself, so that a life of any length makes progress. Until then the run counts as kept.

use std::sync::Arc;
use std::time::Duration;

use orchestrator_core::run::Run;
use orchestrator_engine::output::abandon;
use orchestrator_engine::process::{Leftover, ProcessMark, end_leftover};
use store::StoreError;
use tokio::sync::Semaphore;

use crate::ledger;
use crate::shared::Shared;

/// Runs whose leftovers are ended at a time; each needs a thread, which mostly waits.
const SETTLED_AT_ONCE: usize = 8;
/// Between two attempts to record an end.
const STORE_PAUSE: Duration = Duration::from_millis(500);

/// Begins to end leftovers and to record the ends of their runs; `recorded` is called after each. `false` when the store
/// cannot be read yet.
pub(crate) async fn recover(shared: &Shared, recorded: impl Fn() + Clone + 'static) -> bool {
    let open = shared.store().read(|rows| ledger::open_runs(rows));
    let Ok(open) = open.await else {
        return false;
    };
    let kept = shared.kept();
    let left = open
        .into_iter()
        .filter(|run| run.state.is_active() && !kept.contains(&run.id));
    let permits = Arc::new(Semaphore::new(SETTLED_AT_ONCE));
    for run in left {
        shared.keep(&run.id);
        let (shared, permits, recorded) = (shared.clone(), Arc::clone(&permits), recorded.clone());
        actix_rt::spawn(async move {
            // It is never closed.
            let _permit = permits.acquire().await;
            settle_and_record(&shared, run).await;
            recorded();
        });
    }
    true
}

async fn settle_and_record(shared: &Shared, run: Run) {
    let id = run.id.clone();
    let blocking = shared.clone();
    let settled = tokio::task::spawn_blocking(move || settle(&blocking, &run)).await;
    if let Err(error) = settled {
        tracing::error!(
            event = "run.leftover_stays", run = %id, error = %error,
            "the leftovers of a former life could not be looked for"
        );
    }
    loop {
        let of = id.clone();
        match shared.write(move |book| ledger::lost(book, &of)).await {
            Ok(_) | Err(StoreError::Closed) => break,
            Err(_) => tokio::time::sleep(STORE_PAUSE).await,
        }
    }
    shared.release(&id);
}

/// Ends the processes of a run, by process id and start time, and closes its log.
fn settle(shared: &Shared, run: &Run) {
    let mark = run.process.as_ref().and_then(|process| {
        Some(ProcessMark {
            pid: i32::try_from(process.pid).ok()?,
            started: process.start_ticks,
            boot: process.boot_id.clone(),
        })
    });
    match end_leftover(shared.confinement(), run.id.as_str(), mark.as_ref()) {
        Leftover::Gone => {}
        Leftover::Ended(processes) => tracing::warn!(
            event = "run.leftover_ended", run = %run.id, processes,
            "processes of a former life were ended"
        ),
        Leftover::Unkillable(processes) => tracing::error!(
            event = "run.leftover_stays", run = %run.id, processes = ?processes,
            "processes of a former life could not be ended"
        ),
    }
    // A run that had not got as far as its log has none.
    let _ = abandon(&shared.log_folder(run.id.as_str()));
}
