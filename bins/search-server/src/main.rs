//! The search server: private search over one's own sources, with a web page at `/`.

mod arguments;
mod backup;
mod check;
mod export;
mod first_directory;
mod progress;
mod run;
mod snapshot;

use std::process::ExitCode;

use arguments::{Arguments, Command, FAILED};
use clap::Parser;

fn main() -> ExitCode {
    if let Some(ended) = search_formats_engine::serve_if_asked(std::env::args_os()) {
        return match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    daemon::process::secure();
    daemon::memory::trim_memory();
    daemon::memory::use_small_pages();
    let arguments = Arguments::parse();
    match &arguments.command {
        Some(Command::Completions(options)) => {
            return command_line::print_completions::<Arguments>(options);
        }
        Some(Command::Man(options)) => return command_line::print_manual::<Arguments>(options),
        _ => {}
    }
    let environment = daemon::environment::take();
    let environment = match &arguments.command {
        Some(Command::Snapshot(_)) => snapshot::in_some_mode(environment),
        _ => environment,
    };
    if let Some(Command::Config(options)) = &arguments.command {
        return arguments.config(*options, &environment);
    }
    let settings = match arguments.settings(&environment) {
        Ok(settings) => settings,
        Err(diagnostics) => return arguments.report(&diagnostics),
    };
    match &arguments.command {
        Some(Command::Backup(place)) => {
            return backup::save(&arguments, place, &settings, &environment);
        }
        Some(Command::Restore(order)) => {
            return backup::restore(&arguments, order, &settings, &environment);
        }
        Some(Command::Export(options)) => {
            return export::run(&arguments, options, &settings, &environment);
        }
        Some(Command::Snapshot(command)) => {
            return snapshot::run(&arguments, command.clone(), &settings);
        }
        _ => {}
    }
    if arguments.check {
        return check::run(&arguments, &settings, &environment);
    }
    match run::run(&arguments, &settings, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            command_line::print_note(&daemon::error_chain(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}
