//! The outbox: what is to be said to a forge, stored with the decision that caused it.
//!
//! # Statuses
//!
//! A status stands for a repository, a commit and a context, and belongs to an **owner**: the run
//! that is to settle it.
//! - [`start_status`] makes an owner the current one, with a first state (`pending`, or a terminal
//!   one at once, for work that is refused). A later owner replaces an earlier one: a pull request
//!   that is opened again is checked again.
//! - [`update_status`] changes the state, for the current owner only, and only until it is
//!   terminal: exactly one terminal state follows each beginning, and a run that was replaced says
//!   nothing more.
//! - States that were not sent yet are replaced by newer ones; nothing overtakes.
//! - Posting twice is harmless, so a status is posted until the forge has answered.
//!
//! # Comments
//!
//! A comment has a key of its own, and is posted once. That it may have reached the forge is
//! written down before it is sent ([`sending_comment`]). While the outcome of an attempt is
//! unknown, [`step`] decides:
//!
//! ```text
//! send ──no answer──▶ wait ─▶ look ──not there──▶ wait ─▶ look ──not there──▶ send
//!                              └──there──▶ taken           └──there──▶ taken
//! taken, sent more than once ─▶ wait ─▶ check ─▶ wait longer ─▶ check: of several of our own the oldest stays
//! ```
//! It is known by the hidden mark of its run, its words and its author.
//!
//! # Retries
//!
//! Decided in [`after_failure`]: what may pass is repeated with growing delays; a wrong token
//! slowly; a refusal is parked at once. What is parked stays visible ([`list`]) until it is retried
//! ([`retry_parked`]) or replaced.

mod comments;
mod decide;
mod enqueue;
mod outcome;
mod rows;
mod view;

pub use comments::{absent_comment, posted_comment, sending_comment};
pub use decide::{
    CommentDelivery, CommentStep, PostRetryDecision, StatusAdmission, UpdateOutcome, after_failure,
    step,
};
pub use enqueue::{
    CommentAdmission, NewComment, StatusTarget, comment, start_status, update_status,
};
pub(crate) use outcome::newest_post;
pub use outcome::{
    Attempt, AttemptFailure, PostTask, due, due_after, mark_missing, posted_status, prune,
    record_failure, retry_parked,
};
pub(crate) use rows::CLOCK;
pub use rows::{CommentKey, OutboxStatusKey, PostFailure};
pub use view::{
    EntryState, OutboxEntry, Overview, OwedStatus, is_bad, list, obligations, overview,
};
