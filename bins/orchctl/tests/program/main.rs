//! The program itself, against a scripted orchestrator, locally and through a real SSH server.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod bridge;
mod cluster;
mod contract;
mod daemon;
mod local;
mod over_ssh;
#[allow(dead_code, reason = "shared with the other programs' tests")]
#[path = "../../../command-line/tests/pty/mod.rs"]
mod pty;
mod real;
mod top;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program with a clean environment.
fn orchctl(args: &[&str], environment: &[(&str, &str)]) -> Output {
    command(args, environment).output().unwrap()
}

fn command(args: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orchctl"));
    command
        .args(args)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
        .envs(environment.iter().copied())
        .stdin(Stdio::null());
    command
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// Holds off the tests that look at all command lines while one gives the secret on its own, and
/// the reverse, whichever processes they are in.
fn alone_with_command_lines() -> std::fs::File {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("command-lines.lock");
    let file = std::fs::File::create(path).unwrap();
    file.lock().unwrap();
    file
}

/// Whether any process of this machine has the text on its command line.
fn on_a_command_line(text: &str) -> Option<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines =
        entries.map(|entry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .find(|line| line.contains(text))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
