//! What the board wants done: copies of jobs started, ended, left out, or recalled from a former life of the run.

use std::sync::Arc;

use outbound::vmm::NewVm;
use runner_core::plan::{Action, JobInstance};
use runner_core::state::{Conclusion, RunState};
use tokio::sync::watch;

use super::Ledger;
use super::copy::{Copy, Start, run_copy};
use super::drive::Driver;
use super::ledger::job_status;
use super::plan::machine;
use crate::clock::now_ms;
use crate::job::{JobOrder, JobReport};
use crate::records::{JobEnd, JobRecord};

impl Driver {
    pub(super) async fn act(&mut self, ledger: &mut Ledger, actions: Vec<Action>) {
        let mut statuses = Vec::new();
        for action in actions {
            match action {
                Action::Start { job, instance } => {
                    if let Some(former) = self.former_end(job, instance) {
                        self.recall(ledger, job, instance, former);
                        continue;
                    }
                    let index = self.start(ledger, job, instance);
                    statuses.push(job_status(&ledger.record.jobs[index]));
                }
                Action::Cancel { job, instance } => {
                    let copy = self
                        .copies
                        .iter()
                        .flatten()
                        .find(|copy| copy.job == job && copy.instance == instance);
                    if let Some(copy) = copy {
                        let _ = copy.cancel.send(true);
                    }
                }
                Action::Ended {
                    job,
                    conclusion,
                    reason,
                } => {
                    self.refused |= reason.starts_with("refused:");
                    if let Some(former) = self.former_end(job, 0) {
                        ledger.record.jobs.push(former);
                        self.copies.push(None);
                        continue;
                    }
                    let record = self.left_out(job, conclusion, reason);
                    let mut pending = job_status(&record);
                    pending.state = forge_core::CommitState::Pending;
                    ledger.record.jobs.push(record.clone());
                    self.copies.push(None);
                    // A status must be begun to be ended.
                    ledger.save(vec![pending]).await;
                    statuses.push(job_status(&record));
                }
            }
        }
        ledger.save(statuses).await;
    }

    /// How a copy ended in a former life of the run.
    fn former_end(&self, job: usize, instance: usize) -> Option<JobRecord> {
        let key = &self.planned.plan.jobs[job].key;
        let former = self.former.iter().find(|former| {
            former.key == *key && former.instance == instance && former.conclusion.is_some()
        });
        former.cloned()
    }

    /// A copy that ended in a former life is not run again: the board hears how it ended.
    fn recall(&mut self, ledger: &mut Ledger, job: usize, instance: usize, former: JobRecord) {
        let conclusion = former.conclusion.unwrap_or(Conclusion::Failure);
        self.board
            .finished(job, instance, conclusion, &former.outputs);
        self.copies.push(Some(Copy {
            job,
            instance,
            cancel: Arc::new(watch::channel(false).0),
            kind: Some(former.end),
        }));
        ledger.record.jobs.push(former);
    }

    /// The record of a job that never had a machine.
    fn left_out(&mut self, job: usize, conclusion: Conclusion, reason: String) -> JobRecord {
        let context = self.contexts.of_job(job);
        JobRecord {
            conclusion: Some(conclusion),
            reason: Some(reason),
            ended_at: Some(now_ms()),
            ..self.record(job, self.contexts.name(job), context, 0)
        }
    }

    fn record(&self, job: usize, name: String, context: String, instance: usize) -> JobRecord {
        JobRecord {
            key: self.planned.plan.jobs[job].key.clone(),
            instance,
            name,
            context,
            conclusion: None,
            reason: None,
            vm: None,
            isolation: None,
            queued_at: now_ms(),
            started_at: None,
            ended_at: None,
            end: JobEnd::Usual,
            outputs: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Starts a copy; gives the index of its record.
    fn start(&mut self, ledger: &mut Ledger, job: usize, instance: usize) -> usize {
        if ledger.record.state == RunState::Planned || ledger.record.state == RunState::Running {
            ledger.become_state(RunState::Allocating);
        }
        ledger.record.started_at.get_or_insert_with(now_ms);
        let copies = self.board.instances(job);
        let copies = copies.expect("the board starts copies of running jobs only");
        let context = self.contexts.of_copy(job, copies, instance);
        let mut copy = copies[instance].clone();
        let index = ledger.record.jobs.len();
        // Called as its statuses are, in logs too.
        copy.name = self.contexts.name_of_copy(job, &copy);
        let record = self.record(job, copy.name.clone(), context, instance);
        ledger.record.jobs.push(record);
        let cancel = Arc::new(watch::channel(false).0);
        self.copies.push(Some(Copy {
            job,
            instance,
            cancel: Arc::clone(&cancel),
            kind: None,
        }));
        let group = copy.concurrency.clone();
        let labels = copy.runs_on.clone();
        let machines = &ledger.shared.settings.machines;
        let Some(vm) = machine(machines, &labels) else {
            let _ = self.reports.0.send((index, JobReport::no_machine(&labels)));
            return index;
        };
        let order = self.order(ledger, job, copy, index, vm);
        let start = Start {
            shared: Arc::clone(&ledger.shared),
            jobs: self.jobs.clone(),
            order,
            repository: ledger.record.repository.clone(),
            group,
            index,
            cancel,
            tidings: self.sender.clone(),
        };
        let reports = self.reports.0.clone();
        actix_rt::spawn(async move {
            let report = run_copy(start).await;
            // A run that is gone hears nothing; its record is ended at the next start.
            let _ = reports.send((index, report));
        });
        index
    }

    fn order(
        &self,
        ledger: &Ledger,
        job: usize,
        instance: JobInstance,
        index: usize,
        mut vm: NewVm,
    ) -> JobOrder {
        let plan = Arc::clone(&self.planned.plan);
        let settings = &ledger.shared.settings;
        // Taken up again, it orders another VM.
        let vm_key = format!("{}-{}-{index}", ledger.record.id, ledger.record.life());
        vm.owner = Some(format!("run-{vm_key}"));
        let mut secrets: Vec<String> = settings
            .secrets
            .iter()
            .map(|(_, secret)| secret.expose().clone())
            .collect();
        secrets.extend(
            settings
                .forge_token
                .iter()
                .map(|token| token.expose().clone()),
        );
        JobOrder {
            run: ledger.record.id.clone(),
            vm_key,
            contexts: self.board.contexts_of(&plan.jobs[job]),
            plan,
            job,
            instance,
            event: Arc::clone(&self.planned.event),
            facts: self.planned.facts.clone(),
            secrets,
            checkout: self.folder.clone(),
            vm,
            patience: settings.vm_patience,
            stores: ledger.shared.stores.clone(),
            leaks: ledger.shared.leaks.clone(),
            trouble: ledger.shared.trouble.clone(),
        }
    }
}
