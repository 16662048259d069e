//! The orchestrator's receiver, admin bridge and operations page.
//!
//! ```text
//! forge ──POST /webhook (signed)──▶ receiver ──Admit──▶ Intake
//! orchctl, browser ──▶ admin bridge (Unix socket, loopback with token) ──Get…, CancelAgentRun, …──▶ OperatorApi
//! ```
//! A handler turns a request into a message and the reply into JSON; it decides nothing.

mod admin;
mod admin_routes;
pub mod boot;
mod bridge;
mod error;
mod event_stream;
mod log_stream;
mod metrics;
mod openapi;
mod page;
mod path_params;
mod peer;
mod planning;
mod problems;
mod receiver;
mod reload;
mod run_page;
mod server;
mod shared_intake;
mod socket;
mod standby;
mod state;
mod vm_hosts;

pub use error::ServerError;
pub use openapi::openapi;
pub use reload::{reload, reload_on_hangup};
pub use server::{OrchestratorListeners, OrchestratorServer};
pub use socket::AdminSocket;
pub use standby::{ConfigSource, StandbyOrchestrator};
