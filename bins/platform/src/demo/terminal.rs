//! What the demonstration prints. A terminal that went away (`| head`) does not stop it.

use std::io::{IsTerminal as _, Write as _, stdout};

/// Prints one line.
pub(super) fn line(text: &str) {
    let _ = writeln!(stdout(), "{text}");
}

/// Prints a heading that can be found again in a long log.
pub(super) fn heading(text: &str) {
    line(&format!("\n━━ {text}"));
}

/// Whether a progress text takes the place of the former one.
pub(super) fn is_live() -> bool {
    stdout().is_terminal()
}

/// Shows `text` in place of the former progress text on a terminal; a line of its own elsewhere.
pub(super) fn progress(text: &str) {
    if is_live() {
        let _ = write!(stdout(), "\r\x1b[2K{text}");
        let _ = stdout().flush();
    } else {
        line(text);
    }
}

/// Ends a progress text, so that the next line starts on a line of its own.
pub(super) fn progress_done() {
    if is_live() {
        line("");
    }
}
