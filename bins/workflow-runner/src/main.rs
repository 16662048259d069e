//! The workflow runner's program.

mod arguments;
mod check;
mod exec;
mod folder;
mod hook;
mod serve;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command, HookCommand};

fn main() -> ExitCode {
    program::process::begin();
    let arguments = Arguments::parse();
    match arguments.command.unwrap_or(Command::Serve(arguments.serve)) {
        Command::Check(options) => check::run(&options),
        Command::Exec(options) => exec::run(&options),
        Command::Hook(HookCommand::Add(options)) => {
            let environment = program::environment::take();
            hook::add(&options, &environment)
        }
        Command::Serve(options) => {
            let environment = program::environment::take();
            serve::run(&options, &environment)
        }
    }
}
