//! A workflow and an event to a plan.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use super::check_call::check_call;
use super::expand::{concurrency, expand};
use super::input::{PlanError, PlanInput};
use super::known_outputs::KnownOutputs;
use super::likely::KnownValues;
use super::locked_uses::LockedUses;
use super::script_images::script_images;
use super::steps::StepPlanner;
use super::types::{
    CalledWorkflow, Instances, Plan, PlannedJob, PlannedStep, PlannedWork, run_defaults,
};
use crate::expr::{ContextName, ExprScope};
use crate::limits::{MAX_CALLED_BYTES, MAX_JOBS};
use crate::source_location::SourceLocation;
use crate::truncation::truncate_name;
use crate::workflow::{Env, FeatureRefusal, Job, JobWork, Need, PermissionLevel, Step, Workflow};

/// Makes the plan of a workflow.
///
/// # Errors
/// When a file it refers to is wrong, or an expression of the workflow has no value. What is well
/// written but not done here is no error: it stands in the plan as refused.
pub fn plan(workflow: Workflow, input: PlanInput<'_>) -> Result<Plan, PlanError> {
    let scope = ExprScope::new(input.contexts);
    let wrong = |place: SourceLocation, file: &str| {
        let file: Arc<str> = file.into();
        move |error: crate::expr::EvalError| PlanError::Workflow {
            file,
            place,
            message: error.to_string(),
        }
    };
    let name = match &workflow.run_name {
        Some(name) => name
            .text(&scope)
            .map_err(wrong(name.place, &workflow.file))?,
        None => workflow.display_name().to_owned(),
    };
    let name = truncate_name(&name);
    let group = match &workflow.concurrency {
        Some(group) => {
            Some(concurrency(group, &scope).map_err(wrong(group.group.place, &workflow.file))?)
        }
        None => None,
    };
    let mut builder = Builder {
        input,
        workflows: Vec::new(),
        jobs: Vec::new(),
        budget: Cell::new(MAX_CALLED_BYTES),
        locks: RefCell::default(),
    };
    let started = CalledWorkflow {
        workflow,
        caller: None,
        copy: 0,
        origin: None,
    };
    builder.add(started, "", 0)?;
    builder.find_missing_outputs();
    Ok(Plan {
        workflows: builder.workflows,
        name,
        concurrency: group,
        jobs: builder.jobs,
    })
}

pub(super) struct Builder<'a> {
    pub(super) input: PlanInput<'a>,
    pub(super) workflows: Vec<CalledWorkflow>,
    pub(super) jobs: Vec<PlannedJob>,
    /// How many bytes of called files may still be read.
    pub(super) budget: Cell<usize>,
    /// What is locked of what each workflow file uses.
    pub(super) locks: RefCell<HashMap<String, LockedUses>>,
}

