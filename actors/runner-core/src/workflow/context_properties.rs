//! The properties contexts have (page "Contexts reference").

use crate::expr::ContextName;

const GITHUB: &[&str] = &[
    "action",
    "action_path",
    "action_ref",
    "action_repository",
    "action_status",
    "actor",
    "actor_id",
    "api_url",
    "artifacts",
    "artifacts_list",
    "base_ref",
    "env",
    "event",
    "event_name",
    "event_path",
    "graphql_url",
    "head_ref",
    "job",
    "output",
    "path",
    "ref",
    "ref_name",
    "ref_protected",
    "ref_type",
    "repository",
    "repository_id",
    "repository_owner",
    "repository_owner_id",
    "repository_visibility",
    "repositoryUrl",
    "retention_days",
    "run_id",
    "run_number",
    "run_attempt",
    "secret_source",
    "server_url",
    "sha",
    "state",
    "step_summary",
    "token",
    "triggering_actor",
    "workflow",
    "workflow_ref",
    "workflow_sha",
    "workspace",
];

const RUNNER: &[&str] = &[
    "name",
    "os",
    "arch",
    "temp",
    "tool_cache",
    "debug",
    "environment",
    "workspace",
];

const JOB: &[&str] = &[
    "container",
    "services",
    "status",
    "check_run_id",
    "workflow_file_path",
    "workflow_ref",
    "workflow_repository",
    "workflow_sha",
];

const STRATEGY: &[&str] = &["fail-fast", "job-index", "job-total", "max-parallel"];

/// What is known of the container of a job, and of its services.
pub(super) const CONTAINER: &[&str] = &["id", "network"];
pub(super) const SERVICE: &[&str] = &["id", "network", "ports"];

/// What a step that has ended is known by.
pub(super) const STEP: &[&str] = &["outputs", "outcome", "conclusion"];

/// What a job that has ended is known by.
pub(super) const ENDED_JOB: &[&str] = &["outputs", "result"];

/// All properties of a context that has the same ones everywhere.
pub(super) fn properties(context: ContextName) -> Option<&'static [&'static str]> {
    match context {
        ContextName::Github => Some(GITHUB),
        ContextName::Runner => Some(RUNNER),
        ContextName::Job => Some(JOB),
        ContextName::Strategy => Some(STRATEGY),
        _ => None,
    }
}
