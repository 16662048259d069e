//! Messages for people.

use std::io::Write;

/// A line on standard error. A closed terminal is no reason to fail.
pub(crate) fn print_message(text: &str) {
    let _ = writeln!(std::io::stderr(), "build-dispatch: {text}");
}
