//! Lines of output. A closed terminal is no reason to fail.

use std::io::Write as _;

/// A line for people, on standard error.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}

/// A line of data, on standard output.
pub fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
}
