//! Everything this program prints: data and progress on standard output, errors on standard error.
//!
//! The one place where printing is allowed, so that the rest can be tested on values.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this module is the terminal"
)]

use std::io::IsTerminal;

/// Prints one line.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Prints an error so that it can be told from progress.
pub(crate) fn error(text: &str) {
    eprintln!("error: {text}");
}

/// Prints a heading that can be found again in a long log.
pub(crate) fn heading(text: &str) {
    println!("\n━━ {text}");
}

/// Whether colour may be asked of the programs whose output is passed on.
pub(crate) fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}
