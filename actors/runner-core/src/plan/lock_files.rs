//! The lock file of a workflow's repository, while what the workflow uses is planned.

use super::build::Builder;
use super::locked_uses::LockedUses;
use super::steps::StepPlanner;
use super::used_actions::{ActionRefusal, StepUse};
use crate::actions::{ActionReference, LockedAction, WORKFLOW_LOCK};
use crate::workflow::Need;

impl Builder<'_> {
    /// What the lock file of a workflow's repository says of what the workflow uses.
    pub(super) fn locked_uses(&self, workflow: usize) -> LockedUses {
        let called = &self.workflows[workflow];
        let file = called.workflow.file.as_ref();
        // A workflow is in a plan once for each copy of its caller.
        let mut known = self.locks.borrow_mut();
        let known = known.entry(file.to_owned());
        let read = || match &called.origin {
            None => LockedUses::parse((self.input.files)(WORKFLOW_LOCK), file),
            Some(origin) => {
                let top = format!("{}@{}/", origin.repository, origin.reference);
                let path = file.strip_prefix(&top).unwrap_or(file);
                let bytes = self.input.actions.read(&origin.locked, WORKFLOW_LOCK);
                LockedUses::parse(bytes, path)
            }
        };
        known.or_insert_with(read).clone()
    }
}

impl StepPlanner<'_> {
    /// Why a `uses` cannot be used: the lock file of the workflow does not let it.
    pub(super) fn locked_out(&self, uses: &str) -> Option<ActionRefusal> {
        let reference = uses.parse().ok()?;
        let fault = self.locked.fault(&reference);
        fault.map(|reason| ActionRefusal::own(&reason))
    }

    /// What the store has for a reference, at the commit that the workflow is locked to.
    pub(super) fn find(&self, reference: &ActionReference) -> Result<LockedAction, String> {
        self.locked.find(self.input.actions, reference)
    }

    /// An action that the store does not have.
    pub(super) fn absent(
        &self,
        reference: &ActionReference,
        need: Need,
        reason: String,
    ) -> ActionRefusal {
        ActionRefusal {
            need,
            reason,
            locked: self.locked.name_to_add(reference),
        }
    }

    /// Says that an action is the one that the lock file names.
    pub(super) fn add_lock_note(&mut self, used: StepUse<'_>, reference: &ActionReference) {
        let commit = self.locked.commit(reference);
        if let Some(commit) = commit.filter(|commit| *commit != reference.reference()) {
            self.add_note(format!("{}: {commit}, as {WORKFLOW_LOCK} says", used.uses));
        }
    }

    /// Says that what the runner does itself is not at the commit that the lock file names.
    pub(super) fn add_native_lock_note(&mut self, used: StepUse<'_>) {
        let reference = used.uses.parse::<ActionReference>();
        if reference.is_ok_and(|reference| self.locked.commit(&reference).is_some()) {
            self.add_note(format!(
                "{}: the runner does it itself, whichever commit {WORKFLOW_LOCK} names",
                used.uses
            ));
        }
    }

    fn add_note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Plans what an action of the repository uses: `$/path` is of the commit, and followed by the
    /// lock file; what `./path` is, is known when its step runs.
    pub(super) fn in_own_action<T>(&mut self, uses: &str, plan: impl FnOnce(&mut Self) -> T) -> T {
        if uses.starts_with("$/") {
            return plan(self);
        }
        let partial = self.locked.partial();
        let outer = std::mem::replace(&mut self.locked, partial);
        let planned = plan(self);
        self.locked = outer;
        planned
    }
}
