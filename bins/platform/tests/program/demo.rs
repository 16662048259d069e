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

/// What a cluster has to find beside `platform`.
const CLUSTER_PROGRAMS: [&str; 4] = [
    "workflow-runner",
    "orchestrator",
    "vm-manager",
    "search-server",
];

#[test]
fn i18_a_cluster_loses_nothing_when_its_leaders_are_killed() {
    let home = home();
    for program in CLUSTER_PROGRAMS {
        let built = Path::new(env!("CARGO_BIN_EXE_platform")).with_file_name(program);
        std::fs::hard_link(built, home.path().join(program))
            .expect("`cargo xtask test` has built it");
    }
    let agent = std::env::var("ORRERY_VM_GUEST")
        .expect("ORRERY_VM_GUEST names the agent: run the tests by `cargo xtask test`");
    let data = home.path().join("data").display().to_string();
    let ended = demo(
        home.path(),
        &["--cluster", "--data", &data, "--agent", &agent],
    );
    let shown = String::from_utf8_lossy(&ended.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{shown}\n{wrong}");
    // This home has no S3 server.
    for expected in [
        "database       PostgreSQL ",
        "stands in for S3",
        "the run succeeded",
        "killed the leader, runner-",
        "killed the leader, orchestrator-",
        "was started again, and stands by",
        "killed the indexer that publishes, indexer-",
        "6 answers of 2 searchers before, meanwhile and after: the same",
        "a new page was found by all searchers",
    ] {
        assert!(shown.contains(expected), "no {expected} in:\n{shown}");
    }
    let whole = shown.lines().filter(|line| {
        line.starts_with("12 accepted, 12 known when sent again, 12 runs (")
            && line.ends_with(" 0 open, 0 lost, 0 doubled")
    });
    assert_eq!(whole.count(), 2, "{shown}");
    assert!(shown.ends_with("stopped cleanly\n"), "{shown}");
    let left = std::fs::read_dir("/proc").expect("Linux").flatten();
    let left = left.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&*home.path().to_string_lossy())
    });
    assert_eq!(left.count(), 0, "processes are left");
}

#[test]
fn i18_a_cluster_says_which_program_is_missing_and_empties_no_folder_of_others() {
    let home = home();
    let agent = std::env::var("ORRERY_VM_GUEST")
        .expect("ORRERY_VM_GUEST names the agent: run the tests by `cargo xtask test`");
    let ended = demo(home.path(), &["--cluster", "--agent", &agent]);
    let wrong = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{wrong}");
    assert!(wrong.contains("no program `workflow-runner`"), "{wrong}");
    for program in CLUSTER_PROGRAMS {
        std::fs::write(home.path().join(program), "").expect("it is new");
    }
    let data = home.path().display().to_string();
    let ended = demo(
        home.path(),
        &["--cluster", "--data", &data, "--agent", &agent],
    );
    let wrong = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{wrong}");
    assert!(wrong.contains("has files of something else"), "{wrong}");
    assert!(home.path().join("vm-manager").is_file());
}

/// Before, it said one of them each time.
#[test]
fn i18_a_cluster_says_all_that_is_missing_at_once() {
    let home = home();
    let ended = demo(home.path(), &["--cluster"]);
    let wrong = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{wrong}");
    for name in CLUSTER_PROGRAMS.into_iter().chain(["vm-guest"]) {
        assert!(wrong.contains(&format!("`{name}`")), "{name}: {wrong}");
    }
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
