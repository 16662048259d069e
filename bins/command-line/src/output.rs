//! Lines of output. A closed terminal is no reason to fail.

use std::io::Write as _;

/// A line for people, on standard error.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}

/// Data as it is, on standard output.
pub fn print_raw(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// A line of data, on standard output.
pub fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
}
