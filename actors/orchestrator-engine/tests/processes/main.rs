//! Agent processes for real: every way to end, and every way to try not to.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail by panicking"
)]

mod ends;
mod flood;
mod hostile;
mod previous_runs;
mod secrets;
mod support;
mod walls;
