//! The remote build dispatcher: sends the current directory to a worker by git over SSH, runs a command
//! there, gives its output and its exit code, and leaves nothing behind.

mod arguments;
mod dispatch;
mod session;
mod tree;
mod watch;
mod workers;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use rustix::process::DumpableBehavior;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The exit code of the dispatcher's own failures, as `env` and container tools use it.
const FAILED: u8 = 125;

/// What this program writes is its user's alone, and no other process of that user can read its memory and environment,
/// secrets in them included.
fn begin() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // A kernel that refuses leaves what the file system protects.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

fn main() -> ExitCode {
    begin();
    let arguments = arguments::Arguments::parse();
    let environment = config_core::Environment::from_os(std::env::vars_os());
    match dispatch::dispatch(&arguments, &environment) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            say(&failure.to_string());
            ExitCode::from(failure.code())
        }
    }
}

/// A line on standard error. A closed terminal is no reason to fail.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "build-dispatch: {text}");
}
