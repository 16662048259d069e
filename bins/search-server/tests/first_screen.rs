//! What a person sees who starts the server in a terminal.

#[allow(dead_code, reason = "shared with the other programs' tests")]
#[path = "../../command-line/tests/pty/mod.rs"]
mod pty;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use pty::Pty;
use rustix::process::Signal;

fn server(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_search-server"));
    command
        .env("HOME", home)
        .env("TERM", "xterm-256color")
        .current_dir(home)
        .args(["--listen", "127.0.0.1:0", "--data", "data"])
        .args(arguments);
    command
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    for number in 0..3 {
        let name = home.path().join(format!("{number}.md"));
        std::fs::write(name, "# Tides\n\nThe moon.\n").expect("a file");
    }
    home
}

#[test]
fn it_is_calm_and_the_events_go_to_the_log() {
    let home = home();
    let mut pty = Pty::spawn(&server(home.path(), &[]), 100, 30);
    let shown = pty.wait_for("documents can be found");
    for part in [
        "page      http://127.0.0.1:",
        "/data",
        "/data/log/search-server.log",
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    let events = shown
        .lines()
        .filter(|line| line.contains("event") || line.starts_with('{'));
    assert_eq!(events.count(), 0, "{shown}");
    let screen = shown.split("page ").nth(1).unwrap_or_default();
    assert!(
        screen.trim_end().lines().count() < 12,
        "a few lines:\n{shown}"
    );
    pty.signal(Signal::INT);
    assert_eq!(pty.wait(), 0);
    assert!(pty.contents().contains("stopping"), "{}", pty.contents());
    let path = home.path().join("data/log/search-server.log");
    let log = std::fs::read_to_string(&path).expect("a log");
    for line in log.lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect("a JSON object a line");
        assert!(event["event"].is_string(), "{line}");
    }
    assert!(
        log.contains("server.listening") && log.contains("server.stopped"),
        "{log}"
    );
    let mode = std::fs::metadata(&path)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_format_of_the_log_can_be_asked_for() {
    let home = home();
    let mut pty = Pty::spawn(&server(home.path(), &["--log-format", "json"]), 200, 30);
    pty.wait_for("\"event\":\"server.listening\"");
    pty.signal(Signal::TERM);
    assert_eq!(pty.wait(), 0);
    assert!(!home.path().join("data/log").exists());
}
