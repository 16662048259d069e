//! What a former life left behind: processes, open logs, runs that were under way.

use orchestrator_core::run::Run;
use orchestrator_engine::output::abandon;
use orchestrator_engine::process::{Leftover, ProcessMark, end_leftover};

use crate::ledger;
use crate::shared::Shared;

/// Ends leftovers and records the ends of their runs. `false` when the store cannot be read yet.
pub(crate) async fn recover(shared: &Shared) -> bool {
    let open = shared.store().read(|rows| ledger::open_runs(rows));
    let Ok(open) = open.await else {
        return false;
    };
    let kept = shared.kept();
    let left: Vec<Run> = open
        .into_iter()
        .filter(|run| run.state.is_active() && !kept.contains(&run.id))
        .collect();
    if left.is_empty() {
        return true;
    }
    // Each is recorded as soon as it is settled: a life that is cut short has made progress.
    for run in left {
        let (blocking, id) = (shared.clone(), run.id.clone());
        let ended = tokio::task::spawn_blocking(move || settle(&blocking, &run));
        if ended.await.is_err() {
            return false;
        }
        let recorded = shared.write(move |book| ledger::lost(book, &id).map(|_| ()));
        if recorded.await.is_err() {
            return false;
        }
    }
    true
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
