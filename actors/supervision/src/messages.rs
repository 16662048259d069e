//! What a supervisor can be asked at run time.
//!
//! | Message | Sent by | The reply means |
//! |---|---|---|
//! | `StartChild` | [`ChildRef::start_child`] | the child is under supervision, its first life made |
//! | `StopChild` | [`ChildRef::stop_child`] | the child is down |
//! | `ResumeChild` | [`ChildRef::resume_child`] | a parked or ended child was started anew |
//! | `StillThere` | [`RootHandle::answers`](crate::RootHandle::answers) | the supervisor turns its mailbox |
//!
//! All are handled by [`Supervisor`].

use std::{sync::Arc, time::Duration};

use actix::{Actor, Context, Message};

use crate::{AskError, ChildRef, ChildSpec, Supervisor, spec::ChildCell};

/// Take a child under supervision and start it.
#[derive(Message)]
#[rtype(result = "Result<(), StartRefused>")]
pub(crate) struct StartChild {
    pub(crate) cell: Arc<dyn ChildCell>,
}

/// Stop a child for good; one that was started at run time leaves the tree.
#[derive(Message)]
#[rtype(result = "Result<(), NoSuchChild>")]
pub(crate) struct StopChild {
    pub(crate) id: String,
}

/// Start a child that is parked or ended, and forget its failures.
#[derive(Message)]
#[rtype(result = "Result<(), NoSuchChild>")]
pub(crate) struct ResumeChild {
    pub(crate) id: String,
}

/// Answer at once, or hang.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct StillThere;

/// Why a supervisor did not start a child.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartRefused {
    /// It has as many children started at run time as it may have.
    #[error("the supervisor has {limit} children started at run time already, its limit")]
    Full {
        /// The limit, [`SupervisorSpec::max_dynamic`](crate::SupervisorSpec::max_dynamic).
        limit: usize,
    },
    /// It has a child of this name.
    #[error("the supervisor has a child named {id} already")]
    Duplicate {
        /// The name.
        id: Arc<str>,
    },
    /// It is about to end.
    #[error("the supervisor is stopping")]
    Stopping,
}

/// Why a child was not started at run time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartChildError {
    /// The supervisor refused.
    #[error(transparent)]
    Refused(#[from] StartRefused),
    /// The supervisor could not be asked, or did not reply.
    #[error(transparent)]
    Supervisor(#[from] AskError),
}

/// The supervisor has no child of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the supervisor has no child named {id}")]
pub struct NoSuchChild {
    /// The name.
    pub id: String,
}

/// Why a child was not stopped or resumed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChildError {
    /// The supervisor has no such child.
    #[error(transparent)]
    NoSuchChild(#[from] NoSuchChild),
    /// The supervisor could not be asked, or did not reply.
    #[error(transparent)]
    Supervisor(#[from] AskError),
}

impl ChildRef<Supervisor> {
    /// Starts a child under this supervisor. It is forgotten when it ends and its restart kind
    /// wants no further life, or when the supervisor itself ends.
    ///
    /// # Errors
    /// [`StartRefused`] when the supervisor is full, stopping, or has a child of this name;
    /// [`AskError`] when it could not be asked.
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
    /// [`NoSuchChild`]; [`AskError`] when the supervisor could not be asked or the child was not
    /// down in time (it goes on stopping).
    pub async fn stop_child(
        &self,
        id: impl Into<String>,
        within: Duration,
    ) -> Result<(), ChildError> {
        Ok(self
            .ask_within(StopChild { id: id.into() }, within)
            .await??)
    }

    /// Starts a parked or ended child anew and forgets its failures; nothing happens to one that
    /// runs.
    ///
    /// # Errors
    /// [`NoSuchChild`]; [`AskError`] when the supervisor could not be asked.
    pub async fn resume_child(&self, id: impl Into<String>) -> Result<(), ChildError> {
        Ok(self.ask(ResumeChild { id: id.into() }).await??)
    }
}
