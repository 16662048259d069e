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

/// mimalloc's option for the milliseconds before freed memory goes back to the system
/// (`mi_option_purge_delay` of `mimalloc.h`; the bindings have no name for it).
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Freed memory goes back at once: a server that has indexed a large folder would otherwise keep
/// what only the indexing needed (35 MB on 78,000 files) for as long as its threads are idle.
#[allow(
    unsafe_code,
    reason = "setting an option before any other thread runs is sound"
)]
fn give_freed_memory_back() {
    // SAFETY: called first in `main`, with an option of the bundled allocator and a valid value.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
}

fn main() -> ExitCode {
    give_freed_memory_back();
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
