//! What a run will do: needs, matrix, called workflows, composite actions; what is refused, and
//! why.

mod action_paths;
mod build;
mod call_template;
mod called_file;
mod called_permissions;
mod called_workflows;
mod calls;
mod check_call;
mod deferred;
mod docker;
mod expand;
mod foreseen;
mod foreseen_inputs;
mod foreseen_machines;
mod input;
mod job_variables;
mod known_outputs;
mod likely;
mod lock_files;
mod locked_uses;
mod matrix;
mod native;
mod native_step;
mod place;
mod plan_state;
mod script_images;
mod status_contexts;
mod steps;
mod types;
mod used_actions;
mod workflow_inputs;
mod workspace;

pub use build::plan;
pub use deferred::{PlannedAction, plan_deferred};
pub use docker::is_override;
pub use expand::{DEFAULT_TIMEOUT_MINUTES, ExpandError, concurrency, expand, odd_copies};
pub(crate) use foreseen::{ForeseenJob, foreseen};
pub(crate) use foreseen_machines::ForeseenMachine;
pub use input::{FileLookup, PlanError, PlanInput};
pub(crate) use likely::KnownValues;
pub use locked_uses::LockedUses;
pub use matrix::combinations;
pub(crate) use matrix::includes as excludes;
pub use native::{
    NativeAction, PlannedSetup, SetupTool, is_release_since, native_actions, undone_value,
};
pub(crate) use native::{native_outputs, required_inputs};
pub use place::WorkflowPlace;
pub use plan_state::{PlanAction, PlanState};
pub use status_contexts::{StatusContexts, run_context, status_context};
pub use types::{
    ActionLocation, CallTemplate, CalledWorkflow, Composite, ConcurrencyGroup, DeferredAction,
    DockerAction, InstanceEnvironment, Instances, JobInstance, NodeAction, Plan, PlanFinding,
    PlannedJob, PlannedStep, PlannedWork, StepKind, StoredLocation, run_defaults,
};
pub(crate) use workflow_inputs::typed as typed_input;
pub(crate) use workspace::workspace_note;
pub use workspace::{WorkspaceStart, begins_with_commit};
