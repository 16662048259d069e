//! The manager's API over real connections, on a scripted driver.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "../../../../actors/vm-actors/tests/scripted/mod.rs"]
mod scripted;

mod answers;
mod client;
mod documented;
mod guarded;
mod samples;
