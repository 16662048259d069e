//! Why a workflow is not started by an event that is neither a push nor a pull request.

use crate::workflow::EventTrigger;

/// Why not; nothing when it is. `branch` is where a merge group goes, or where the run was that
/// `workflow_run` follows, `workflow` what that was of.
pub(crate) fn skip_reason(
    trigger: &EventTrigger,
    action: &str,
    branch: &str,
    workflow: &str,
) -> Option<String> {
    let mut types = trigger.types.iter();
    if !trigger.types.is_empty() && !types.any(|kind| kind.eq_ignore_ascii_case(action)) {
        return Some(format!("it is not started by the action {action}"));
    }
    if !trigger.workflows.is_empty() && !trigger.workflows.iter().any(|name| name == workflow) {
        return Some(format!("it does not follow the workflow {workflow}"));
    }
    if trigger.branches.is_given() && !trigger.branches.passes(branch) {
        return Some(format!("the branch {branch} is filtered out"));
    }
    None
}
