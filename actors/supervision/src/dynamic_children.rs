//! Children that are started, stopped and resumed at run time: what a reference to a supervisor can
//! do.

use std::time::Duration;

use actix::{Actor, Context};

use crate::{
    errors::TellError,
    messages::{ChildError, ResumeChild, StartChild, StartChildError, StopChild},
    reference::ChildRef,
    spec::ChildSpec,
    supervisor::Supervisor,
};

impl ChildRef<Supervisor> {
    /// Starts a child under this supervisor. It is forgotten when it ends and its restart kind
    /// wants no restart, or when the supervisor itself ends.
    ///
    /// # Errors
    /// [`StartRefusal`](crate::StartRefusal) when the supervisor is full, stopping, or has a child
    /// of this name; [`AskError`](crate::AskError) when it could not be asked.
    pub async fn start_child<A: Actor<Context = Context<A>>>(
        &self,
        spec: ChildSpec<A>,
    ) -> Result<ChildRef<A>, StartChildError> {
        let reference = spec.reference();
        self.ask(StartChild {
            cell: spec.into_cell(),
        })
        .await??;
        Ok(reference)
    }

    /// Stops a child for good and waits until it is down, at most for `within`.
    ///
    /// # Errors
    /// [`NoSuchChild`](crate::NoSuchChild); [`AskError`](crate::AskError) when the supervisor could
    /// not be asked or the child was not down in time (it goes on stopping).
    pub async fn stop_child(
        &self,
        id: impl Into<String>,
        within: Duration,
    ) -> Result<(), ChildError> {
        Ok(self
            .ask_within(StopChild { id: id.into() }, within)
            .await??)
    }

    /// Has a parked or ended child started anew, its failures forgotten; nothing happens to one
    /// that runs or backs off, or that is not there.
    ///
    /// # Errors
    /// [`TellError`] when the supervisor could not be told.
    pub fn resume_child(&self, id: impl Into<String>) -> Result<(), TellError> {
        self.tell(ResumeChild { id: id.into() })
    }
}
