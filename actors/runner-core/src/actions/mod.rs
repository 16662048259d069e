//! Actions of other repositories: how they are named, which commit each name is locked to, and
//! where a plan gets their files; and the lock file that a repository may have itself.
//!
//! ```text
//! uses: owner/repo/path@ref ──ActionReference──▶ ActionLock ──▶ commit, digest of its tree
//!                                                  │
//!        plan ◀── ActionSource: the operator's store, verified ──┘   (a VM fetches nothing)
//! ```

mod lock;
mod reference;
mod source;
mod workflow_lock;

pub use lock::{ActionLock, ActionLockError, LockChange, LockedAction};
pub use reference::{ActionReference, ReferenceError};
pub(crate) use source::WithOriginal;
pub use source::{ActionSource, NoActions, how_to_add, how_to_add_locked};
pub use workflow_lock::{WORKFLOW_LOCK, WorkflowLock};
