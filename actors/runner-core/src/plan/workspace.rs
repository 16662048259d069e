//! What lies in a job's workspace before its first step.

use super::native::NativeAction;
use super::types::{PlannedStep, StepKind};

/// Whether the event's commit lies there from the start: where a step checks something out, as on
/// GitHub, the workspace is empty until then.
#[must_use]
pub fn begins_with_commit(steps: &[PlannedStep]) -> bool {
    match steps.iter().position(is_checkout) {
        None => true,
        // Nothing sees it before.
        Some(0) => is_plain(&steps[0]),
        Some(_) => false,
    }
}

/// What is said of a job that checks nothing out and runs scripts.
pub(crate) fn workspace_note(steps: &[PlannedStep]) -> Option<String> {
    let runs = |step: &PlannedStep| matches!(step.work, StepKind::Run { .. });
    (!steps.iter().any(is_checkout) && steps.iter().any(runs)).then(|| {
        "it checks nothing out: the commit lies in its workspace all the same (GitHub's is empty)"
            .to_owned()
    })
}

fn is_checkout(step: &PlannedStep) -> bool {
    let StepKind::Native { action, .. } = &step.work else {
        return false;
    };
    *action == NativeAction::Checkout
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
