//! Which job may start: needs, `if`, matrix, fail-fast, max-parallel, called workflows. No clock,
//! no machine.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::expand::expand;
use super::job_variables::with_variables;
use super::types::{ConcurrencyGroup, JobInstance, Plan, PlannedJob, PlannedWork};
use crate::expr::{ContextName, Contexts, EvalError, ExprScope, ExprValue, IfCondition, Object};
use crate::state::Conclusion;

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanAction {
    /// Start a copy of a job: give it a machine.
    Start {
        /// The job: index into [`Plan::jobs`].
        job: usize,
        /// The copy: index into its instances.
        instance: usize,
    },
    /// End a copy that runs: another of the same job failed.
    Cancel {
        /// The job.
        job: usize,
        /// The copy.
        instance: usize,
    },
    /// A job ended without having started.
    Ended {
        /// The job.
        job: usize,
        /// How.
        conclusion: Conclusion,
        /// Why.
        reason: String,
    },
    /// A copy of a job that calls a workflow is next: it begins when it has these groups (see
    /// [`PlanState::admitted`]).
    Enter {
        /// The job.
        job: usize,
        /// The copy.
        instance: usize,
        /// The groups, in this order.
        groups: Vec<ConcurrencyGroup>,
    },
    /// That copy needs its groups no longer.
    Leave {
        /// The job.
        job: usize,
        /// The copy.
        instance: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyState {
    Waiting,
    Running,
    /// It cannot run here: a failure that says nothing of the others.
    Refused,
    Ended(Conclusion),
}

/// How far the workflow is that a copy calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallState {
    Waiting,
    /// It waits for its concurrency groups.
    Entering,
    Running,
    Ended(Conclusion),
}

#[derive(Debug, Clone)]
pub(super) enum JobProgress {
    /// Not all it needs has ended.
    Waiting,
    /// Called workflows are under way, one for each copy.
    Calling(Arc<Vec<JobInstance>>, Vec<CallState>),
    /// Copies run or will.
    Running {
        instances: Arc<Vec<JobInstance>>,
        copies: Vec<CopyState>,
    },
    /// It has ended.
    Ended(Conclusion),
}

/// What is said of a job that waits.
enum JobDecision {
    Wait,
    Start(Box<Contexts>),
    End(Conclusion, String),
}

const NOT_CALLED: &str = "the job that calls its workflow did not run";

/// The progress of a run.
#[derive(Debug, Clone)]
pub struct PlanState {
    pub(super) plan: Arc<Plan>,
    pub(super) base: Contexts,
    pub(super) jobs: Vec<JobProgress>,
    pub(super) outputs: Vec<Object>,
    /// Bytes of the outputs that called workflows gave.
    pub(super) called_outputs: usize,
    /// Inputs and secrets of each workflow, once it was entered.
    pub(super) entered: Vec<Option<(ExprValue, ExprValue)>>,
    /// The groups of each workflow that has any.
    pub(super) groups: HashMap<usize, Vec<ConcurrencyGroup>>,
    /// Workflows whose calls were ended before their time.
    pub(super) ended_early: HashSet<usize>,
    pub(super) keys: HashMap<String, usize>,
    /// Jobs of which a copy keeps the failure of an earlier attempt, which ends no other copy.
    pub(super) kept_failures: HashSet<usize>,
    pub(super) cancelled: bool,
}

impl PlanState {
    /// Nothing has started. `base` holds github, vars, secrets and inputs.
    pub fn new(plan: Arc<Plan>, base: Contexts) -> Self {
        let keys = plan
            .jobs
            .iter()
            .enumerate()
            .map(|(index, job)| (job.key.clone(), index))
            .collect();
        let mut entered = vec![None; plan.workflows.len()];
        entered[0] = Some((
            base.get(ContextName::Inputs).clone(),
            base.get(ContextName::Secrets).clone(),
        ));
        Self {
            jobs: vec![JobProgress::Waiting; plan.jobs.len()],
            outputs: vec![Object::default(); plan.jobs.len()],
            called_outputs: 0,
            plan,
            base,
            entered,
            groups: HashMap::new(),
            ended_early: HashSet::new(),
            keys,
            kept_failures: HashSet::new(),
            cancelled: false,
        }
    }

    /// The plan, with the jobs of called workflows whose copies became known meanwhile.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The copies of a job that was started.
    pub fn instances(&self, job: usize) -> Option<&[JobInstance]> {
        match &self.jobs[job] {
            JobProgress::Running { instances, .. } => Some(instances),
            _ => None,
        }
    }

    /// The run is to be ended: what has not started does not, and what runs is ended, but for jobs
    /// whose condition holds then (`always()`, `cancelled()`), as on GitHub.
    pub fn cancel(&mut self) -> Vec<PlanAction> {
        self.cancelled = true;
        self.running(|job| !self.outlives_cancel(job))
    }

    /// Everything that runs is to be ended, whatever its condition says.
    pub fn cancel_all(&mut self) -> Vec<PlanAction> {
        self.cancelled = true;
        self.running(|_| true)
    }

    /// The ends of the copies that run of these jobs.
    fn running(&self, is_meant: impl Fn(&PlannedJob) -> bool) -> Vec<PlanAction> {
        let mut actions = Vec::new();
        for (job, progress) in self.jobs.iter().enumerate() {
            if let JobProgress::Running { copies, .. } = progress
                && is_meant(&self.plan.jobs[job])
            {
                let copies = copies.iter().enumerate();
                let running = copies.filter(|(_, copy)| **copy == CopyState::Running);
                actions.extend(running.map(|(instance, _)| PlanAction::Cancel { job, instance }));
            }
        }
        actions
    }

    /// Whether a job that has begun goes on when the run is cancelled: its condition holds then,
    /// and so do those of the jobs that call its workflow.
    fn outlives_cancel(&self, job: &PlannedJob) -> bool {
        let caller = self.plan.workflows[job.workflow].caller;
        self.holds(job) && caller.is_none_or(|at| self.outlives_cancel(&self.plan.jobs[at]))
    }

    /// Whether a job's own condition holds now.
    fn holds(&self, job: &PlannedJob) -> bool {
        let contexts = self.contexts_of(job);
        self.decide(job, &contexts) == Ok(true)
    }

    /// The value of a job's own condition.
    fn decide(&self, job: &PlannedJob, contexts: &Contexts) -> Result<bool, EvalError> {
        let condition = job.job.condition.as_ref();
        if condition.is_some_and(|it| it.expr().refers_to(ContextName::Env)) {
            let of_workflow = &self.plan.workflows[job.workflow].workflow.env;
            let contexts = with_variables(contexts, [of_workflow, &job.job.env]);
            return IfCondition::holds_or_success(condition, &ExprScope::new(&contexts));
        }
        IfCondition::holds_or_success(condition, &ExprScope::new(contexts))
    }

    /// A copy of the job ended in an earlier attempt of the run and does not run again: should it
    /// have failed, that is no reason to end those that do.
    pub fn keeps(&mut self, job: usize) {
        self.kept_failures.insert(job);
    }

    /// A copy that was started has ended, with these outputs.
    pub fn finished(
        &mut self,
        job: usize,
        instance: usize,
        conclusion: Conclusion,
        outputs: &[(String, String)],
    ) {
        let JobProgress::Running { instances, copies } = &mut self.jobs[job] else {
            return;
        };
        let Some(copy) = copies.get_mut(instance) else {
            return;
        };
        let forgiven = conclusion == Conclusion::Failure && instances[instance].continue_on_error;
        *copy = CopyState::Ended(if forgiven {
            Conclusion::Success
        } else {
            conclusion
        });
        for (name, value) in outputs {
            // Of a matrix the last one that says something counts.
            if !value.is_empty() || self.outputs[job].get(name).is_none() {
                self.outputs[job].set(name, ExprValue::text(value));
            }
        }
    }

    /// A copy that was started cannot run here: the job fails, and its other copies go on.
    pub fn refused(&mut self, job: usize, instance: usize) {
        let JobProgress::Running { instances, copies } = &mut self.jobs[job] else {
            return;
        };
        if let Some(copy) = copies.get_mut(instance) {
            *copy = match instances[instance].continue_on_error {
                true => CopyState::Ended(Conclusion::Success),
                false => CopyState::Refused,
            };
        }
    }

    /// How the whole run ended, once every job has.
    pub fn conclusion(&self) -> Option<Conclusion> {
        let ended: Option<Vec<Conclusion>> = self.jobs.iter().map(conclusion_of).collect();
        let all = Conclusion::of_all(ended?);
        // A run without a job that had to run has done what it should.
        Some(match all {
            _ if self.cancelled && all != Conclusion::Failure => Conclusion::Cancelled,
            Conclusion::Skipped => Conclusion::Success,
            other => other,
        })
    }

    /// Everything that can be done now. Each action is given once.
    pub fn advance(&mut self) -> Vec<PlanAction> {
        let mut actions = Vec::new();
        loop {
            let before = actions.len();
            let mut moved = false;
            for job in 0..self.jobs.len() {
                moved |= match self.jobs[job].clone() {
                    JobProgress::Waiting => self.try_start(job, &mut actions),
                    JobProgress::Calling(..) => self.run_calls(job, &mut actions),
                    JobProgress::Running { instances, copies } => {
                        self.run_copies(job, &instances, copies, &mut actions)
                    }
                    JobProgress::Ended(_) => false,
                };
            }
            if !moved && actions.len() == before {
                return actions;
            }
        }
    }

    pub(super) fn end(
        &mut self,
        job: usize,
        conclusion: Conclusion,
        reason: impl Into<String>,
        actions: &mut Vec<PlanAction>,
    ) {
        self.jobs[job] = JobProgress::Ended(conclusion);
        let reason = reason.into();
        actions.push(PlanAction::Ended {
            job,
            conclusion,
            reason,
        });
    }

    fn try_start(&mut self, index: usize, actions: &mut Vec<PlanAction>) -> bool {
        let plan = self.plan.clone();
        let job = &plan.jobs[index];
        let verdict = match self.verdict(job) {
            JobDecision::Wait => return false,
            JobDecision::Start(contexts) => self.start_job(index, job, &contexts),
            JobDecision::End(conclusion, reason) => Err((conclusion, reason)),
        };
        match verdict {
            Ok(progress) => self.jobs[index] = progress,
            Err((conclusion, reason)) => self.end(index, conclusion, reason, actions),
        }
        true
    }

    /// Whether a job may start, by its caller, its needs, its condition and what it is refused for.
    fn verdict(&self, job: &PlannedJob) -> JobDecision {
        if let Some(caller) = self.plan.workflows[job.workflow].caller {
            let call = match &self.jobs[caller] {
                JobProgress::Calling(_, copies) => copies[self.plan.workflows[job.workflow].copy],
                JobProgress::Ended(_) if self.ended_early.contains(&job.workflow) => {
                    CallState::Ended(Conclusion::Cancelled)
                }
                JobProgress::Ended(conclusion) => CallState::Ended(*conclusion),
                JobProgress::Waiting | JobProgress::Running { .. } => CallState::Waiting,
            };
            match call {
                CallState::Running => {}
                CallState::Waiting | CallState::Entering => return JobDecision::Wait,
                CallState::Ended(Conclusion::Cancelled) => {
                    return JobDecision::End(Conclusion::Cancelled, NOT_CALLED.to_owned());
                }
                CallState::Ended(_) => {
                    return JobDecision::End(Conclusion::Skipped, NOT_CALLED.to_owned());
                }
            }
        }
        if self
            .needed(job)
            .any(|need| conclusion_of(&self.jobs[need]).is_none())
        {
            return JobDecision::Wait;
        }
        let contexts = self.contexts_of(job);
        let condition = job.job.condition.as_ref();
        match self.decide(job, &contexts) {
            Ok(true) => {}
            Ok(false) if self.cancelled => {
                return JobDecision::End(Conclusion::Cancelled, "the run was cancelled".to_owned());
            }
            Ok(false) => {
                let reason = match condition {
                    Some(condition) if contexts.status().success || !condition.needs_success() => {
                        format!("its condition does not hold: {}", condition.source.trim())
                    }
                    _ => "a job it needs did not succeed".to_owned(),
                };
                return JobDecision::End(Conclusion::Skipped, reason);
            }
            Err(error) => return JobDecision::End(Conclusion::Failure, format!("if: {error}")),
        }
        match job.refusals.first() {
            Some(refusal) => JobDecision::End(
                Conclusion::Failure,
                format!("refused: {}", refusal.in_short()),
            ),
            None => JobDecision::Start(Box::new(contexts)),
        }
    }

    /// Enters the workflow a job calls, or makes its copies.
    fn start_job(
        &mut self,
        index: usize,
        job: &PlannedJob,
        contexts: &Contexts,
    ) -> Result<JobProgress, (Conclusion, String)> {
        debug_assert!(matches!(self.jobs[index], JobProgress::Waiting));
        match &job.work {
            PlannedWork::Call { .. } => self.start_calls(index, contexts),
            PlannedWork::Steps(_) => match expand(&job.job, contexts) {
                Ok(instances) => Ok(JobProgress::Running {
                    copies: vec![CopyState::Waiting; instances.len()],
                    instances: Arc::new(instances),
                }),
                Err(error) => Err((Conclusion::Failure, error.to_string())),
            },
        }
    }

    /// Starts copies as far as max-parallel allows; ends the others when one failed.
    fn run_copies(
        &mut self,
        job: usize,
        instances: &Arc<Vec<JobInstance>>,
        mut copies: Vec<CopyState>,
        actions: &mut Vec<PlanAction>,
    ) -> bool {
        let before = copies.clone();
        let first = &instances[0];
        let failed = copies.contains(&CopyState::Ended(Conclusion::Failure));
        if failed && first.fail_fast && !self.kept_failures.contains(&job) {
            for (instance, copy) in copies.iter_mut().enumerate() {
                match copy {
                    CopyState::Waiting => *copy = CopyState::Ended(Conclusion::Cancelled),
                    // Once: it is taken as ended from here, whatever it still says.
                    CopyState::Running => {
                        *copy = CopyState::Ended(Conclusion::Cancelled);
                        actions.push(PlanAction::Cancel { job, instance });
                    }
                    CopyState::Ended(_) | CopyState::Refused => {}
                }
            }
        }
        let goes_on = !self.cancelled || self.holds(&self.plan.jobs[job]);
        let mut running = copies
            .iter()
            .filter(|copy| **copy == CopyState::Running)
            .count();
        let most = first.max_parallel.unwrap_or(usize::MAX);
        for (instance, copy) in copies.iter_mut().enumerate() {
            if *copy != CopyState::Waiting {
                continue;
            }
            if !goes_on {
                *copy = CopyState::Ended(Conclusion::Cancelled);
            } else if running < most {
                *copy = CopyState::Running;
                running += 1;
                actions.push(PlanAction::Start { job, instance });
            }
        }
        let all: Option<Vec<Conclusion>> = copies
            .iter()
            .map(|copy| match copy {
                CopyState::Ended(conclusion) => Some(*conclusion),
                CopyState::Refused => Some(Conclusion::Failure),
                CopyState::Waiting | CopyState::Running => None,
            })
            .collect();
        let moved = copies != before || all.is_some();
        self.jobs[job] = match all {
            Some(all) => JobProgress::Ended(Conclusion::of_all(all)),
            None => JobProgress::Running {
                instances: instances.clone(),
                copies,
            },
        };
        moved
    }

    pub(super) fn needed<'a>(&'a self, job: &'a PlannedJob) -> impl Iterator<Item = usize> + 'a {
        job.needs
            .iter()
            .filter_map(|need| self.keys.get(need).copied())
    }

    pub(super) fn result_of(&self, job: usize, conclusion: Conclusion) -> ExprValue {
        ExprValue::object([
            ("result", conclusion.as_str().into()),
            (
                "outputs",
                ExprValue::Object(Arc::new(self.outputs[job].clone())),
            ),
        ])
    }
}

pub(super) fn conclusion_of(progress: &JobProgress) -> Option<Conclusion> {
    match progress {
        JobProgress::Ended(conclusion) => Some(*conclusion),
        _ => None,
    }
}
