//! The orchestrator's actors: durable intake, dispatcher, one actor a run, poller, worktrees, the
//! operator's API.
//!
//! ```text
//! webhook ──Admit──▶ Intake ──────┐ one transaction each
//! forge ◀──asks── Poller ─Admit─▶ │             ┌─────────────┐
//! tick ──▶ Dispatcher ── decide ──▶ Ledger ◀────┤ AgentRun …  │──▶ agent process (orchestrator-engine)
//!             └── starts ──────────────────────▶└─────────────┘
//! forge ◀──statuses, comments── OutboxWorker ◀── outbox in the store
//! operator ──▶ OperatorApi
//! ```
//!
//! No actor holds anything that a crash could lose: each reads the store again. What is not stored
//! has one owner each: the runs of this process (`active_runs`), the configuration in force
//! (`live_config`, written by the operator's API alone), the figures of ticks (written by the
//! dispatcher), the accounts behind the tokens (written by the poller). Others read them, or send
//! messages.

mod accounts;
mod active_runs;
mod agent_run;
mod change_notifier;
mod dispatcher;
mod host;
mod intake;
pub mod journal;
pub mod ledger;
mod live_config;
pub mod load;
mod log_collector;
pub mod messages;
mod operator_api;
mod poller;
mod preflight;
mod run_logs;
mod service;
#[cfg(test)]
mod test_config;
mod ticks;
mod view;
mod vm_collector;
mod worktree_gc;

pub use cluster_actors::vm_hosts::{VmHostView, VmHosts};
pub use dispatcher::Dispatcher;
pub use intake::Intake;
pub use ledger::{RunQuery, WallClock};
pub use operator_api::OperatorApi;
pub use poller::Poller;
pub use run_logs::file_migration;
pub use service::{OrchestratorService, OrchestratorSetup, SetupError};
pub use ticks::TickTrigger;
pub use view::OrchestratorView;
