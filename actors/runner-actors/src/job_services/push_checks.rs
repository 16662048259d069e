//! What of a push, and of commits that calls name, is looked at before the forge gets it.

use config_core::quoted;
use git_engine::{GitError, Quarantine};
use runner_core::gateway::{
    ChangedWorkflows, MAX_CHANGED_WORKFLOWS, PushCommand, check_reference, check_workflows,
};
use runner_core::workflow::WORKFLOW_DIRECTORIES;

/// Why a pack is not taken, in words for whoever pushes.
pub(super) fn pack_fault(error: &GitError, limit: u64) -> String {
    let text = error.to_string();
    if text.contains("maximum allowed size") || matches!(error, GitError::FetchTooLarge { .. }) {
        return format!("the pack is larger than the {limit} bytes that a push may bring");
    }
    match error {
        GitError::Failed { message, .. } => message.clone(),
        GitError::TimedOut { .. } | GitError::TooMuch { .. } => text,
        _ => "the pack cannot be taken in".to_owned(),
    }
}

/// Whether a reference may be moved, by itself.
pub(super) fn permitted(quarantine: &Quarantine, command: &PushCommand) -> Result<(), String> {
    check_reference(command)?;
    if command.removes() {
        return Ok(());
    }
    match quarantine.commit(&command.new) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(format!("{} leads to no commit", quoted(&command.new))),
        Err(_) => Err("its commit cannot be read".to_owned()),
    }
}

/// Whether all is here that the commands need, and no workflow file is changed.
pub(super) fn checked(quarantine: &Quarantine, commands: &[PushCommand]) -> Result<(), String> {
    let moved = commands.iter().filter(|command| !command.removes());
    let tips: Vec<String> = moved.map(|command| command.new.clone()).collect();
    check_new_commits(quarantine, &tips)
}

/// Whether all is here that these commits need, and none of them or before them that the forge has
/// on no reference changes workflow files.
pub(super) fn check_new_commits(quarantine: &Quarantine, tips: &[String]) -> Result<(), String> {
    if tips.is_empty() {
        return Ok(());
    }
    let unread = |error: GitError| match error {
        GitError::Failed { message, .. } => format!("missing necessary objects ({message})"),
        GitError::Unexpected { reason, .. } => reason,
        error => error.to_string(),
    };
    let new = quarantine.new_commits(tips).map_err(unread)?;
    let changing = quarantine
        .changing(&new, &WORKFLOW_DIRECTORIES)
        .map_err(unread)?;
    if changing.len() > MAX_CHANGED_WORKFLOWS {
        return Err(format!(
            "more than {MAX_CHANGED_WORKFLOWS} of its commits have other workflow files than their parents"
        ));
    }
    let changed = changing.into_iter().map(|(id, folder)| {
        let is_known = quarantine.is_known(&id, &WORKFLOW_DIRECTORIES)?;
        Ok(ChangedWorkflows {
            id,
            folder,
            is_known,
        })
    });
    let changed: Vec<ChangedWorkflows> = changed.collect::<Result<_, _>>().map_err(unread)?;
    check_workflows(&changed)
}
