//! Jobs that call workflows: one call for each copy of the matrix, as far as fail-fast,
//! max-parallel and concurrency groups allow.

use std::sync::Arc;

use super::expand::{concurrency, expand};
use super::plan_state::{CallState, CopyState, JobProgress, PlanAction, PlanState};
use super::types::{ConcurrencyGroup, Instances, JobInstance, PlannedWork};
use crate::expr::{ContextName, Contexts, ExprScope, Object};
use crate::state::Conclusion;

type BeginError = (Conclusion, String);

impl PlanState {
    /// Makes the copies of a job that calls a workflow, and gives each its inputs and secrets.
    pub(super) fn start_calls(
        &mut self,
        job: usize,
        contexts: &Contexts,
    ) -> Result<JobProgress, BeginError> {
        let failed = |reason: String| (Conclusion::Failure, reason);
        let instances = expand(&self.plan.jobs[job].job, contexts);
        let instances = instances.map_err(|error| failed(error.to_string()))?;
        self.grow(job, &instances).map_err(failed)?;
        let plan = self.plan.clone();
        let PlannedWork::Call {
            workflows,
            with,
            secrets,
            ..
        } = &plan.jobs[job].work
        else {
            return Err(failed("the job calls no workflow".to_owned()));
        };
        if workflows.len() != instances.len() {
            let (planned, found) = (workflows.len(), instances.len());
            return Err(failed(format!(
                "its matrix has {found} combinations, and had {planned} when the run was planned"
            )));
        }
        for (instance, workflow) in instances.iter().zip(workflows) {
            let contexts = of_copy(contexts, instance);
            self.start_called_workflow(*workflow, with, secrets, &contexts)
                .map_err(failed)?;
            let groups = self.groups_of(instance, *workflow, contexts)?;
            if !groups.is_empty() {
                self.groups.insert(*workflow, groups);
            }
        }
        let copies = vec![CallState::Waiting; instances.len()];
        Ok(JobProgress::Calling(Arc::new(instances), copies))
    }

    /// Adds the jobs of a called workflow whose copies are known now.
    fn grow(&mut self, job: usize, instances: &[JobInstance]) -> Result<(), String> {
        let PlannedWork::Call { later, .. } = &self.plan.jobs[job].work else {
            return Ok(());
        };
        let Some(template) = later.clone() else {
            return Ok(());
        };
        let plan = Arc::make_mut(&mut self.plan);
        plan.jobs[job].instances = Instances::Known(instances.to_vec());
        let added: Result<Vec<usize>, String> = (0..instances.len())
            .map(|copy| template.add_to(plan, job, copy))
            .collect();
        let added = added?;
        if let PlannedWork::Call {
            workflows, later, ..
        } = &mut plan.jobs[job].work
        {
            (*workflows, *later) = (added, None);
        }
        for index in self.jobs.len()..plan.jobs.len() {
            self.keys.insert(plan.jobs[index].key.clone(), index);
            self.jobs.push(JobProgress::Waiting);
            self.outputs.push(Object::default());
        }
        self.entered.resize(plan.workflows.len(), None);
        Ok(())
    }

    /// The groups that a copy needs: its own, and its workflow's.
    fn groups_of(
        &self,
        instance: &JobInstance,
        workflow: usize,
        mut contexts: Contexts,
    ) -> Result<Vec<ConcurrencyGroup>, BeginError> {
        let mut groups: Vec<ConcurrencyGroup> = instance.concurrency.iter().cloned().collect();
        if let Some(own) = &self.plan.workflows[workflow].workflow.concurrency {
            if let Some((inputs, _)) = &self.entered[workflow] {
                contexts.set(ContextName::Inputs, inputs.clone());
            }
            let group = concurrency(own, &ExprScope::new(&contexts));
            groups.push(
                group.map_err(|error| (Conclusion::Failure, format!("concurrency: {error}")))?,
            );
        }
        let run = self.plan.concurrency.iter();
        for (at, group) in groups.iter().enumerate() {
            let mut before = run.clone().chain(&groups[..at]);
            if before.any(|other| other.name.eq_ignore_ascii_case(&group.name)) {
                let name = config_core::quoted(&group.name);
                let reason = format!(
                    "it would wait for itself: its caller is in the concurrency group {name} too"
                );
                return Err((Conclusion::Cancelled, reason));
            }
        }
        Ok(groups)
    }

