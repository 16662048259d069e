//! `platform demo`: what somebody without the sources can run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A home with the program, and a terminal client beside it that only shows how it was called.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let program = home.path().join("platform");
    std::fs::hard_link(env!("CARGO_BIN_EXE_platform"), program).expect("one file system");
    let client = home.path().join("service-agent");
    let script = "#!/bin/sh\necho \"client of $SERVICE_SERVER_API_ENDPOINT: $*\"\n";
    std::fs::write(&client, script).expect("it is new");
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&client, mode).expect("own file");
    home
}

/// `platform demo` on free ports, with none of this machine's settings.
fn demo(home: &Path, arguments: &[&str]) -> Output {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Command::new(home.join("platform"))
        .env_clear()
        .envs([("HOME", home.as_os_str()), ("PATH", &path)])
        .args(["demo", "--port", "0", "--once"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("it starts")
}

#[test]
fn its_own_documentation_is_indexed_and_searched_once() {
    let home = home();
    let ended = demo(home.path(), &["--search-only"]);
    let shown = String::from_utf8_lossy(&ended.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{shown}\n{wrong}");
    for expected in [
        "starting the platform on http://127.0.0.1:",
        "indexing: Orrery's documentation: 8 documents, ready",
        "client of http://127.0.0.1:",
        ": search supervisor restarts a failed actor --limit 5",
        "the pages",
    ] {
        assert!(shown.contains(expected), "no {expected} in:\n{shown}");
    }
    assert!(shown.ends_with("stopped cleanly\n"), "{shown}");
    let data = home.path().join(".cache/orrery/demo");
    assert!(data.join("state").is_dir() && data.join("platform.log").is_file());
}

#[test]
fn folders_of_the_user_are_searched_instead() {
    let home = home();
    let notes = home.path().join("notes");
    std::fs::create_dir(&notes).expect("it is new");
    std::fs::write(notes.join("needle.md"), "# Needle\n\nin a haystack\n").expect("it is new");
    let (folder, data) = (notes.display().to_string(), home.path().join("data"));
    let data_text = data.display().to_string();
    let ended = demo(
        home.path(),
        &[
            "--search-only",
            "--folder",
            &folder,
            "--source",
            "More notes",
            &folder,
            "*.txt",
            "--data",
            &data_text,
            "--query",
            "haystack",
        ],
    );
    let shown = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{shown}");
    for expected in [
        "notes: 1 documents, ready",
        "More notes: 0 documents, ready",
    ] {
        assert!(shown.contains(expected), "no {expected} in:\n{shown}");
    }
    assert!(data.join("platform.log").is_file());
}

#[test]
fn without_an_agent_of_vms_it_says_what_to_do() {
    let home = home();
    let ended = demo(home.path(), &[]);
    assert_eq!(ended.status.code(), Some(1));
    let wrong = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        wrong.contains("vm-guest") && wrong.contains("--search-only"),
        "{wrong}"
    );
}
