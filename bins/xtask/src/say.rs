//! Everything this program prints: data and progress on standard output, errors on standard error.
//!
//! The one place where printing is allowed, so that the rest can be tested on values.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this module is the terminal"
)]

use std::io::{IsTerminal, Write};

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

/// Shows `text` in place of the former progress text on a terminal; a line of its own elsewhere.
pub(crate) fn progress(text: &str) {
    if std::io::stdout().is_terminal() {
        print!("\r\x1b[2K{text}");
        // A terminal that cannot be flushed shows the text a little later: nothing to do about it.
        let _ = std::io::stdout().flush();
    } else {
        println!("{text}");
    }
}

/// Ends a progress text, so that the next line starts on a line of its own.
pub(crate) fn progress_done() {
    if std::io::stdout().is_terminal() {
        println!();
    }
}

/// Whether colour may be asked of the programs whose output is passed on.
pub(crate) fn is_terminal() -> bool {
    std::io::stderr().is_terminal()
}
