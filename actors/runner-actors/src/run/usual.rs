//! What counts where a workflow says nothing, by the forge that it is of: what the job's token may
//! do, and whether a new push ends what runs for the one before.

use forge_core::Forge;
use runner_core::event::EventKind;
use runner_core::workflow::{PermissionLevel, Permissions, Workflow};

use crate::event::StoredEvent;
use crate::settings::RunnerSettings;

/// Fills in what the workflow does not name.
pub(super) fn settle(settings: &RunnerSettings, event: &StoredEvent, workflow: &mut Workflow) {
    let is_github = event.forge(settings.forge) == Forge::GitHub;
    let own = settings.scopes.token_permissions(&event.repository);
    let level = own.or(settings.token_permissions);
    let usual = match is_github {
        true => PermissionLevel::Read,
        false => PermissionLevel::Write,
    };
    let of_strangers = event.untrusted || event.kind().is_open_to_strangers();
    let may_write = level.unwrap_or(usual) == PermissionLevel::Write && !of_strangers;
    let defaults = match may_write {
        true => Permissions::permissive(),
        false => Permissions::restricted(),
    };
    workflow.permissions = Some(Permissions::over(workflow.permissions.take(), &defaults));
    for job in &mut workflow.jobs {
        if let Some(named) = job.permissions.take() {
            let of_workflow = workflow.permissions.as_ref().unwrap_or(&defaults);
            job.permissions = Some(Permissions::over(Some(named), of_workflow));
        }
    }
    if settings.cancel_previous.unwrap_or(!is_github) && is_push(event) {
        workflow.cancel_previous();
    }
}

/// Whether it brings commits to a branch or a pull request. What else happens to a pull request
/// neither ends nor awaits what runs.
fn is_push(event: &StoredEvent) -> bool {
    match event.kind() {
        EventKind::Push => true,
        EventKind::PullRequest => event.action().is_some_and(|action| {
            ["opened", "reopened", "synchronize", "synchronized"].contains(&action)
        }),
        _ => false,
    }
}
