//! What a run will do: needs, matrix, called workflows, composite actions; what is refused, and why.

mod board;
mod board_calls;
mod build;
mod expand;
mod inputs;
mod matrix;
mod native;
mod status_contexts;
mod steps;
mod types;
mod versions;

pub use board::{Action, Board};
pub use build::{Files, PlanError, PlanInput, plan};
pub use expand::{DEFAULT_TIMEOUT_MINUTES, ExpandError, concurrency, expand, never_expands};
pub(crate) use inputs::typed as typed_input;
pub use matrix::combinations;
pub(crate) use matrix::includes as excludes;
pub use native::{NativeAction, SetupTool, native_actions, native_inputs};
pub(crate) use native::{native_outputs, required_inputs};
pub use status_contexts::{StatusContexts, run_context, status_context};
pub use types::{
    CalledWorkflow, Composite, Group, Instances, JobInstance, Plan, PlannedJob, PlannedStep,
    PlannedWork, StepKind, run_defaults,
};
pub use versions::Wanted;
