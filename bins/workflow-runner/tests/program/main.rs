//! The program as people and forges meet it. One binary, a module for each topic.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

mod actions;
mod approvals;
mod background;
mod cancellation;
mod check;
mod checkout_ssh;
mod checkouts;
mod cli_reference;
mod exec;
mod go_back;
mod hook;
mod job_token;
mod kills;
mod labels;
mod lost;
mod native_storage;
mod node_actions;
mod objects;
mod postgres;
mod problem_matchers;
mod process;
mod service_clients;
mod setup_tools;
mod shells;
#[path = "../site/mod.rs"]
mod site;
#[path = "../stage/mod.rs"]
mod stage;
mod step_contexts;
mod summary;
mod test_reports;
mod upload_kills;
mod workspace;
