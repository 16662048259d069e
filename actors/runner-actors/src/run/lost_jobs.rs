//! Jobs that were lost, and run again by themselves.

use runner_core::expr::{ContextName, ExprScope};
use runner_core::lost_jobs::{RERUN_VARIABLE, parse_reruns};
use runner_core::prepare;

use super::active_run::{ActiveRun, EventSender, ReportSender, StartedCopy};
use crate::job::JobResult;
use crate::ledger::{RunLedger, job_status};
use crate::records::{JobEnd, JobRecord, LostAttempt};

impl ActiveRun {
    /// Runs a job again that was lost, where it may; `false`: its report counts.
    pub(super) async fn launch_again(
        &mut self,
        ledger: &mut RunLedger,
        index: usize,
        report: &JobResult,
        (events, reports): (&EventSender, &ReportSender),
    ) -> bool {
        let Some(copy) = self.copies[index].as_ref() else {
            return false;
        };
        if report.end != JobEnd::Lost || ledger.record.cancelled || *copy.cancel.borrow() {
            return false;
        }
        let (job, instance, cancel) = (copy.job, copy.instance, copy.cancel.clone());
        let Some(mut copies) = self.state.instances(job).map(<[_]>::to_vec) else {
            return false;
        };
        let record = &mut ledger.record.jobs[index];
        let Some(text) = record.run_again(report.reason.as_deref().unwrap_or("lost")) else {
            return false;
        };
        let (name, status) = (record.name.clone(), job_status(record));
        let mut copy = copies.swap_remove(instance);
        copy.name.clone_from(&name);
        let started = StartedCopy {
            index,
            job,
            instance: copy,
            cancel,
        };
        ledger.log_rerun(name, &text).await;
        self.launch_in_turn(ledger, started, events, reports).await;
        ledger.save(vec![status]).await;
        true
    }

    /// Attempts of a copy that were lost in the run's previous incarnation.
    pub(super) fn lost_before(&self, job: usize, instance: usize) -> Vec<LostAttempt> {
        let key = &self.state.plan().jobs[job].key;
        let of_it = |previous: &&JobRecord| {
            previous.key == *key && previous.instance == instance && previous.conclusion.is_none()
        };
        let previous = self.previous.iter().find(of_it);
        previous.map(|it| it.lost.clone()).unwrap_or_default()
    }

    /// Notes how often a copy runs again when it is lost: the record outlives the plan.
    pub(super) fn record_reruns(&self, ledger: &mut RunLedger, copy: &StartedCopy) {
        let settings = &self.services.settings;
        let said = self.stated_reruns(copy).and_then(|text| {
            let number = parse_reruns(&text);
            let wrong = |error: &String| {
                tracing::warn!(event = "run.rerun_ignored", run = %ledger.record.id, job = copy.instance.name, error, "a workflow's number of attempts is ignored");
            };
            number.inspect_err(wrong).ok()
        });
        ledger.record.jobs[copy.index].reruns = said.unwrap_or(settings.rerun_lost);
    }

    /// What the job says, else its workflow.
    fn stated_reruns(&self, copy: &StartedCopy) -> Option<String> {
        let plan = self.state.plan();
        let planned = &plan.jobs[copy.job];
        let workflow = &plan.workflows[planned.workflow].workflow;
        let environment = copy.instance.environment.as_ref();
        let mut contexts = self.contexts_of(copy.job, environment.map(|it| it.name.as_str()));
        contexts.set(ContextName::Matrix, copy.instance.matrix.clone());
        [&planned.job.env, &workflow.env]
            .into_iter()
            .find_map(|env| {
                let values = prepare::env_values(env, &ExprScope::new(&contexts)).ok()?;
                let mut values = values.into_iter();
                values.find_map(|(name, value)| (name == RERUN_VARIABLE).then_some(value))
            })
    }
}
