//! Workflow and action files: what they say, checked, with the place of every part.

mod action;
mod events;
mod fields;
mod filters;
mod inputs;
mod job;
mod kinds;
mod known;
mod matrix;
mod needs;
mod parse;
mod permissions;
mod places;
mod reader;
mod references;
mod sites;
mod slots;
mod step;
mod strategy;
mod triggers;
mod types;
mod uses;
mod values;

pub use action::{Action, ActionRuns, parse_action};
pub use parse::{Parsed, parse};
pub use types::{
    CallSecrets, CallTrigger, Concurrency, Env, Filter, InputKind, InputSpec, Job, JobWork,
    PullRequestTrigger, PushTrigger, Refusal, RunDefaults, SecretSpec, Step, StepWork, Strategy,
    Triggers, Workflow,
};
pub(crate) use uses::in_repository;
