//! What counts where a workflow says nothing: what the job's token may do, and whether a new push
//! ends what runs for the one before, as at Gitea and Forgejo.

use forge_core::Forge;
use runner_core::event::EventKind;
use runner_core::workflow::{PermissionLevel, Permissions, Workflow};

use crate::event::StoredEvent;
use crate::settings::RunnerSettings;

/// Fills in what the workflow does not name.
pub(super) fn settle(settings: &RunnerSettings, event: &StoredEvent, workflow: &mut Workflow) {
    let forge = event.forge(settings.forge);
    let own = settings.scopes.token_permissions(&event.repository);
    let level = own.or(settings.token_permissions);
    let of_strangers = event.untrusted || event.kind().is_open_to_strangers();
    let defaults = token_defaults(level, of_strangers);
    workflow.permissions = Some(Permissions::or_defaults(
        workflow.permissions.take(),
        &defaults,
    ));
    for job in &mut workflow.jobs {
        if let Some(named) = job.permissions.take() {
            let of_workflow = workflow.permissions.as_ref().unwrap_or(&defaults);
            job.permissions = Some(Permissions::or_defaults(Some(named), of_workflow));
        }
    }
    if settings.cancel_previous.unwrap_or(false) && is_push(event) {
        workflow.cancel_previous(forge == Forge::Forgejo);
    }
}

/// What a token may do whose workflow names nothing, where this level is set; read where none is.
fn token_defaults(level: Option<PermissionLevel>, of_strangers: bool) -> Permissions {
    match level {
        Some(PermissionLevel::Write) if !of_strangers => Permissions::permissive(),
        _ => Permissions::restricted(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_tokens_write_by_themselves_where_that_is_set_but_not_for_strangers() {
        let (read, write) = (Some(PermissionLevel::Read), Some(PermissionLevel::Write));
        for (level, of_strangers, writes) in [
            (None, false, false),
            (read, false, false),
            (write, false, true),
            (write, true, false),
        ] {
            let found = token_defaults(level, of_strangers);
            assert_eq!(found.allows("contents", PermissionLevel::Write), writes);
            assert!(!found.allows("id-token", PermissionLevel::Write));
        }
    }
}
