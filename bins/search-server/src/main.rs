//! The search server: private search over one's own sources, with a web page at `/`.

mod arguments;
mod check;
mod first_folder;
mod run;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit code when the configuration is wrong or the server cannot start.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    let environment = config_core::Environment::from_os(std::env::vars_os());
    let settings = match arguments.settings(&environment) {
        Ok(settings) => settings,
        Err(diagnostics) => return arguments.report(&diagnostics),
    };
    if arguments.check {
        return check::run(&arguments, &settings, &environment);
    }
    match run::run(&arguments, &settings, &environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            arguments::say(&format!("{error:#}"));
            ExitCode::from(FAILED)
        }
    }
}
