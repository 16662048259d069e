//! Steps that the runner does itself.

use super::native::{NEWEST, NativeAction, planned_setup, release_of, sets_up, unknown_inputs};
use super::steps::StepPlanner;
use super::types::{DeferredAction, StepKind};
use super::used_actions::StepUse;
use crate::actions::ActionReference;
use crate::expr::ExprTemplate;

impl StepPlanner<'_> {
    pub(super) fn is_stored(&self, uses: &str) -> bool {
        let reference = uses.parse::<ActionReference>();
        reference.is_ok_and(|reference| self.find(&reference).is_ok())
    }

    /// A step that the runner does.
    pub(super) fn native_step(&mut self, used: StepUse<'_>, action: NativeAction) -> StepKind {
        self.add_native_lock_note(used);
        if sets_up(used.uses) {
            let is_stored = self.is_stored(used.uses);
            let setup = planned_setup(action, used.uses, used.with, is_stored);
            self.setups.extend(setup);
        }
        for input in unknown_inputs(used.uses, used.with) {
            let input = config_core::quoted(input);
            let note = format!(
                "{}: unexpected input {input}: it changes nothing",
                used.uses
            );
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let comment = self.comment.take();
        let release = release_of(used.uses, comment.as_deref());
        let is_guessed = release.ends_with(NEWEST) && !used.uses.ends_with(NEWEST);
        if is_guessed && action == NativeAction::DownloadArtifact && may_be_alone(used.with) {
            let note = format!(
                "{}: no comment behind the commit tells its release: it is done as the newest, by which an artifact that is alone lies in `path` itself, and not in a folder of its name as before release 5",
                used.uses
            );
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let original = sets_up(used.uses).then(|| {
            Box::new(DeferredAction {
                original: true,
                ..self.deferred_action(used)
            })
        });
        StepKind::Native {
            action,
            uses: used.uses.to_owned(),
            release,
            with: used.with.to_vec(),
            original,
        }
    }
}

/// Whether a download of artifacts may be of one that is not named.
fn may_be_alone(with: &[(String, ExprTemplate)]) -> bool {
    let mut inputs = with.iter();
    !inputs.any(|(name, _)| {
        let decides = ["name", "artifact-ids", "merge-multiple"];
        decides.iter().any(|one| name.eq_ignore_ascii_case(one))
    })
}
