//! The search server's terminal client: searches through a running server, or, with none running,
//! in its own process over the same index.

mod arguments;
mod commands;
mod human;
mod indexing;
mod interactive;
mod output;
mod repl;
mod run;
mod session;
mod views;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = service_agent::was_reader() {
        return code;
    }
    service_agent::secure_process();
    let arguments = arguments::Arguments::parse();
    let environment = config_core::Environment::from_os(std::env::vars_os());
    match run::run(&arguments, &environment) {
        Ok(outcome) => ExitCode::from(outcome.code()),
        Err(failure) => {
            human::print_note(&failure.to_string());
            ExitCode::from(failure.code())
        }
    }
}