impl Builder<'_> {
    /// Adds the jobs of a workflow, each key with `prefix` in front.
    pub(super) fn add(
        &mut self,
        called: CalledWorkflow,
        prefix: &str,
        depth: usize,
    ) -> Result<usize, PlanError> {
        let jobs = called.workflow.jobs.clone();
        let index = self.workflows.len();
        self.workflows.push(called);
        for job in jobs {
            self.add_job(&job, index, prefix, depth)?;
        }
        Ok(index)
    }

    fn add_job(
        &mut self,
        job: &Job,
        workflow: usize,
        prefix: &str,
        depth: usize,
    ) -> Result<(), PlanError> {
        let mut refusals = job.refusals.clone();
        let file = self.workflows[workflow].workflow.file.clone();
        self.check_size(job, &file)?;
        check_env_for_token(&self.workflows[workflow].workflow.env, &file, &mut refusals);
        let at = self.jobs.len();
        let planned = self.job_without_work(job, workflow, prefix)?;
        self.jobs.push(planned);
        let work = match &job.work {
            JobWork::Steps { steps, .. } => {
                check_env_for_token(&job.env, &file, &mut refusals);
                self.plan_steps(at, job, (workflow, &*file), steps, &mut refusals)?
            }
            JobWork::Call {
                uses,
                with,
                secrets,
            } => {
                let called =
                    self.called(&uses.value, uses.place, workflow, depth, &mut refusals)?;
                match called {
                    Some(called) => {
                        check_call(&called.workflow, with, secrets, &file, uses.place)?;
                        let (workflows, later) = self.add_calls(at, &called, depth)?;
                        PlannedWork::Call {
                            workflows,
                            later,
                            with: with.clone(),
                            secrets: secrets.clone(),
                        }
                    }
                    None => PlannedWork::Steps(Vec::new()),
                }
            }
        };
        // Whether there is a token is known when the job starts.
        let token = refusals
            .iter()
            .position(|refusal| refusal.need == Need::ForgeToken);
        self.jobs[at].token = token.map(|at| refusals.remove(at));
        self.jobs[at].work = work;
        self.jobs[at].refusals = refusals;
        Ok(())
    }

    /// A job whose work is planned once it stands in the plan.
    fn job_without_work(
        &mut self,
        job: &Job,
        workflow: usize,
        prefix: &str,
    ) -> Result<PlannedJob, PlanError> {
        let instances = self.instances(job);
        let id_token = self.has_id_token(job, workflow);
        let findings = self.check_permissions(job, workflow)?.into_iter().collect();
        Ok(PlannedJob {
            key: format!("{prefix}{}", job.id),
            workflow,
            id_token,
            permissions: self.permissions(job, workflow),
            cache_mode: self.own_cache_mode(job, workflow)?,
            token: None,
            token_defaults: Vec::new(),
            needs: job
                .needs
                .iter()
                .map(|need| format!("{prefix}{}", need.value))
                .collect(),
            work: PlannedWork::Steps(Vec::new()),
            instances,
            refusals: Vec::new(),
            notes: Vec::new(),
            setups: Vec::new(),
            findings,
            script_images: Vec::new(),
            job: job.clone(),
        })
    }

    /// The steps of the job at `at`, and what is noted of them there.
    fn plan_steps(
        &mut self,
        at: usize,
        job: &Job,
        (workflow, file): (usize, &str),
        steps: &[Step],
        refusals: &mut Vec<FeatureRefusal>,
    ) -> Result<PlannedWork, PlanError> {
        let mut planner = StepPlanner::new(self.input, &self.budget, file, refusals);
        planner.origin.clone_from(&self.workflows[workflow].origin);
        planner.dialect = self.workflows[workflow].workflow.dialect;
        planner.locked = self.locked_uses(workflow);
        planner.known = KnownValues::from_instances(&self.jobs[at].instances);
        let steps = planner.plan(steps)?;
        self.jobs[at].notes = planner.notes;
        self.jobs[at].setups = planner.setups;
        self.jobs[at].findings.extend(planner.findings);
        let missing = planner.outputs.missing(job, file);
        self.jobs[at].findings.extend(missing);
        self.jobs[at].token_defaults = planner.token_defaults;
        self.jobs[at].script_images = self.images_of_scripts(job, workflow, &steps);
        self.check_containers(at, file, refusals);
        Ok(PlannedWork::Steps(steps))
    }

    /// A plan has so many jobs at most.
    fn check_size(&self, job: &Job, file: &str) -> Result<(), PlanError> {
        if self.jobs.len() < MAX_JOBS {
            return Ok(());
        }
        Err(PlanError::Workflow {
            file: file.into(),
            place: job.place,
            message: format!("the plan has more than {MAX_JOBS} jobs, called workflows included"),
        })
    }

    /// The images that the scripts of a job name.
    fn images_of_scripts(&self, job: &Job, workflow: usize, steps: &[PlannedStep]) -> Vec<String> {
        let defaults = &self.workflows[workflow].workflow.defaults;
        let (_, folder) = run_defaults(&job.defaults, defaults);
        script_images(steps, folder, self.input.files)
    }

    /// References to outputs that the called workflows do not have.
    fn find_missing_outputs(&mut self) {
        let own = self.jobs.iter().enumerate();
        let own = own.filter(|(_, job)| job.workflow == 0).map(|(at, _)| at);
        for at in own.collect::<Vec<usize>>() {
            let mut known = KnownOutputs::of_needs();
            for need in &self.jobs[at].needs {
                let Some(needed) = self.jobs.iter().find(|job| job.key == *need) else {
                    continue;
                };
                let PlannedWork::Call { workflows, .. } = &needed.work else {
                    continue;
                };
                let called = workflows
                    .first()
                    .map(|index| &self.workflows[*index].workflow);
                let Some(called) = called else { continue };
                let call = called.on.workflow_call.iter();
                let outputs = call.flat_map(|call| &call.outputs);
                let outputs = outputs.map(|(name, _)| name.clone()).collect();
                known.add(needed.id(), &called.file, outputs);
            }
            let file = self.workflows[0].workflow.file.clone();
            let missing = known.missing(&self.jobs[at].job, &file);
            self.jobs[at].findings.extend(missing);
        }
    }

    /// Whether a job may have identity tokens: a called workflow's no more than its caller.
    fn has_id_token(&self, job: &Job, workflow: usize) -> bool {
        let called = &self.workflows[workflow];
        let named = self.asked(job, workflow);
        let allowed = named.is_some_and(|it| it.allows("id-token", PermissionLevel::Write));
        match called.caller {
            None => allowed,
            Some(caller) => self.jobs[caller].id_token && (allowed || named.is_none()),
        }
    }

    /// The copies, unless they depend on other jobs.
    fn instances(&self, job: &Job) -> Instances {
        let needs = |data: &crate::expr::Data| {
            data.refers_to(ContextName::Needs) || data.refers_to(ContextName::Inputs)
        };
        let matrix = job
            .strategy
            .as_ref()
            .and_then(|strategy| strategy.matrix.as_ref());
        let runs_on = match &job.work {
            JobWork::Steps { runs_on, .. } => Some(runs_on),
            JobWork::Call { .. } => None,
        };
        let environment = job.environment.as_ref();
        let texts = [
            job.name.as_ref(),
            job.timeout_minutes.as_ref(),
            job.continue_on_error.as_ref(),
            environment.map(|environment| &environment.name),
            environment.and_then(|environment| environment.deployment.as_ref()),
        ];
        let text_needs = texts
            .iter()
            .filter_map(|text| *text)
            .any(|text| text.refers_to(ContextName::Needs) || text.refers_to(ContextName::Inputs));
        let group_needs = job.concurrency.as_ref().is_some_and(|group| {
            group.group.refers_to(ContextName::Needs) || group.group.refers_to(ContextName::Inputs)
        });
        if matrix.is_some_and(needs) || runs_on.is_some_and(needs) || text_needs || group_needs {
            return Instances::Later;
        }
        // What cannot be is said again, with all contexts, when the job would start.
        let known = expand(job, self.input.contexts);
        known.map_or(Instances::Later, Instances::Known)
    }
}

/// No token of the forge enters a machine.
fn check_env_for_token(env: &Env, file: &str, refusals: &mut Vec<FeatureRefusal>) {
    if let Env::Map(entries) = env {
        entries
            .iter()
            .for_each(|(_, value)| super::steps::check_token(value, file, refusals));
    }
}
