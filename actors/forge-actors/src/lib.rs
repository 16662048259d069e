//! What the products that work with a forge share: which deliveries were seen, and the outbox of
//! commit statuses and comments with the actor that posts it.
//!
//! ```text
//! webhook ──Deliveries::admit──▶ Fresh ──▶ the product's rows ┐
//!                                                            ├ one transaction
//! decision ──outbox::{begin_status, update_status, comment}──┘
//!    └── after the commit: Wake ──▶ OutboxWorker ──http-clients──▶ forge
//! ```
//!
//! Everything that is decided stands in pure functions; rows are written in the caller's own
//! transaction, so that an event, its work and what is to be said about it are stored together or
//! not at all. Times are milliseconds since the Unix epoch, and arguments.

mod age_clock;
pub mod deliveries;
pub mod messages;
pub mod outbox;
mod worker;

pub use age_clock::{AgeClock, StoredTime};
pub use worker::{Accounts, OutboxOptions, OutboxWorker, PostEvent};
