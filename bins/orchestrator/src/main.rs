//! The agent orchestrator: `orchestrator <config_file>`, or `orchestrator --check <config_file>`.

mod arguments;
mod check;
mod run;

use std::process::ExitCode;

use clap::Parser;

/// Exit code when the configuration is wrong or the orchestrator cannot start.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    program::process::begin();
    program::memory::give_freed_memory_back();
    let arguments = arguments::Arguments::parse();
    let environment = program::environment::take();
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
            arguments::say(&program::in_words(error.as_ref()));
            ExitCode::from(FAILED)
        }
    }
}
