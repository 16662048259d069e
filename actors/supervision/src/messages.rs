//! What a supervisor can be asked at run time.
//!
//! | Message | Sent by | The reply means |
//! |---|---|---|
//! | `StartChild` | [`ChildRef::start_child`](crate::ChildRef::start_child) | the child is under supervision, its first incarnation made |
//! | `StopChild` | [`ChildRef::stop_child`](crate::ChildRef::stop_child) | the child is down |
//! | `ResumeChild` | [`ChildRef::resume_child`](crate::ChildRef::resume_child) | none; a parked or ended child is started anew |
//! | `Heartbeat` | [`RootHandle::answers`](crate::RootHandle::answers) | the supervisor handles messages |
//!
//! All are handled by [`Supervisor`](crate::Supervisor).

use std::sync::Arc;

use actix::Message;

use crate::{errors::AskError, spec::ChildCell};

/// Take a child under supervision and start it.
#[derive(Message)]
#[rtype(result = "Result<(), StartRefusal>")]
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
#[rtype(result = "()")]
pub(crate) struct ResumeChild {
    pub(crate) id: String,
}

/// Answer at once, or hang.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Heartbeat;

/// Why a supervisor did not start a child.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartRefusal {
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
    Refused(#[from] StartRefusal),
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
