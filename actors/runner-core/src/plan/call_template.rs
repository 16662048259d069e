//! The jobs of a called workflow whose caller's matrix is made of outputs of other jobs: kept
//! aside, and added to the plan for each copy once those are known.

use super::types::{CallTemplate, CalledWorkflow, Plan, PlannedJob, PlannedWork};
use crate::limits::MAX_JOBS;

impl CallTemplate {
    /// Of what was planned for one copy, each with the index of its first in the plan.
    pub(super) fn new(
        (mut jobs, first_job): (Vec<PlannedJob>, usize),
        (mut workflows, first_workflow): (Vec<CalledWorkflow>, usize),
    ) -> Self {
        for job in &mut jobs {
            job.workflow -= first_workflow;
            if let PlannedWork::Call { workflows, .. } = &mut job.work {
                workflows
                    .iter_mut()
                    .for_each(|index| *index -= first_workflow);
            }
        }
        for workflow in workflows.iter_mut().skip(1) {
            workflow.caller = workflow.caller.map(|caller| caller - first_job);
        }
        Self { jobs, workflows }
    }

    /// The workflow that is called.
    #[must_use]
    pub fn called(&self) -> &CalledWorkflow {
        &self.workflows[0]
    }

    /// How many jobs one copy has.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Adds a copy to a plan; gives the index of its workflow.
    ///
    /// # Errors
    /// When the plan would have too many jobs.
    pub(super) fn add_to(
        &self,
        plan: &mut Plan,
        caller: usize,
        copy: usize,
    ) -> Result<usize, String> {
        let (first_job, first_workflow) = (plan.jobs.len(), plan.workflows.len());
        if first_job + self.len() > MAX_JOBS {
            return Err(format!(
                "the run has more than {MAX_JOBS} jobs, called workflows included"
            ));
        }
        let prefix = copy_prefix(&plan.jobs[caller].key, Some(copy));
        for (index, workflow) in self.workflows.iter().enumerate() {
            let mut workflow = workflow.clone();
            if index == 0 {
                (workflow.caller, workflow.copy) = (Some(caller), copy);
            } else {
                workflow.caller = workflow.caller.map(|caller| caller + first_job);
            }
            plan.workflows.push(workflow);
        }
        for job in &self.jobs {
            let mut job = job.clone();
            job.key = format!("{prefix}{}", job.key);
            for need in &mut job.needs {
                *need = format!("{prefix}{need}");
            }
            job.workflow += first_workflow;
            if let PlannedWork::Call { workflows, .. } = &mut job.work {
                workflows
                    .iter_mut()
                    .for_each(|index| *index += first_workflow);
            }
            plan.jobs.push(job);
        }
        Ok(first_workflow)
    }
}

/// What stands before the keys of a called workflow's jobs: `call/`, and of the copies of a matrix
/// `call#1/`, `call#2/`.
pub(super) fn copy_prefix(caller: &str, copy: Option<usize>) -> String {
    match copy {
        Some(copy) => format!("{caller}#{}/", copy + 1),
        None => format!("{caller}/"),
    }
}
