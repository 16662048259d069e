//! Lines of output. A closed terminal is no reason to fail.

use std::io::{self, Write as _};

/// A line for people, on standard error.
pub fn print_note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", text.trim_end());
}

/// Data as it is, on standard output.
pub fn print_raw(text: &str) {
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// Data on standard output, all of it. A reader that has left (`| head`) is no failure.
///
/// # Errors
/// When it cannot be written, to a full disk for example.
pub fn write_data(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// A line of data, on standard output.
pub fn print(text: &str) {
    let _ = writeln!(io::stdout(), "{}", text.trim_end());
}