    /// Lets calls begin and end; ends the others when one failed.
    pub(super) fn run_calls(&mut self, job: usize, actions: &mut Vec<PlanAction>) -> bool {
        let plan = self.plan.clone();
        let PlannedWork::Call { workflows, .. } = &plan.jobs[job].work else {
            return false;
        };
        let JobProgress::Calling(instances, mut copies) = self.jobs[job].clone() else {
            return false;
        };
        let before = copies.clone();
        for (copy, workflow) in workflows.iter().enumerate() {
            let running = copies[copy] == CallState::Running;
            let Some((conclusion, jobs)) = self.ended_workflow(*workflow).filter(|_| running)
            else {
                continue;
            };
            self.release_groups(job, copy, *workflow, actions);
            copies[copy] = CallState::Ended(conclusion);
            if let Err(reason) = self.finish_called_workflow(job, *workflow, jobs) {
                self.end(job, Conclusion::Failure, reason, actions);
                return true;
            }
        }
        if instances[0].fail_fast && copies.len() > 1 {
            self.fail_fast(job, workflows, &mut copies, actions);
        }
        self.start_copies(job, &instances, workflows, &mut copies, actions);
        let all: Option<Vec<Conclusion>> = copies
            .iter()
            .map(|copy| match copy {
                CallState::Ended(conclusion) => Some(*conclusion),
                _ => None,
            })
            .collect();
        let moved = copies != before || all.is_some();
        self.jobs[job] = match all {
            Some(all) => JobProgress::Ended(Conclusion::of_all(all)),
            None => JobProgress::Calling(instances, copies),
        };
        moved
    }

    fn start_copies(
        &self,
        job: usize,
        instances: &[JobInstance],
        workflows: &[usize],
        copies: &mut [CallState],
        actions: &mut Vec<PlanAction>,
    ) {
        let is_open = |copy: &&CallState| matches!(copy, CallState::Running | CallState::Entering);
        let mut open = copies.iter().filter(is_open).count();
        let most = instances[0].max_parallel.unwrap_or(usize::MAX);
        for (instance, copy) in copies.iter_mut().enumerate() {
            let groups = self.groups.get(&workflows[instance]);
            match copy {
                // Its jobs end by themselves, but for those that ask for it.
                CallState::Entering if self.cancelled => {
                    *copy = CallState::Running;
                    actions.push(PlanAction::Leave { job, instance });
                }
                CallState::Waiting if open < most => {
                    open += 1;
                    *copy = CallState::Running;
                    if let Some(groups) = groups.filter(|_| !self.cancelled).cloned() {
                        *copy = CallState::Entering;
                        actions.push(PlanAction::Enter {
                            job,
                            instance,
                            groups,
                        });
                    }
                }
                _ => {}
            }
        }
    }

    /// One call in which a job failed ends the others.
    fn fail_fast(
        &mut self,
        job: usize,
        workflows: &[usize],
        copies: &mut [CallState],
        actions: &mut Vec<PlanAction>,
    ) {
        let has_failed = |copy: usize| {
            let mut jobs = self.jobs_of(workflows[copy]);
            let mut kept = self.kept_failures.iter();
            if kept.any(|at| self.plan.jobs[*at].workflow == workflows[copy]) {
                return false;
            }
            copies[copy] == CallState::Ended(Conclusion::Failure)
                || copies[copy] == CallState::Running
                    && jobs
                        .any(|at| matches!(self.jobs[at], JobProgress::Ended(Conclusion::Failure)))
        };
        let failed: Vec<bool> = (0..copies.len()).map(has_failed).collect();
        if !failed.contains(&true) {
            return;
        }
        for copy in (0..copies.len()).filter(|copy| !failed[*copy]) {
            self.end_call(job, copy, workflows[copy], &mut copies[copy], actions);
        }
    }

