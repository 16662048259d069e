//! The search server: private search over one's own sources, with a web page at `/`.

mod arguments;
mod backup;
mod check;
mod first_folder;
mod run;

use std::process::ExitCode;

use arguments::Command;
use clap::Parser;

/// Exit code when the configuration is wrong or the server cannot start.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    if let Some(ended) = search_formats_engine::serve_if_asked(std::env::args_os()) {
        return match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    program::process::begin();
    program::memory::give_freed_memory_back();
    program::memory::use_small_pages();
    let arguments = arguments::Arguments::parse();
    let environment = program::environment::take();
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
        None => {}
    }
    if arguments.check {
        return check::run(&arguments, &settings, &environment);
    }
    match run::run(&arguments, &settings, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            arguments::say(&program::in_words(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}
