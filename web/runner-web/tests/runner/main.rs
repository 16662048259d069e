//! The runner as a whole, over its real HTTP edge, with a real store and real git; only machines,
//! forge and model are scripted.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

mod application;
mod approvals;
mod artifacts;
mod attacks;
mod browser;
mod checkouts;
mod chosen_job;
mod client;
mod events;
mod forges;
mod gateway;
mod gateway_calls;
mod gateway_git;
mod gateway_targets;
mod gh;
mod github_large_files;
mod harness;
mod large_files;
mod lists;
mod local_jobs;
mod machines;
mod model;
mod operation;
mod own_address;
mod own_registries;
mod pages;
mod real_model;
mod receiver;
mod releases;
mod repeated;
mod secrets;
mod stored;
mod taken_over;
mod test_results;
mod tests_page;
mod workflow_runs;
