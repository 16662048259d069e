//! The orchestrator's receiver, admin bridge and operations page.
//!
//! ```text
//! forge ──POST /webhook (signed)──▶ receiver ──Admit──▶ Intake
//! orchctl, browser ──▶ admin bridge (Unix socket, loopback with token) ──Get…, CancelRun, …──▶ Desk
//! ```
//! A handler turns a request into a message and the reply into JSON; it decides nothing.

mod admin;
pub mod boot;
mod bridge;
mod documented;
mod event_stream;
mod log_stream;
mod metrics;
mod page;
mod peer;
mod problems;
mod receiver;
mod reload;
mod run_page;
mod server;
mod socket;
mod state;

pub use documented::openapi;
pub use reload::reload_on_hangup;
pub use server::{Listening, OrchestratorServer, ServerError};
pub use socket::Bound;
