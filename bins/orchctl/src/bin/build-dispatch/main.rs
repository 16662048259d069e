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

use crate::arguments::Arguments;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    command_line::harden_process();
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
