//! A child's line to its supervisor.

use std::sync::Arc;

use crate::{signals::ChildSignals, tree::ChildNode};

/// A child's line to its supervisor, given to the factory with each incarnation.
///
/// Cheap to clone and free to send to other threads; keep it in the actor.
#[derive(Clone)]
pub struct ChildContext {
    pub(crate) signals: Arc<ChildSignals>,
    pub(crate) node: Arc<ChildNode>,
    pub(crate) incarnation: u64,
}

impl ChildContext {
    /// The child's id, as its spec has it.
    pub fn id(&self) -> &str {
        self.node.name()
    }

    /// The path of ids from the root, for logs: `root/search/keeper`.
    pub fn path(&self) -> String {
        self.node.path()
    }

    /// Which incarnation this is, counted from 1.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Ends this incarnation as [`Exit::Failed`](crate::Exit::Failed) with this reason: after the
    /// message in work, ahead of all that wait. The first reason given is kept. May be called from
    /// any task or thread; when the incarnation has ended already, nothing happens.
    pub fn fail(&self, reason: impl Into<String>) {
        self.signals.fail(reason.into());
    }

    /// Ends this incarnation as [`Exit::Normal`](crate::Exit::Normal), as `ctx.stop()` does, from
    /// any task or thread.
    pub fn stop(&self) {
        self.signals.stop();
    }
}

impl std::fmt::Debug for ChildContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChildContext")
            .field("path", &self.path())
            .field("incarnation", &self.incarnation)
            .finish_non_exhaustive()
    }
}
