//! A server whose actors are not started yet.

use supervision::{Root, RootHandle, StartChildError, SupervisorSpec};

/// The supervisors of a server, and what makes the server of them once they are started.
#[must_use = "nothing is started yet"]
pub struct PreparedServer<F> {
    supervisors: Vec<SupervisorSpec>,
    server: F,
}

impl<S, F: FnOnce(Root) -> S> PreparedServer<F> {
    /// A server that `server` makes where `supervisors` run.
    pub fn new(supervisors: Vec<SupervisorSpec>, server: F) -> Self {
        Self {
            supervisors,
            server,
        }
    }

    /// With one more supervisor, which stops first.
    pub fn with(mut self, supervisor: SupervisorSpec) -> Self {
        self.supervisors.push(supervisor);
        self
    }

    /// Starts the actors below a root supervisor of their own. Needs a running actix system.
    pub fn start(self) -> S {
        (self.server)(Root::start_named("orrery", self.supervisors))
    }

    /// Starts the actors below a tree that others have as well; this server's end stops its own
    /// only.
    ///
    /// # Errors
    /// When the tree takes no more, or has ended.
    pub async fn start_below(self, tree: &RootHandle) -> Result<S, StartChildError> {
        Ok((self.server)(
            Root::start_below(tree, self.supervisors).await?,
        ))
    }
}
