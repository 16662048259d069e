//! The orchestrator's client: starts agents by signed webhooks, follows and manages their runs.

mod arguments;
mod bridge;
mod failure;
mod follow;
mod hook;
mod human;
mod payload;
mod run;
mod secret;
mod ssh;
mod stream;
mod trigger;

use std::process::ExitCode;

use clap::Parser;
use rustix::process::DumpableBehavior;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What this program writes is its user's alone, and no other process of that user can read its memory and environment,
/// secrets in them included.
fn begin() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // A kernel that refuses leaves what the file system protects.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

fn main() -> ExitCode {
    begin();
    let arguments = arguments::Arguments::parse();
    let environment = config_core::Environment::from_os(std::env::vars_os());
    match run::run(&arguments, &environment) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            match arguments.format {
                arguments::Format::Human => human::say(&failure.to_string()),
                arguments::Format::Json => human::say(&failure.json()),
            }
            ExitCode::from(failure.code())
        }
    }
}
