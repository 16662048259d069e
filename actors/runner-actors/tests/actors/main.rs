//! The runner's actors below a root supervisor: a real store and git, a clock that the test moves,
//! scripted neighbours, no HTTP edge.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

mod action_store;
mod called_workflows;
mod cancellation;
mod concurrency;
mod coordinator;
mod forge_runs;
mod garbage_collector;
mod hand_over;
mod harness;
mod job;
mod kept;
mod large_records;
mod lost;
mod pull_requests;
mod recovery;
mod reload;
mod schedules;
mod vm_hosts;
