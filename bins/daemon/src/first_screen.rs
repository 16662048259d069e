//! What a person sees who starts a server in a terminal: where it is, where its data and its log
//! are, how far it is. The events go to the log; warnings and errors are shown as well.
//!
//! Where standard error is no terminal, or the format of the log was asked for, nothing of this
//! happens: standard error is the log.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use config_core::Environment;
use edge_web::logging::{self, LogOutput};

use crate::log_file::LogFile;

/// The log of this process, while there is a screen.
static LOG: OnceLock<PathBuf> = OnceLock::new();

/// Whether the last line is one that is written again and again.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Columns of the labels.
const LABEL: usize = 10;

/// Starts the log of `program`: in a terminal, with nothing said about its format, into a file of
/// the data folder, else as [`crate::log::init`] does.
pub fn start_log(
    program: &str,
    data: &Path,
    level: &str,
    output: LogOutput,
    environment: &Environment,
) {
    if output != LogOutput::Auto || !std::io::stderr().is_terminal() {
        crate::log::init(level, output, environment);
        return;
    }
    let path = data.join("log").join(format!("{program}.log"));
    match LogFile::open(&path) {
        Ok(file) => {
            logging::init_file(level, environment.text("RUST_LOG"), file);
            let _ = LOG.set(path);
        }
        // What is wrong with the folder is said by whoever needs it.
        Err(_) => crate::log::init(level, output, environment),
    }
}

/// Whether there is a screen.
#[must_use]
pub fn is_on() -> bool {
    LOG.get().is_some()
}

/// Shows where everything is.
pub fn show(program: &str, version: &str, rows: &[(&str, String)]) {
    let Some(log) = LOG.get() else { return };
    let mut text = format!("\n  {program} {version}\n\n");
    let log = ("log", path(log));
    for (label, value) in rows.iter().chain([&log]) {
        text += &row(label, value);
    }
    write(&(text + "\n"));
}

/// A path as it can be found from everywhere.
#[must_use]
pub fn path(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    absolute.as_deref().unwrap_or(path).display().to_string()
}

/// A line.
pub fn line(label: &str, value: &str) {
    if is_on() {
        write(&row(label, value));
    }
}

/// A line that the next one replaces.
pub fn progress(label: &str, value: &str) {
    if is_on() {
        write(row(label, value).trim_end());
        IS_OPEN.store(true, Ordering::Relaxed);
    }
}

fn row(label: &str, value: &str) -> String {
    let value: String = value
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    format!("  {label:<LABEL$}{value}\n")
}

/// A closed terminal is no reason to fail.
fn write(text: &str) {
    let begin = if IS_OPEN.swap(false, Ordering::Relaxed) {
        "\r\u{1b}[K"
    } else {
        ""
    };
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "{begin}{text}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_line_up_and_cannot_steer_the_terminal() {
        assert_eq!(row("data", "/srv/x"), "  data      /srv/x\n");
        assert_eq!(row("data", "a\u{1b}[2Jb"), "  data      a\u{fffd}[2Jb\n");
    }
}
