//! What the previous incarnation left: processes, open logs, active runs.
//!
//! ```text
//! first tick ─▶ recover ──one task a run──▶ end its processes ─▶ store its end ─▶ wake ticks and outbox
//!                  └─▶ the tick goes on: new work does not wait for old
//! ```
//! Each end is stored by itself, so that an incarnation of any length makes progress. Until then
//! the run counts as active.

use std::sync::Arc;
use std::time::Duration;

use orchestrator_core::run::Run;
use orchestrator_engine::output::abandon;
use orchestrator_engine::process::{PreviousRun, ProcessKey, end_previous_run};
use tokio::sync::Semaphore;

use crate::agent_run::AgentRunServices;
use crate::host::log_directory;
use crate::ledger;

/// Runs whose orphan processes are ended at a time; each needs a thread, which mostly waits.
const MAX_CONCURRENT: usize = 8;
/// Between two attempts to store an end.
const STORE_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Begins to end orphan processes, and to store the ends of their runs. `false` when the store
/// cannot be read yet.
pub(super) async fn recover(services: &AgentRunServices) -> bool {
    let open = services.ledger.read(|rows| ledger::open_runs(rows));
    let Ok(open) = open.await else {
        return false;
    };
    let active = services.runs.ids();
    let lost = open
        .into_iter()
        .filter(|run| run.state.is_active() && !active.contains(&run.id));
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT));
    for run in lost {
        services.runs.insert(&run.id);
        let (services, permits) = (services.clone(), Arc::clone(&permits));
        actix_rt::spawn(async move {
            // It is never closed.
            let _permit = permits.acquire().await;
            settle_and_store(&services, run).await;
            services.notifier.notify();
        });
    }
    true
}

async fn settle_and_store(services: &AgentRunServices, run: Run) {
    let id = run.id.clone();
    end_vm(services, &run).await;
    let blocking = services.clone();
    let settled = tokio::task::spawn_blocking(move || settle(&blocking, &run)).await;
    if let Err(error) = settled {
        tracing::error!(
            event = "run.leftover_stays", run = %id, error = %error,
            "the orphan processes of a run could not be looked for"
        );
    }
    loop {
        let lost = id.clone();
        let stored = services.ledger.write(move |txn| ledger::lost(txn, &lost));
        match stored.await {
            Ok(_) => break,
            Err(error) if error.is_final() => break,
            Err(_) => tokio::time::sleep(STORE_RETRY_DELAY).await,
        }
    }
    services.runs.forget(&id);
}

/// Gives the VM of a run back. A host that does not answer ends it itself, by its lease.
async fn end_vm(services: &AgentRunServices, run: &Run) {
    let hosts = &services.host.vms;
    let id = run.id.clone();
    let read = services.ledger.read(move |rows| ledger::run_vm(rows, &id));
    let Ok(Some(vm)) = read.await else {
        return;
    };
    let found = hosts.client_of(Some(&vm.host), vm.place.as_deref());
    let given_back = async { found?.delete(&vm.vm).await };
    match given_back.await {
        Ok(()) => tracing::warn!(
            event = "run.vm_recovered", vm = %vm.vm, reason = "its run was lost",
            "a VM was left over and is given back"
        ),
        Err(error) => tracing::warn!(
            event = "run.vm_not_returned", vm = %vm.vm, %error,
            "a VM could not be given back; its lease ends it"
        ),
    }
}

/// Ends the processes of a run, by process id and start time, and closes its log.
fn settle(services: &AgentRunServices, run: &Run) {
    let key = run.process.as_ref().and_then(|process| {
        Some(ProcessKey {
            pid: i32::try_from(process.pid).ok()?,
            started: process.start_ticks,
            boot: process.boot_id.clone(),
        })
    });
    match end_previous_run(&services.host.confinement, run.id.as_str(), key.as_ref()) {
        PreviousRun::Gone => {}
        PreviousRun::Ended(processes) => tracing::warn!(
            event = "run.leftover_ended", run = %run.id, processes,
            "processes of the previous incarnation were ended"
        ),
        PreviousRun::Unkillable(processes) => tracing::error!(
            event = "run.leftover_stays", run = %run.id, processes = ?processes,
            "processes of the previous incarnation could not be ended"
        ),
    }
    // A run that had not got as far as its log has none.
    let config = services.ledger.config();
    let directory = log_directory(&config.directories.data, run.id.as_str());
    if abandon(&directory).is_ok() {
        services.logs.store_later(&run.id);
    }
}
