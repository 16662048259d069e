//! Which contexts and functions may be used where (page "Contexts reference", "Context
//! availability").

use super::dialect::Dialect;
use crate::expr::ContextName::{self, *};

/// A place of a workflow at which expressions may stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Availability {
    /// As messages call it.
    pub(crate) name: &'static str,
    /// The contexts there are.
    pub(crate) contexts: &'static [ContextName],
    /// Whether `success()` and its like can be called.
    pub(crate) status: bool,
    /// Whether `hashFiles` can be called.
    pub(crate) files: bool,
}

const fn availability(name: &'static str, contexts: &'static [ContextName]) -> Availability {
    Availability {
        name,
        contexts,
        status: false,
        files: false,
    }
}

const RUN: &[ContextName] = &[Github, Inputs, Vars];
const NEEDED: &[ContextName] = &[Github, Needs, Vars, Inputs];
const JOB: &[ContextName] = &[Github, Needs, Strategy, Matrix, Vars, Inputs];
const JOB_ENV: &[ContextName] = &[Github, Needs, Strategy, Matrix, Vars, Secrets, Inputs];
const STEP: &[ContextName] = &[
    Github, Needs, Strategy, Matrix, Job, Runner, Env, Vars, Secrets, Steps, Inputs,
];
/// At Gitea and Forgejo.
const FORGE_JOB_IF: &[ContextName] = &[Github, Needs, Vars, Inputs, Env, Secrets];
const STEP_IF: &[ContextName] = &[
    Github, Needs, Strategy, Matrix, Job, Runner, Env, Vars, Steps, Inputs,
];
const ACTION: &[ContextName] = &[
    Github, Strategy, Matrix, Job, Runner, Env, Vars, Steps, Inputs, Needs,
];

pub(crate) const RUN_NAME: Availability = availability("run-name", RUN);
pub(crate) const CONCURRENCY: Availability = availability("concurrency", RUN);
pub(crate) const CALL_DEFAULT: Availability = availability("the default of an input", RUN);
pub(crate) const WORKFLOW_ENV: Availability = availability("env", &[Github, Secrets, Inputs, Vars]);
pub(crate) const WORKFLOW_DEFAULTS: Availability = availability("defaults.run", RUN);
pub(crate) const CALL_OUTPUT: Availability =
    availability("an output of the workflow", &[Github, Jobs, Vars, Inputs]);
pub(crate) const JOB_NAME: Availability = availability("the name of a job", JOB);
const JOB_IF: Availability = Availability {
    status: true,
    ..availability("the `if` of a job", NEEDED)
};
pub(crate) const RUNS_ON: Availability = availability("runs-on", JOB);
pub(crate) const STRATEGY: Availability = availability("strategy", NEEDED);
pub(crate) const JOB_CONCURRENCY: Availability = availability("concurrency", JOB);
pub(crate) const ENVIRONMENT_NAME: Availability = availability("environment", JOB);
pub(crate) const ENVIRONMENT_URL: Availability = availability(
    "the url of an environment",
    &[
        Github, Needs, Strategy, Matrix, Job, Runner, Env, Vars, Steps, Inputs,
    ],
);
pub(crate) const JOB_CONTINUE: Availability = availability("continue-on-error", JOB);
pub(crate) const JOB_TIMEOUT: Availability = availability("timeout-minutes", JOB);
pub(crate) const JOB_ENVIRONMENT: Availability = availability("env", JOB_ENV);
pub(crate) const JOB_DEFAULTS: Availability = availability(
    "defaults.run",
    &[Github, Needs, Strategy, Matrix, Env, Vars, Inputs],
);
pub(crate) const CONTAINER: Availability = availability("a container", JOB);
pub(crate) const CONTAINER_VALUES: Availability = availability(
    "`env` and `credentials` of a container",
    &[Github, Needs, Strategy, Matrix, Env, Vars, Secrets, Inputs],
);
pub(crate) const JOB_OUTPUT: Availability = availability("an output of the job", STEP);
const CALL_WITH: Availability = availability("with", JOB);
pub(crate) const CALL_SECRET: Availability = availability("secrets", JOB_ENV);
pub(crate) const STEP_TEXT: Availability = Availability {
    files: true,
    ..availability("a step", STEP)
};
const STEP_CONDITION: Availability = Availability {
    status: true,
    files: true,
    ..availability("the `if` of a step", STEP_IF)
};
pub(crate) const ACTION_TEXT: Availability = Availability {
    files: true,
    ..availability("an action", ACTION)
};
pub(crate) const ACTION_CONDITION: Availability = Availability {
    status: true,
    files: true,
    ..availability("the `if` of an action's step", ACTION)
};

/// The `if` of a job, which knows variables and secrets at Gitea and Forgejo.
pub(crate) fn job_if(dialect: Dialect) -> Availability {
    match dialect {
        Dialect::GitHub => JOB_IF,
        Dialect::Forge | Dialect::Gitea => Availability {
            contexts: FORGE_JOB_IF,
            ..JOB_IF
        },
    }
}

/// What a called workflow is given, which may be secrets at Gitea and Forgejo.
pub(crate) fn call_with(dialect: Dialect) -> Availability {
    match dialect {
        Dialect::GitHub => CALL_WITH,
        Dialect::Forge | Dialect::Gitea => Availability {
            contexts: JOB_ENV,
            ..CALL_WITH
        },
    }
}

/// The `if` of a step, which knows secrets at Gitea and Forgejo.
pub(crate) fn step_if(dialect: Dialect) -> Availability {
    match dialect {
        Dialect::GitHub => STEP_CONDITION,
        Dialect::Forge | Dialect::Gitea => Availability {
            contexts: STEP,
            ..STEP_CONDITION
        },
    }
}
