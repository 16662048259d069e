//! The agent orchestrator: `orchestrator <config_file>`, or `orchestrator --check <config_file>`.

mod arguments;
mod check;
mod replica;
mod run;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    daemon::process::secure();
    daemon::memory::trim_memory();
    let arguments = Arguments::parse();
    match &arguments.command {
        Some(Command::Completions(options)) => {
            return command_line::print_completions::<Arguments>(options);
        }
        Some(Command::Man(options)) => return command_line::print_manual::<Arguments>(options),
        _ => {}
    }
    let environment = daemon::environment::take();
    if let Some(Command::Config { what, config }) = &arguments.command {
        return check::settings(*what, config.as_deref(), &environment);
    }
    if let Some(Command::Store(command)) = &arguments.command {
        return run::store_command(command, &environment);
    }
    if let Some(Command::Objects(command)) = &arguments.command {
        return run::objects_command(command, &environment);
    }
    let checked = match check::read(&arguments, &environment) {
        Ok(checked) => checked,
        Err(code) => return code,
    };
    if arguments.check {
        return check::report(&arguments, &checked, &environment);
    }
    match run::run(&arguments, checked, environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            arguments::print_note(&daemon::error_chain(error.as_ref()));
            ExitCode::from(arguments::EXIT_FAILED)
        }
    }
}