    /// A copy has its groups, or a newer one took its place in one of them.
    pub fn admitted(&mut self, job: usize, instance: usize, is_admitted: bool) {
        let PlannedWork::Call { workflows, .. } = &self.plan.jobs[job].work else {
            return;
        };
        if let JobProgress::Calling(_, copies) = &mut self.jobs[job]
            && let Some(copy @ CallState::Entering) = copies.get_mut(instance)
        {
            *copy = CallState::Running;
            if !is_admitted {
                *copy = CallState::Ended(Conclusion::Cancelled);
                self.ended_early.insert(workflows[instance]);
            }
        }
    }

    /// A newer one of a group of this copy shall run in its place: what it calls is ended.
    pub fn cancel_call(&mut self, job: usize, instance: usize) -> Vec<PlanAction> {
        let mut actions = Vec::new();
        let plan = self.plan.clone();
        if let JobProgress::Calling(instances, mut copies) = self.jobs[job].clone()
            && let PlannedWork::Call { workflows, .. } = &plan.jobs[job].work
            && let (Some(copy), Some(workflow)) =
                (copies.get_mut(instance), workflows.get(instance))
        {
            self.end_call(job, instance, *workflow, copy, &mut actions);
            self.jobs[job] = JobProgress::Calling(instances, copies);
        }
        actions
    }

    /// Ends a call before its time: jobs that run are ended, the others do not begin.
    fn end_call(
        &mut self,
        job: usize,
        copy: usize,
        workflow: usize,
        state: &mut CallState,
        actions: &mut Vec<PlanAction>,
    ) {
        match state {
            CallState::Ended(_) => return,
            CallState::Waiting => {}
            CallState::Entering | CallState::Running => {
                self.release_groups(job, copy, workflow, actions);
                self.end_jobs(workflow, actions);
            }
        }
        *state = CallState::Ended(Conclusion::Cancelled);
        self.ended_early.insert(workflow);
    }

    fn end_jobs(&mut self, workflow: usize, actions: &mut Vec<PlanAction>) {
        let plan = self.plan.clone();
        let jobs: Vec<usize> = self.jobs_of(workflow).collect();
        for job in jobs {
            match self.jobs[job].clone() {
                JobProgress::Running {
                    instances,
                    mut copies,
                } => {
                    for (instance, copy) in copies.iter_mut().enumerate() {
                        if *copy == CopyState::Running {
                            actions.push(PlanAction::Cancel { job, instance });
                        }
                        if !matches!(copy, CopyState::Ended(_) | CopyState::Refused) {
                            *copy = CopyState::Ended(Conclusion::Cancelled);
                        }
                    }
                    self.jobs[job] = JobProgress::Running { instances, copies };
                }
                JobProgress::Calling(instances, mut copies) => {
                    if let PlannedWork::Call { workflows, .. } = &plan.jobs[job].work {
                        for (at, copy) in copies.iter_mut().enumerate() {
                            self.end_call(job, at, workflows[at], copy, actions);
                        }
                    }
                    self.jobs[job] = JobProgress::Calling(instances, copies);
                }
                JobProgress::Waiting | JobProgress::Ended(_) => {}
            }
        }
    }

    fn release_groups(
        &self,
        job: usize,
        instance: usize,
        workflow: usize,
        actions: &mut Vec<PlanAction>,
    ) {
        if self.groups.contains_key(&workflow) {
            actions.push(PlanAction::Leave { job, instance });
        }
    }

    /// The jobs of a workflow, by their indexes.
    pub(super) fn jobs_of(&self, workflow: usize) -> impl Iterator<Item = usize> + '_ {
        let jobs = self.plan.jobs.iter().enumerate();
        jobs.filter(move |(_, job)| job.workflow == workflow)
            .map(|(at, _)| at)
    }
}

/// What expressions of one copy see.
fn of_copy(contexts: &Contexts, instance: &JobInstance) -> Contexts {
    contexts
        .clone()
        .with(ContextName::Matrix, instance.matrix.clone())
        .with(ContextName::Strategy, instance.strategy())
}
