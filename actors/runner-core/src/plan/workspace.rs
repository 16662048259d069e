//! What lies in a job's workspace before its first step.

use super::native::NativeAction;
use super::types::{PlannedStep, StepKind};

/// What the workspace of a job has that checks nothing out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceStart {
    /// The event's commit: the definitions of the contract have no checkout.
    #[default]
    Commit,
    /// Nothing, as on GitHub.
    Empty,
}

/// Whether the event's commit lies there from the start: where a step checks something out, as on
/// GitHub, the workspace is empty until then.
#[must_use]
pub fn begins_with_commit(steps: &[PlannedStep], otherwise: WorkspaceStart) -> bool {
    match steps.iter().position(checks_out) {
        None => otherwise == WorkspaceStart::Commit,
        // Nothing sees it before.
        Some(0) => is_plain(&steps[0]),
        Some(_) => false,
    }
}

/// What is said of a job that checks nothing out, where that can make a difference.
pub(crate) fn workspace_note(steps: &[PlannedStep]) -> Option<String> {
    let differs = !steps.iter().any(checks_out) && steps.iter().any(sees_workspace);
    differs.then(|| {
        "it checks nothing out: the commit lies in its workspace all the same (GitHub's is empty; `workspace = \"empty\"` of the runner)"
            .to_owned()
    })
}

/// A checkout, or an action of another repository with one: an action of the repository itself can
/// only be used after one.
fn checks_out(step: &PlannedStep) -> bool {
    match &step.work {
        StepKind::Native { action, .. } => *action == NativeAction::Checkout,
        StepKind::Composite(action) => {
            action.location.stored().is_some() && action.steps.iter().any(checks_out)
        }
        _ => false,
    }
}

/// Whether files that lie there may matter to it: scripts that look for a repository, and what is
/// packed or unpacked.
fn sees_workspace(step: &PlannedStep) -> bool {
    match &step.work {
        StepKind::Run { script, .. } => {
            let apart = |c: char| c.is_whitespace() || ";|&(){}`\"'".contains(c);
            let mut lines = script.source.lines();
            lines.any(|line| line.split(apart).any(|word| word == "git"))
        }
        StepKind::Composite(action) => action.steps.iter().any(sees_workspace),
        StepKind::Native { action, .. } => !matches!(action, NativeAction::Setup(_)),
        _ => false,
    }
}

/// Whether a checkout certainly runs, alone, and fills the workspace itself.
fn is_plain(step: &PlannedStep) -> bool {
    let StepKind::Native { with, .. } = &step.work else {
        return false;
    };
    let has_path = with
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("path"));
    !has_path && step.condition.is_none() && !step.background
}
