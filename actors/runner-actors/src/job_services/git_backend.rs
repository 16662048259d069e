//! What git of jobs is served with.

use store::Store;

use crate::repositories::Repositories;

/// What git is served with.
pub(crate) struct GitBackend {
    pub(crate) repositories: Repositories,
    pub(crate) store: Store,
    /// Largest pack of a push, in bytes.
    pub(crate) max_pack: u64,
}
