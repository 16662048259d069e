//! Where a plan gets the files of actions of other repositories.

use super::lock::LockedAction;
use super::reference::ActionReference;
use super::workflow_lock::WORKFLOW_LOCK;
use crate::container::{ImageReference, how_to_add_image};

/// The operator's stores of actions and images, or what stands for them.
pub trait ActionSource {
    /// What the reference is locked to, when its files are what the lock says.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do, for people.
    fn find(&self, reference: &ActionReference) -> Result<LockedAction, String>;

    /// The action at the commit that a workflow's own lock file names, whichever name it is stored
    /// by.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do, for people.
    fn find_commit(
        &self,
        reference: &ActionReference,
        commit: &str,
    ) -> Result<LockedAction, String> {
        let named = self.find(reference);
        let by_commit = || self.find(&reference.with_commit(commit));
        match named {
            Ok(found) if found.commit == commit => Ok(found),
            named => by_commit().map_err(|_| how_to_add_locked(reference, commit, named.ok())),
        }
    }

    /// Whether the operator wants the original of a native action, `owner/name`, in its place.
    fn wants_original(&self, _name: &str) -> bool {
        false
    }

    /// A file of the action's repository at the locked commit, by its path from the top.
    fn read(&self, action: &LockedAction, path: &str) -> Option<Vec<u8>>;

    /// Whether a container can be made of this image: it is in the store of images, or comes from a
    /// registry that the operator allows.
    ///
    /// # Errors
    /// Why it cannot, and what to do, for people.
    fn image(&self, image: &ImageReference) -> Result<(), String> {
        Err(how_to_add_image(image))
    }
}

/// A source that wants the original of one native action.
pub(crate) struct WithOriginal<'a> {
    pub(crate) source: &'a dyn ActionSource,
    /// `owner/name`.
    pub(crate) name: &'a str,
}

impl ActionSource for WithOriginal<'_> {
    fn find(&self, reference: &ActionReference) -> Result<LockedAction, String> {
        self.source.find(reference)
    }

    fn find_commit(
        &self,
        reference: &ActionReference,
        commit: &str,
    ) -> Result<LockedAction, String> {
        self.source.find_commit(reference, commit)
    }

    fn wants_original(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case(self.name) || self.source.wants_original(name)
    }

    fn read(&self, action: &LockedAction, path: &str) -> Option<Vec<u8>> {
        self.source.read(action, path)
    }

    fn image(&self, image: &ImageReference) -> Result<(), String> {
        self.source.image(image)
    }
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

/// What is said of an action that the store does not have at the commit that the workflow's lock
/// file names; `other` is what it has by the same name.
#[must_use]
pub fn how_to_add_locked(
    reference: &ActionReference,
    commit: &str,
    other: Option<LockedAction>,
) -> String {
    let has = other.map_or_else(
        || "which is not in the runner's store of actions".to_owned(),
        |other| format!("and the runner's store of actions has {}", other.commit),
    );
    let name = reference.with_commit(commit);
    format!(
        "{WORKFLOW_LOCK} locks it to {commit}, {has}; the operator adds it with `workflow-runner actions add {name}`"
    )
}
