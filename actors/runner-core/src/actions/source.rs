//! Where a plan gets the files of actions of other repositories.

use super::lock::LockedAction;
use super::reference::ActionReference;

/// The operator's store of actions, or what stands for it.
pub trait ActionSource {
    /// What the reference is locked to, when its files are what the lock says.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do, for people.
    fn find(&self, reference: &ActionReference) -> Result<LockedAction, String>;

    /// Whether the operator wants the original of a native action, `owner/name`, in its place.
    fn wants_original(&self, _name: &str) -> bool {
        false
    }

    /// A file of the action's repository at the locked commit, by its path from the top.
    fn read(&self, action: &LockedAction, path: &str) -> Option<Vec<u8>>;
}

/// A store without actions.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoActions;

impl ActionSource for NoActions {
    fn find(&self, reference: &ActionReference) -> Result<LockedAction, String> {
        Err(how_to_add(reference))
    }

    fn read(&self, _action: &LockedAction, _path: &str) -> Option<Vec<u8>> {
        None
    }
}

/// What is said of an action that is not in the store: the command that adds it.
#[must_use]
pub fn how_to_add(reference: &ActionReference) -> String {
    format!(
        "it is not in the runner's store of actions; the operator adds it with `workflow-runner actions add {reference}`"
    )
}
