//! Everything this program prints: data and progress on standard output, errors on standard error.
//!
//! The one place where printing is allowed, so that the rest can be tested on values.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this module is the terminal"
)]

use std::cell::RefCell;
use std::io::IsTerminal;

use crate::output::TaskOutput;

thread_local! {
    /// Where this thread prints, when not to the terminal.
    static OUTPUT: RefCell<Option<TaskOutput>> = const { RefCell::new(None) };
}

/// Prints one line.
pub(crate) fn line(text: &str) {
    match output() {
        Some(output) => output.write(format!("{text}\n").as_bytes()),
        None => println!("{text}"),
    }
}

/// Prints an error so that it can be told from progress.
pub(crate) fn error(text: &str) {
    eprintln!("error: {text}");
}

/// Prints a heading that can be found again in a long log.
pub(crate) fn heading(text: &str) {
    line(&format!("\n━━ {text}"));
}

/// Whether colour may be asked of the programs whose output is passed on.
pub(crate) fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Where this thread prints, when not to the terminal: for threads that it starts.
pub(crate) fn output() -> Option<TaskOutput> {
    OUTPUT.with_borrow(Clone::clone)
}

/// Lets this thread print there from now on.
pub(crate) fn print_to(output: Option<TaskOutput>) {
    OUTPUT.set(output);
}
