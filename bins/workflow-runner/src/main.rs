//! The workflow runner's program.

mod arguments;
mod check;
mod exec;
mod folder;
mod serve;

use std::process::ExitCode;

use clap::Parser;
use config_core::Environment;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command.unwrap_or(Command::Serve(arguments.serve)) {
        Command::Check(options) => check::run(&options),
        Command::Exec(options) => exec::run(&options),
        Command::Serve(options) => {
            let environment = Environment::from_os(std::env::vars_os());
            serve::run(&options, &environment)
        }
    }
}
