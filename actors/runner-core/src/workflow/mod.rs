//! Workflow and action files: what they say, checked, with the place of every part.

mod action;
mod availability;
mod background;
mod blocks;
mod cache_mode;
mod checks;
mod commands;
mod comparisons;
mod containers;
mod context_properties;
mod dialect;
mod docker_runs;
mod environment;
mod events;
mod fields;
mod filters;
mod forge_keys;
mod implicit_group;
mod inputs;
mod job;
mod kinds;
mod locations;
mod matrix;
mod need;
mod needs;
mod parse;
mod permissions;
mod reader;
mod references;
mod sites;
mod step;
mod strategy;
mod trigger_types;
mod triggers;
mod types;
mod uses;
mod values;

pub use crate::glob::GlobFilter;
pub use action::{Action, ActionRuns, NodeRuns, NodeStage, parse_action, parse_stored_action};
pub use cache_mode::CacheMode;
pub use dialect::Dialect;
pub use docker_runs::{DockerImage, DockerRuns, DockerStage};
pub use environment::{JobEnvironment, wrong_name};
pub use need::Need;
pub use parse::{ParsedFile, parse, parse_as};
pub use permissions::{PermissionLevel, Permissions};
pub use trigger_types::{
    CallTrigger, EventTrigger, InputKind, InputSpec, PullRequestTrigger, PushTrigger, SecretSpec,
    Triggers,
};
pub use types::{
    CallSecrets, Concurrency, ConcurrencyQueue, Env, FeatureRefusal, Job, JobWork, RunDefaults,
    Step, StepWork, Strategy, WORKFLOW_DIRECTORIES, WaitFor, Workflow,
};
pub(crate) use uses::in_repository;
