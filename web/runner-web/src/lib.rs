//! The workflow runner's HTTP edge.
//!
//! ```text
//! POST /webhook ─▶ signature over the raw bytes ─▶ event ─▶ RunnerIntake ─▶ 202, once it is durable
//! GET /runs, /runs/{id}, /runs/{id}/log ─reads─▶ records and log files
//! POST /twirp/…, PUT /blobs/… ──▶ JobServices (a listener of its own, for machines of jobs)
//! POST /runs/{id}/cancel, /runs/{id}/rerun ─CancelRun, RepeatRun─▶ RunCoordinator
//! ```
//! A handler turns a request into a message and the reply into JSON; it decides nothing.

mod api;
pub mod boot;
mod changes;
pub mod config;
mod deliveries;
mod dispatch;
mod drain;
mod file_chunks;
mod handlers;
pub mod job_services;
mod kept_files;
mod list;
mod log;
mod log_parts;
mod metrics;
mod page;
mod problems;
mod receiver;
mod reload;
mod reviews;
mod run_facts;
mod server;
mod shared_intake;
mod shell;
mod standby;
mod state;
mod summaries;
mod tests_api;
mod vm_hosts;

pub use api::{openapi, routes};
pub use server::{RunnerServer, RunnerServerOptions, ServingServices};
pub use standby::StandbyRunner;
