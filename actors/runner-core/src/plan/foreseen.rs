//! What can be said before a run of copies that are made of inputs or of what other jobs give: the
//! machines that a file names whatever those come to.

use super::expand::{expand, made_of};
use super::foreseen_inputs::{Confidence, KnownInputs};
use super::foreseen_machines::{ForeseenMachine, machines_named};
use super::likely::decided;
use super::types::{CalledWorkflow, Instances, JobInstance, Plan, PlannedJob, PlannedWork};
use crate::expr::{ContextName, Contexts, Expr, Function, IfCondition};
use crate::workflow::{Job, JobWork, Workflow};

/// A job, and what is known of its copies before the run.
pub(crate) struct ForeseenJob<'p> {
    /// The job.
    pub(crate) job: &'p PlannedJob,
    /// The workflow it is of.
    pub(crate) workflow: &'p Workflow,
    /// Its key, those of its callers in front.
    pub(crate) key: String,
    /// Its copies; empty where they are not known.
    pub(crate) copies: Vec<JobInstance>,
    /// What its machines are asked for by.
    pub(crate) machines: Vec<ForeseenMachine>,
    /// Whether these are all of them.
    pub(crate) is_complete: bool,
    /// Whether its `if` holds in no run: it needs no machine.
    pub(crate) is_left_out: bool,
    /// When its copies are known, where they are not.
    pub(crate) awaits: Option<&'static str>,
}

/// The jobs of a plan, those of calls included whose copies are not known.
pub(crate) fn foreseen<'p>(plan: &'p Plan, contexts: &Contexts) -> Vec<ForeseenJob<'p>> {
    let mut jobs = Vec::new();
    collect_jobs((&plan.jobs, &plan.workflows), None, "", contexts, &mut jobs);
    jobs
}

/// The job that calls, and the inputs of its own workflow.
type Caller<'p, 'i> = (&'p PlannedJob, &'i KnownInputs);

fn collect_jobs<'p>(
    (jobs, workflows): (&'p [PlannedJob], &'p [CalledWorkflow]),
    outer: Option<Caller<'p, '_>>,
    prefix: &str,
    contexts: &Contexts,
    found: &mut Vec<ForeseenJob<'p>>,
) {
    let mut inputs: Vec<KnownInputs> = Vec::with_capacity(workflows.len());
    for (index, called) in workflows.iter().enumerate() {
        // Callers stand before what they call.
        let of_plan = called.caller.filter(|_| index > 0 || outer.is_none());
        let caller = of_plan.and_then(|at| {
            let job = jobs.get(at)?;
            Some((job, inputs.get(job.workflow)?))
        });
        let caller = caller.or(outer.filter(|_| index == 0));
        let known = match caller {
            Some((job, outer)) => KnownInputs::of_call(called, job, outer, contexts),
            None => KnownInputs::by_default(&called.workflow, contexts),
        };
        inputs.push(known);
    }
    for job in jobs {
        let known = &inputs[job.workflow];
        let workflow = &workflows[job.workflow].workflow;
        let key = format!("{prefix}{}", job.key);
        found.push(foresee(job, workflow, key.clone(), known, contexts));
        if let PlannedWork::Call {
            later: Some(template),
            ..
        } = &job.work
        {
            let parts = (template.jobs.as_slice(), template.workflows.as_slice());
            collect_jobs(
                parts,
                Some((job, known)),
                &format!("{key}/"),
                contexts,
                found,
            );
        }
    }
}

