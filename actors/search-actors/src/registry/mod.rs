//! The roles in force: a changed configuration publishes another set; searches under way end on
//! theirs.

mod concept_views;
mod role_set;
pub(crate) mod thesauri;
mod views;

use std::sync::Arc;

use parking_lot::RwLock;

pub use role_set::{RoleEntry, RoleSet, RoleSource};

/// The roles in force, to be read. Clones read the same ones.
#[derive(Debug, Clone)]
pub struct RoleRegistry(Arc<RwLock<Arc<RoleSet>>>);

impl RoleRegistry {
    /// The roles in force. Hold on to them for one request, so that its parts fit together.
    #[must_use]
    pub fn now(&self) -> Arc<RoleSet> {
        Arc::clone(&self.0.read())
    }
}

/// Puts roles in force; held by the role manager alone.
#[derive(Debug)]
pub(crate) struct RolePublisher(RoleRegistry);

impl RolePublisher {
    /// Begins with `roles`.
    pub(crate) fn new(roles: RoleSet) -> Self {
        Self(RoleRegistry(Arc::new(RwLock::new(Arc::new(roles)))))
    }

    /// What readers hold.
    pub(crate) fn registry(&self) -> &RoleRegistry {
        &self.0
    }

    /// Puts `roles` in force.
    pub(crate) fn publish(&self, roles: RoleSet) -> Arc<RoleSet> {
        let roles = Arc::new(roles);
        *self.0.0.write() = Arc::clone(&roles);
        roles
    }
}
