//! What a process knows of the store that it may come to hold.

use store::Leadership;

/// What is known of the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSight {
    /// The newest epoch that was seen.
    pub epoch: u64,
    /// The holder, as it was seen last; absent while the server does not say.
    pub leader: Option<Leadership>,
    /// Why the server does not say; beside a leader who has gone, why nobody follows.
    pub trouble: Option<String>,
}
