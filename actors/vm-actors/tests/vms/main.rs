//! The VM part of an actor tree over a scripted driver: each way a VM can begin, work and end.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "../scripted/mod.rs"]
mod scripted;

mod common;
mod ends;
mod execs;
mod kept;
mod network;
mod pool;
mod requests;
