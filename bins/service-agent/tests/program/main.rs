//! The clients as people and scripts use them. One binary, a module for each topic.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should print_note where"
)]

mod cli_reference;
#[path = "../common/mod.rs"]
mod common;
mod mcp;
mod program;
mod service_cli;
mod terminal;
