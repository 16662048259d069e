//! Whether the store still holds what its lock says.

use git_engine::tree_digest;
use runner_core::actions::ActionReference;

use super::{ActionStore, ActionStoreError, commit_of};

/// An entry of the lock that was looked at.
#[derive(Debug)]
pub struct VerifiedAction {
    /// Its key: `owner/repo@ref`.
    pub name: String,
    /// Its commit.
    pub commit: String,
    /// What is wrong with it.
    pub fault: Option<ActionFault>,
}

/// What is wrong with an entry.
#[derive(Debug, thiserror::Error)]
pub enum ActionFault {
    /// The files that jobs get are not those that were locked.
    #[error("its files are not those that were locked: {found} in place of {known}")]
    Tree {
        /// The digest in the lock.
        known: String,
        /// The digest of what is there.
        found: String,
    },
    /// The mirror's commit has other files than those that were locked.
    #[error(
        "its mirror holds other files than those that were locked: {found} in place of {known}"
    )]
    Mirror {
        /// The digest in the lock.
        known: String,
        /// The digest of what the mirror gives.
        found: String,
    },
    /// It is not there, or cannot be read.
    #[error("it cannot be read: {0}")]
    Missing(ActionStoreError),
    /// Its owner is not allowed any more.
    #[error("{0}")]
    Owner(ActionStoreError),
}

impl ActionStore {
    /// Looks at every entry of the lock: the files that jobs get, and those that the mirror gives
    /// for the commit.
    ///
    /// # Errors
    /// When the lock itself cannot be read.
    pub fn verify(&self) -> Result<Vec<VerifiedAction>, ActionStoreError> {
        let lock = self.lock()?;
        let verified = lock.entries().map(|(name, action)| VerifiedAction {
            name: name.to_owned(),
            commit: action.commit.clone(),
            fault: self.check(name, action).err(),
        });
        Ok(verified.collect())
    }

    /// Whether an entry is as it was locked.
    pub(super) fn check(
        &self,
        name: &str,
        action: &runner_core::actions::LockedAction,
    ) -> Result<(), ActionFault> {
        let known = action.tree.clone();
        let reference: ActionReference = name
            .parse()
            .map_err(|_| ActionFault::Missing(ActionStoreError::NoVersion(name.to_owned())))?;
        self.check_owner(&reference).map_err(ActionFault::Owner)?;
        let found = tree_digest(&self.tree_path(&action.commit));
        let found = found.map_err(|error| ActionFault::Missing(error.into()))?;
        if found.as_str() != known {
            let found = found.to_string();
            return Err(ActionFault::Tree { known, found });
        }
        let found = self.mirror_digest(&reference, action);
        let found = found.map_err(ActionFault::Missing)?;
        if found != known {
            return Err(ActionFault::Mirror { known, found });
        }
        Ok(())
    }

    /// The digest of what the mirror gives for the commit.
    fn mirror_digest(
        &self,
        reference: &ActionReference,
        action: &runner_core::actions::LockedAction,
    ) -> Result<String, ActionStoreError> {
        let new = self.extract_commit(reference, &commit_of(action)?)?;
        let digest = tree_digest(&new);
        let _ = std::fs::remove_dir_all(&new);
        Ok(digest?.as_str().to_owned())
    }
}
