//! The outbox: what is to be said to a forge, stored with the decision that caused it.
//!
//! # Statuses
//!
//! A status stands for a repository, a commit and a context, and belongs to an **owner**: the run
//! that is to settle it.
//! - [`begin_status`] makes an owner the current one, with a first state (`pending`, or a terminal
//!   one at once, for work that is refused). A later owner replaces an earlier one: a pull request
//!   that is opened again is checked again.
//! - [`update_status`] changes the state, for the current owner only, and only until it is terminal:
//!   exactly one terminal state follows each beginning, and a run that was replaced says nothing more.
//! - States that were not sent yet are replaced by newer ones; nothing overtakes.
//! - Posting twice is harmless, so a status is posted until the forge has answered.
//!
//! # Comments
//!
//! A comment has a key of its own, and is posted once. Whether an attempt whose outcome is unknown
//! reached the forge is found out by the hidden mark of its run before it is posted again.
//!
//! # Retries
//!
//! Decided in [`after_failure`]: what may pass is repeated with growing delays; a wrong token slowly;
//! a refusal is parked at once. What is parked stays visible ([`list`]) until it is retried
//! ([`retry_parked`]) or replaced.

mod decide;
mod doubt;
mod enqueue;
mod outcome;
mod rows;
mod view;

pub use decide::{Begun, Next, Updated, after_failure};
pub use doubt::doubt_comments;
pub use enqueue::{NewComment, StatusTarget, Wanted, begin_status, comment, update_status};
pub use outcome::{
    Attempt, Work, due, due_after, mark_missing, posted_comment, posted_status, prune,
    record_failure, retry_parked,
};
pub use rows::{CommentKey, Failure, StatusKey};
pub use view::{Entry, EntryState, Obligation, Overview, is_bad, list, obligations, overview};
