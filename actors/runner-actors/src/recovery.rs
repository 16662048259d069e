//! What the runner's previous incarnation, or a run's actor that crashed, left unfinished.
//!
//! A job that never had a machine is run; one that had is lost, since nobody knows what it did, and
//! runs again where it may. Jobs that ended keep their ends.

use std::sync::Arc;

use cluster_actors::vm_hosts::VmHosts;
use runner_core::lost_jobs::{MAX_RECOVERIES, UndrivenRun};
use runner_core::state::{Conclusion, RunState, StepEnd};

use crate::clock::now_ms;
use crate::ledger::{RunLedger, RunRecorder, job_status};
use crate::records::{JobEnd, JobRecord};
use crate::rows;
use crate::rows::outlines::{RunOutline, outlines};
use crate::settings::RunnerSettings;
use crate::store_retry::until_read;

const LOST_REASON: &str = "the runner was restarted while it ran";

/// A host's name, and which of that name it is, as records say them.
type RecordedHost = (Option<String>, Option<String>);

/// Takes up unfinished runs.
#[derive(Clone)]
pub(crate) struct RunRecovery {
    pub(crate) recorder: RunRecorder,
    pub(crate) settings: Arc<RunnerSettings>,
    pub(crate) hosts: VmHosts,
}

/// What was found in the store.
#[derive(Default)]
pub(crate) struct RecoveredRuns {
    /// To be started again.
    pub(crate) unfinished: Vec<String>,
    /// They wait for somebody or for their time.
    pub(crate) waiting: Vec<String>,
    /// Those that started nothing, the oldest first.
    pub(crate) ignored: Vec<String>,
}

impl RunRecovery {
    /// Looks at every stored run; those that are `active` go on by themselves.
    pub(crate) async fn recover(&self, is_active: impl Fn(&str) -> bool) -> RecoveredRuns {
        let store = &self.recorder.store;
        let counts = |run: &RunOutline| !run.state.is_terminal() || run.state == RunState::Ignored;
        let all = until_read("", || store.read(move |rows| outlines(rows, counts))).await;
        let mut recovered = RecoveredRuns::default();
        let all = all.unwrap_or_else(|error| {
            tracing::error!(event = "run.store_failed", %error, "the stored runs cannot be read");
            Vec::new()
        });
        for run in all {
            match run.state {
                RunState::Ignored => recovered.ignored.push(run.id),
                _ if is_active(&run.id) => {}
                RunState::Waiting if !run.holds_group => recovered.waiting.push(run.id),
                _ => recovered
                    .unfinished
                    .extend(self.resume_run(run.id, false).await),
            }
        }
        recovered
    }

    /// A run whose actor is gone: whether it is to be started again.
    pub(crate) async fn settle(&self, id: &str) -> bool {
        let store = &self.recorder.store;
        let record = until_read(id, || {
            let key = id.to_owned();
            store.read(move |rows| rows::run(rows, &key))
        });
        let state = record.await.ok().flatten().map(|record| record.state);
        let goes_on = state.is_some_and(|state| !state.is_terminal());
        goes_on && self.resume_run(id.to_owned(), true).await.is_some()
    }

    /// Ends a run that waits to be started; whether there is one.
    pub(crate) async fn cancel_queued(&self, id: &str, reason: String) -> bool {
        let Ok(Some(mut ledger)) = RunLedger::load(&self.recorder, id).await else {
            return false;
        };
        ledger.end(RunState::Cancelled, Some(reason)).await;
        true
    }