fn foresee<'p>(
    job: &'p PlannedJob,
    workflow: &'p Workflow,
    key: String,
    inputs: &KnownInputs,
    contexts: &Contexts,
) -> ForeseenJob<'p> {
    let mut foreseen = ForeseenJob {
        job,
        workflow,
        key,
        copies: Vec::new(),
        machines: Vec::new(),
        is_complete: true,
        is_left_out: false,
        awaits: None,
    };
    let is_call = matches!(job.job.work, JobWork::Call { .. });
    let with_inputs = contexts.clone().with(ContextName::Inputs, inputs.values());
    if let Instances::Known(copies) = &job.instances {
        foreseen.copies.clone_from(copies);
        foreseen.machines = machines(copies, true);
    } else if let Some((copies, sureness)) = by_inputs(&job.job, inputs, &with_inputs) {
        match sureness {
            Confidence::Sure => {
                foreseen.machines = machines(&copies, true);
                foreseen.copies = copies;
            }
            Confidence::Likely => {
                let (named, is_complete) = machines_named(&job.job, inputs, contexts);
                // What is likely of them may be other things than their labels.
                match named.iter().any(|machine| machine.is_sure) {
                    true => (foreseen.machines, foreseen.is_complete) = (named, is_complete),
                    false => foreseen.machines = machines(&copies, false),
                }
                foreseen.awaits = Some(awaited(job, workflow));
            }
        }
    } else {
        let (machines, is_complete) = machines_named(&job.job, inputs, contexts);
        (foreseen.machines, foreseen.is_complete) = (machines, is_complete);
        foreseen.awaits = Some(awaited(job, workflow));
    }
    if is_call {
        foreseen.machines.clear();
    }
    foreseen.is_left_out = is_left_out(job.job.condition.as_ref(), inputs, &with_inputs);
    foreseen
}

fn machines(copies: &[JobInstance], is_sure: bool) -> Vec<ForeseenMachine> {
    let machine = |copy: &JobInstance| ForeseenMachine {
        labels: copy.runs_on.clone(),
        group: copy.machine_group.clone(),
        is_sure,
    };
    copies.iter().map(machine).collect()
}

/// The copies of a job that inputs alone decide on, where they are known.
fn by_inputs(
    job: &Job,
    inputs: &KnownInputs,
    with_inputs: &Contexts,
) -> Option<(Vec<JobInstance>, Confidence)> {
    let mut sureness = Some(Confidence::Sure);
    made_of(job, &mut |expr| {
        sureness = sureness.and_then(|before| Some(before.min(of_copies(expr, inputs)?)));
    });
    let copies = expand(job, with_inputs).ok()?;
    Some((copies, sureness?))
}

/// How sure an expression is that may name the job's own matrix.
fn of_copies(expr: &Expr, inputs: &KnownInputs) -> Option<Confidence> {
    inputs.sureness(expr, &[ContextName::Matrix, ContextName::Strategy])
}

/// Whether a condition does not hold whatever happens: by constants, those of the call included.
fn is_left_out(
    condition: Option<&IfCondition>,
    inputs: &KnownInputs,
    with_inputs: &Contexts,
) -> bool {
    let is_known = |expr: &Expr| {
        let is_plain = !calls(expr, |it| it.is_status() || it == Function::HashFiles);
        is_plain && inputs.sureness(expr, &[]) == Some(Confidence::Sure)
    };
    let condition = condition.map(IfCondition::expr);
    // What is decided is what holds after success.
    let condition = condition.filter(|expr| !calls(expr, |it| it == Function::Success));
    let holds = condition.and_then(|expr| decided(expr, with_inputs, &is_known));
    holds == Some(false)
}

fn calls(expr: &Expr, is_it: impl Fn(Function) -> bool) -> bool {
    let mut found = false;
    expr.walk(&mut |expr| found |= matches!(expr, Expr::Call(function, _) if is_it(*function)));
    found
}

/// When the copies of a job are known.
fn awaited(job: &PlannedJob, workflow: &Workflow) -> &'static str {
    let refers = |context| {
        let mut refers = false;
        made_of(&job.job, &mut |expr| refers |= expr.refers_to(context));
        refers
    };
    if refers(ContextName::Needs) {
        "once the jobs it needs have ended"
    } else if refers(ContextName::Inputs) && workflow.on.workflow_call.is_some() {
        "when its workflow is called"
    } else if refers(ContextName::Inputs) {
        "when its workflow is started"
    } else if refers(ContextName::Vars) {
        "with the runner's variables"
    } else {
        "when it starts"
    }
}
