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

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    command_line::harden_process();
    let arguments = arguments::Arguments::parse();
    let environment = config_core::Environment::from_os(std::env::vars_os());
    match run::run(&arguments, &environment) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            match arguments.format {
                arguments::OutputFormat::Human => human::print_message(&failure.to_string()),
                arguments::OutputFormat::Json => human::print_message(&failure.json()),
            }
            ExitCode::from(failure.code())
        }
    }
}