    async fn resume_run(&self, id: String, has_crashed: bool) -> Option<String> {
        // What cannot be read is left as it is.
        let Some(mut ledger) = RunLedger::load(&self.recorder, &id).await.ok()? else {
            tracing::error!(event = "run.unreadable", run = %id, "a run's event is missing");
            self.close(id).await;
            return None;
        };
        let open = ledger.record.jobs.iter();
        let open = open.filter(|job| job.conclusion.is_none());
        self.release_vms(
            open.filter_map(|job| {
                let host = (job.vm_host.clone(), job.vm_place.clone());
                Some((host, job.vm.clone()?))
            })
            .collect(),
        );
        // Those that ran in the run it repeats are no beginning of this one.
        let own = |job: &&JobRecord| job.kept_from.is_none();
        let has_begun = |job: &JobRecord| job.started_at.is_some() || !job.lost.is_empty();
        let undriven = UndrivenRun {
            state: ledger.record.state,
            has_crashed,
            has_jobs: ledger.record.jobs.iter().any(|job| own(&job)),
            had_machine: ledger.record.jobs.iter().filter(own).any(has_begun),
        };
        // VMs of what follows are asked for under other names in any case.
        ledger.record.taken_up += 1;
        ledger.record.taken_up_at_wait += u64::from(!undriven.may_be_the_cause());
        if ledger.record.taken_up - ledger.record.taken_up_at_wait > MAX_RECOVERIES {
            tracing::warn!(event = "run.lost", run = %id, "a run was taken up as often as it may be");
            let reason = Some(LOST_REASON.to_owned());
            ledger.end(RunState::Lost, reason).await;
            return None;
        }
        if ledger.record.cancelled {
            let reason = ledger.record.reason.clone();
            ledger.end(RunState::Cancelled, reason).await;
            return None;
        }
        if undriven.had_machine {
            lose_started_jobs(&mut ledger).await;
        } else {
            // Nothing of it has begun: it begins anew, its statuses are still this run's.
            ledger.record.jobs.retain(|job| job.kept_from.is_some());
            ledger.record.state = RunState::Received;
            ledger.save(Vec::new()).await;
        }
        Some(id)
    }

    /// A record without an event cannot be run: it ends, so that it is not looked at for ever.
    async fn close(&self, id: String) {
        let store = &self.recorder.store;
        let stored = store.write(move |rows| {
            let Some(mut record) = rows::run(rows, &id)? else {
                return Ok(());
            };
            record.state = RunState::Lost;
            record.reason = Some("the event that started it cannot be read".to_owned());
            record.ended_at = Some(now_ms());
            rows::put_run(rows, &record)
        });
        if let Err(error) = stored.await {
            tracing::error!(event = "run.store_failed", %error, "the end of a run cannot be stored");
        }
    }

    /// VMs of jobs that are lost are given back now, not when their leases end.
    fn release_vms(&self, vms: Vec<(RecordedHost, String)>) {
        if vms.is_empty() {
            return;
        }
        let hosts = self.hosts.clone();
        actix_rt::spawn(async move {
            for ((host, place), vm) in vms {
                let (host, place) = (host.as_deref(), place.as_deref());
                let given_back = match hosts.client_of(host, place) {
                    Ok(vmm) => vmm.delete(&vm).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = given_back {
                    if let Some(index) = hosts.find(host, place) {
                        hosts.report_leak(index);
                    }
                    tracing::warn!(event = "run.vm_not_returned", vm, %error, "a VM could not be given back; the garbage collector tries again");
                }
            }
        });
    }
}

/// Jobs that had begun are lost, and their statuses say so, unless they may run again; the others
/// follow by the run's own rules.
async fn lose_started_jobs(ledger: &mut RunLedger) {
    tracing::warn!(event = "run.lost", run = %ledger.record.id, "jobs of a run were under way when the runner ended");
    let (mut statuses, mut again) = (Vec::new(), Vec::new());
    for job in &mut ledger.record.jobs {
        if job.started_at.is_none() || job.conclusion.is_some() {
            continue;
        }
        if let Some(text) = job.run_again(LOST_REASON) {
            statuses.push(job_status(job));
            again.push((job.name.clone(), text));
            continue;
        }
        job.conclusion = Some(Conclusion::Failure);
        job.end = JobEnd::Lost;
        job.reason = Some(LOST_REASON.to_owned());
        job.ended_at = Some(now_ms());
        for step in job.steps.iter_mut().filter(|step| step.end.is_none()) {
            step.end = Some(StepEnd::Lost);
            step.ended_at = Some(now_ms());
        }
        statuses.push(job_status(job));
    }
    ledger.save(statuses).await;
    for (job, text) in again {
        ledger.log_rerun(job, &text).await;
    }
}
