//! Which contexts and functions may be used where (page "Contexts reference", "Context availability").

use crate::expr::Context::{self, *};

/// A place of a workflow at which expressions may stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// As messages call it.
    pub(crate) name: &'static str,
    /// The contexts there are.
    pub(crate) contexts: &'static [Context],
    /// Whether `success()` and its like can be called.
    pub(crate) status: bool,
    /// Whether `hashFiles` can be called.
    pub(crate) files: bool,
}

const fn slot(name: &'static str, contexts: &'static [Context]) -> Slot {
    Slot {
        name,
        contexts,
        status: false,
        files: false,
    }
}

const RUN: &[Context] = &[Github, Inputs, Vars];
const NEEDED: &[Context] = &[Github, Needs, Vars, Inputs];
const JOB: &[Context] = &[Github, Needs, Strategy, Matrix, Vars, Inputs];
const JOB_ENV: &[Context] = &[Github, Needs, Strategy, Matrix, Vars, Secrets, Inputs];
const STEP: &[Context] = &[
    Github, Needs, Strategy, Matrix, Job, Runner, Env, Vars, Secrets, Steps, Inputs,
];
const STEP_IF: &[Context] = &[
    Github, Needs, Strategy, Matrix, Job, Runner, Env, Vars, Steps, Inputs,
];
const ACTION: &[Context] = &[
    Github, Strategy, Matrix, Job, Runner, Env, Vars, Steps, Inputs, Needs,
];

pub(crate) const RUN_NAME: Slot = slot("run-name", RUN);
pub(crate) const CONCURRENCY: Slot = slot("concurrency", RUN);
pub(crate) const CALL_DEFAULT: Slot = slot("the default of an input", RUN);
pub(crate) const WORKFLOW_ENV: Slot = slot("env", &[Github, Secrets, Inputs, Vars]);
pub(crate) const WORKFLOW_DEFAULTS: Slot = slot("defaults.run", RUN);
pub(crate) const CALL_OUTPUT: Slot =
    slot("an output of the workflow", &[Github, Jobs, Vars, Inputs]);
pub(crate) const JOB_NAME: Slot = slot("the name of a job", JOB);
pub(crate) const JOB_IF: Slot = Slot {
    status: true,
    ..slot("the `if` of a job", NEEDED)
};
pub(crate) const RUNS_ON: Slot = slot("runs-on", JOB);
pub(crate) const STRATEGY: Slot = slot("strategy", NEEDED);
pub(crate) const JOB_CONCURRENCY: Slot = slot("concurrency", JOB);
pub(crate) const JOB_CONTINUE: Slot = slot("continue-on-error", JOB);
pub(crate) const JOB_TIMEOUT: Slot = slot("timeout-minutes", JOB);
pub(crate) const JOB_ENVIRONMENT: Slot = slot("env", JOB_ENV);
pub(crate) const JOB_DEFAULTS: Slot = slot(
    "defaults.run",
    &[Github, Needs, Strategy, Matrix, Env, Vars, Inputs],
);
pub(crate) const JOB_OUTPUT: Slot = slot("an output of the job", STEP);
pub(crate) const CALL_WITH: Slot = slot("with", JOB);
pub(crate) const CALL_SECRET: Slot = slot("secrets", JOB_ENV);
pub(crate) const STEP_TEXT: Slot = Slot {
    files: true,
    ..slot("a step", STEP)
};
pub(crate) const STEP_CONDITION: Slot = Slot {
    status: true,
    files: true,
    ..slot("the `if` of a step", STEP_IF)
};
pub(crate) const ACTION_TEXT: Slot = Slot {
    files: true,
    ..slot("an action", ACTION)
};
pub(crate) const ACTION_CONDITION: Slot = Slot {
    status: true,
    files: true,
    ..slot("the `if` of an action's step", ACTION)
};
