//! Real VMs under QEMU's emulation: what a job can do in one, and what it cannot.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::too_many_lines,
    reason = "a test stops where it fails, and one VM answers many questions"
)]

mod clocks;
mod hostile;
mod jobs;
mod lifecycle;
mod network;
mod sandbox;
mod snapshots;
mod support;
mod terminal;
