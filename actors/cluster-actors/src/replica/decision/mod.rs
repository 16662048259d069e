//! What a process decides that shares a store with others of its kind: one leads, the others stand
//! by. Data in, data out; time is an argument.
//!
//! - [`takeover`]: whether the leader is gone, from what the database says of it.
//! - [`role`]: what a process is, and how that changes.
//! - [`forwarding`]: who answers a request.

mod forwarding;
pub(crate) mod role;
mod takeover;

pub use forwarding::{ForwardRefusal, ForwardTarget, forward_target, is_for_next_leader};
pub(crate) use role::RoleState;
pub use role::{ReplicaRole, RoleAction, RoleEvent};
pub(crate) use takeover::{
    HolderSigns, LeaseTerms, TakeoverStep, may_take, next_step, pause_after,
};
