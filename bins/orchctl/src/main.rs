//! The orchestrator's client: starts agents by signed webhooks, follows and manages their runs.

mod arguments;
mod bridge;
mod configuration;
mod failure;
mod follow;
mod hook;
mod hosts;
mod human;
mod output;
mod payload;
mod run;
mod secret;
mod ssh;
mod stream;
mod top;
mod trigger;

use std::process::ExitCode;

use clap::Parser;
use rustix::process::DumpableBehavior;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Makes the files this program writes private to its user, and keeps other processes of that user
/// from reading its memory and environment, secrets in them included.
fn harden_process() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // A kernel that refuses leaves what the file system protects.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

fn main() -> ExitCode {
    harden_process();
    let arguments = arguments::Arguments::parse();
    let environment = config_core::Environment::from_os(std::env::vars_os());
    match run::run(&arguments, &environment) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            match arguments.format {
                arguments::Format::Human => human::print_message(&failure.to_string()),
                arguments::Format::Json => human::print_message(&failure.json()),
            }
            ExitCode::from(failure.code())
        }
    }
}
