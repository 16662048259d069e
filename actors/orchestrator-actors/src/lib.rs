//! The orchestrator's actors: durable intake, dispatcher, one keeper a run, poller, worktrees, the operator's desk.
//!
//! ```text
//! webhook ──Admit──▶ Intake ──────┐ one transaction each
//! forge ◀──asks── Poller ─Admit─▶ │        ┌──────────────┐
//! tick ──▶ Dispatcher ── look ──▶ store ◀──┤ RunKeeper …  │──▶ agent process (orchestrator-engine)
//!             └── starts ─────────────────▶└──────────────┘
//! forge ◀──statuses, comments── ForgePoster ◀── outbox in the store
//! operator ──▶ Desk
//! ```
//!
//! No actor holds anything that a crash could lose: each looks into the store again.

mod accounts;
mod author;
pub mod desk;
mod dispatcher;
mod intake;
pub mod journal;
mod keeper;
pub mod ledger;
pub mod load;
pub mod messages;
mod poller;
mod recover;
mod service;
pub mod shared;
mod sweeper;

pub use desk::Desk;
pub use dispatcher::Dispatcher;
pub use intake::Intake;
pub use ledger::RunQuery;
pub use poller::Poller;
pub use service::OrchestratorService;
pub use shared::{Clock, OwnLogins, Parts, Shared};
