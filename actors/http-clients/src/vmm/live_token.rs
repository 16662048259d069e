//! A token that is replaced while clients use it.

use std::sync::Arc;

use config_core::Secret;
use parking_lot::RwLock;

/// The bearer token of a VM manager; clones are the same, so that all clients use the newest.
#[derive(Debug, Clone, Default)]
pub struct LiveToken(Arc<RwLock<Option<Secret<String>>>>);

impl LiveToken {
    /// A token, where the manager wants one.
    #[must_use]
    pub fn new(token: Option<Secret<String>>) -> Self {
        Self(Arc::new(RwLock::new(token)))
    }

    /// The newest.
    #[must_use]
    pub fn get(&self) -> Option<Secret<String>> {
        self.0.read().clone()
    }

    /// From now on this one is used.
    pub fn replace(&self, token: Option<Secret<String>>) {
        *self.0.write() = token;
    }
}
