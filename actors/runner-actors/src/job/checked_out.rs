//! What steps have checked out.

use std::sync::Arc;

use crate::checkout_source::LaidOut;

/// A repository that a step put into the workspace.
#[derive(Clone)]
pub(super) struct CheckedOutTree {
    /// Where it is in the machine.
    pub(super) directory: String,
    pub(super) repository: String,
    /// Where it is on the host; `None`: the event's commit, as it lay there from the start.
    pub(super) laid_out: Option<Arc<LaidOut>>,
}

impl CheckedOutTree {
    /// Whether they are of one checkout.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let place = |tree: &Self| tree.laid_out.as_ref().map(Arc::as_ptr);
        self.directory == other.directory && place(self) == place(other)
    }
}
