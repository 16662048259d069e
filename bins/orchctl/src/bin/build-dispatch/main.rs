//! The remote build dispatcher: sends the current directory to a worker by git over SSH, runs a
//! command there, gives its output and its exit code, and leaves nothing behind.

mod arguments;
mod dispatch;
mod error;
mod session;
mod stderr;
mod tree;
mod watch;
mod workers;

use std::process::ExitCode;

use clap::Parser;
use command_line::{CompletionsOptions, ManOptions};
use rustix::process::DumpableBehavior;

use crate::arguments::Arguments;

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
    let arguments = Arguments::parse();
    if let Some(shell) = arguments.completions {
        return command_line::print_completions::<Arguments>(&CompletionsOptions { shell });
    }
    if arguments.man {
        return command_line::print_manual::<Arguments>(&ManOptions::default());
    }
    let environment = config_core::Environment::from_os(std::env::vars_os());
    match dispatch::dispatch(&arguments, &environment) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            stderr::print_message(&error.to_string());
            ExitCode::from(error.code())
        }
    }
}
