//! What a workflow uses, held to the lock file of its repository (`actions.lock`).

use std::sync::Arc;

use crate::actions::{ActionReference, ActionSource, LockedAction, WORKFLOW_LOCK, WorkflowLock};

/// What the lock file of a workflow's repository says of what the workflow uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LockedUses {
    /// There is none, or the workflow does not take part in it.
    #[default]
    Open,
    /// It cannot be read: why.
    Wrong(Arc<str>),
    /// The workflow takes part.
    Locked {
        /// The file.
        lock: Arc<WorkflowLock>,
        /// Whether all has to be in it: what actions of the workspace (`./path`) use is not.
        complete: bool,
    },
}

impl LockedUses {
    /// Of the file with that path in a repository whose lock file has these bytes.
    pub(super) fn parse(bytes: Option<Vec<u8>>, path: &str) -> Self {
        match bytes.map(|bytes| WorkflowLock::parse(&bytes)) {
            None => Self::Open,
            Some(Err(wrong)) => Self::Wrong(wrong.into()),
            Some(Ok(lock)) if lock.has_workflow(path) => Self::Locked {
                lock: Arc::new(lock),
                complete: true,
            },
            Some(Ok(_)) => Self::Open,
        }
    }

    /// The same for what an action of the workspace uses.
    pub(super) fn partial(&self) -> Self {
        match self {
            Self::Locked { lock, .. } => Self::Locked {
                lock: lock.clone(),
                complete: false,
            },
            other => other.clone(),
        }
    }

    /// The commit that it is locked to.
    pub(super) fn commit(&self, reference: &ActionReference) -> Option<&str> {
        match self {
            Self::Locked { lock, .. } => lock.commit(reference),
            Self::Open | Self::Wrong(_) => None,
        }
    }

    /// Why it must not be used: the lock file cannot be read, or does not have it.
    pub(super) fn fault(&self, reference: &ActionReference) -> Option<String> {
        match self {
            Self::Wrong(wrong) => Some(wrong.to_string()),
            // The file knows one forge only.
            Self::Locked {
                lock,
                complete: true,
            } if reference.server().is_none() && lock.commit(reference).is_none() => Some(format!(
                "{WORKFLOW_LOCK} has this workflow and not {}: `gh actions-lock` writes it anew",
                reference.key()
            )),
            _ => None,
        }
    }

    /// What the store has for it: at the commit that it is locked to, where it is.
    pub(super) fn find(
        &self,
        actions: &dyn ActionSource,
        reference: &ActionReference,
    ) -> Result<LockedAction, String> {
        match self.commit(reference) {
            Some(commit) => actions.find_commit(reference, commit),
            None => actions.find(reference),
        }
    }

    /// What has to be added to the store, where that is not what the file names.
    pub(super) fn name_to_add(&self, reference: &ActionReference) -> Option<String> {
        let commit = self.commit(reference)?;
        Some(reference.with_commit(commit).to_string())
    }
}
