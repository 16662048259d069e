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

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
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
