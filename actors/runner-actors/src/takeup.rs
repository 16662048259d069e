//! What a former life of the runner, or a run's actor that went away, left unfinished.
//!
//! A job that never had a machine is run; one that had is lost, since nobody knows what it did. Jobs that ended keep their ends.

use std::sync::Arc;

use runner_core::state::{Conclusion, RunState};

use crate::clock::now_ms;
use crate::records::{JobEnd, RunRecord};
use crate::rows;
use crate::run::{Ledger, job_status};
use crate::service::Shared;

/// A run is taken up again so often; one that brings its actor down each time is lost then.
const AGAIN: u64 = 3;
const WHY: &str = "the runner was restarted while it ran";

/// Looks at every run that has not ended; gives those to be started again.
pub(crate) async fn take_up(shared: &Arc<Shared>) -> Vec<String> {
    let all = shared.store.read(|rows| rows::all(rows)).await;
    let all = match all {
        Ok(all) => all,
        Err(error) => {
            tracing::error!(event = "run.store_failed", %error, "the runs of a former life cannot be read");
            return Vec::new();
        }
    };
    let mut again = Vec::new();
    for record in all {
        if record.state == RunState::Ignored {
            shared.ignored.lock().push_back(record.id);
            continue;
        }
        // Runs of this life go on when only the desk was restarted.
        let goes_on = shared.started.lock().contains_key(&record.id);
        if !goes_on && !record.state.is_terminal() {
            again.extend(take_up_one(shared, record).await);
        }
    }
    again
}

/// A run whose actor is gone: `Some` when it is to be started again.
pub(crate) async fn settle(shared: &Arc<Shared>, id: &str) -> Option<String> {
    let key = id.to_owned();
    let record = shared.store.read(move |rows| rows::run(rows, &key)).await;
    let record = record.ok().flatten()?;
    if record.state.is_terminal() {
        return None;
    }
    take_up_one(shared, record).await
}

async fn take_up_one(shared: &Arc<Shared>, record: RunRecord) -> Option<String> {
    let id = record.id.clone();
    let Some(mut ledger) = Ledger::load(shared, &id).await else {
        tracing::error!(event = "run.unreadable", run = %id, "a run's event is missing");
        close(shared, record).await;
        return None;
    };
    let vms: Vec<String> = open(&ledger.record)
        .filter_map(|job| job.vm.clone())
        .collect();
    give_back(shared, vms);
    ledger.record.taken_up += 1;
    if ledger.record.taken_up > AGAIN {
        tracing::warn!(event = "run.lost", run = %id, "a run was taken up as often as it may be");
        ledger.end(RunState::Lost, Some(WHY.to_owned())).await;
        return None;
    }
    if ledger
        .record
        .jobs
        .iter()
        .any(|job| job.started_at.is_some())
    {
        lose_begun(&mut ledger).await;
    } else {
        // Nothing of it has begun: it begins anew, its statuses are still this run's.
        ledger.record.jobs.clear();
        ledger.record.state = RunState::Received;
        ledger.save(Vec::new()).await;
    }
    Some(id)
}

fn open(record: &RunRecord) -> impl Iterator<Item = &crate::records::JobRecord> {
    record.jobs.iter().filter(|job| job.conclusion.is_none())
}

/// Jobs that had begun are lost, and their statuses say so; the others follow by the run's own rules.
async fn lose_begun(ledger: &mut Ledger) {
    tracing::warn!(event = "run.lost", run = %ledger.record.id, "jobs of a run were under way when the runner ended");
    let mut statuses = Vec::new();
    for job in &mut ledger.record.jobs {
        if job.started_at.is_none() || job.conclusion.is_some() {
            continue;
        }
        job.conclusion = Some(Conclusion::Failure);
        job.end = JobEnd::Lost;
        job.reason = Some(WHY.to_owned());
        job.ended_at = Some(now_ms());
        for step in job.steps.iter_mut().filter(|step| step.end.is_none()) {
            step.end = Some(runner_core::state::StepEnd::Lost);
            step.ended_at = Some(now_ms());
        }
        statuses.push(job_status(job));
    }
    ledger.save(statuses).await;
}

/// A record without an event cannot be run: it ends, so that it is not looked at for ever.
async fn close(shared: &Arc<Shared>, mut record: RunRecord) {
    record.state = RunState::Lost;
    record.reason = Some("the event that started it cannot be read".to_owned());
    record.ended_at = Some(now_ms());
    let stored = shared.store.write(move |rows| rows::put_run(rows, &record));
    if let Err(error) = stored.await {
        tracing::error!(event = "run.store_failed", %error, "the end of a run cannot be stored");
    }
}

/// VMs of jobs that are lost are given back now, not when their leases end.
fn give_back(shared: &Arc<Shared>, vms: Vec<String>) {
    if vms.is_empty() {
        return;
    }
    let shared = Arc::clone(shared);
    actix_rt::spawn(async move {
        let vmm = crate::service::vmm_client(&shared.settings);
        for vm in vms {
            if let Err(error) = vmm.delete(&vm).await {
                shared.leaks.add();
                tracing::warn!(event = "run.vm_not_returned", vm, %error, "a VM could not be given back; the caretaker tries again");
            }
        }
    });
}
