//! What a process is refused: files of another installation, a store that was moved away.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scripted_peers::postgres::PostgresServer;
use scripted_peers::s3::{ACCESS_KEY, BUCKET, S3Server, SECRET_KEY};
use tempfile::TempDir;

use crate::runner::{Runner, SECRET, until};

const KEYS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
    ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
];
/// Longest that a command may take which is to end by itself.
const DEADLINE: Duration = Duration::from_secs(60);

/// The program with a configuration, and a data folder of its own.
fn program(folder: &TempDir, url: &str, settings: &str) -> (Command, PathBuf) {
    let config = folder.path().join("runner.toml");
    let data = folder.path().join("data");
    let text = format!("data_dir = \"{}\"\n{settings}", data.display());
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    command
        .envs(KEYS)
        .env("FORGE_WEBHOOK_SECRET", SECRET)
        .env("WORKFLOW_RUNNER_STORE_URL", url)
        .stdin(Stdio::null());
    (command, config)
}

fn text_of(output: &Output) -> String {
    let all = [output.stdout.clone(), output.stderr.clone()].concat();
    String::from_utf8_lossy(&all).into_owned()
}

fn checked(url: &str, settings: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (mut check, config) = program(&folder, url, settings);
    let output = check.arg("--check").arg("--config").arg(config).output();
    let output = output.unwrap();
    (output.status.code(), text_of(&output))
}

/// Before, the check tried the keys only; whoever led was refused then, a minute later.
#[test]
fn i18_a_check_says_that_the_files_are_of_another_installation() {
    let (server, storage) = (PostgresServer::start(), S3Server::start());
    let objects = |prefix: &str| {
        let endpoint = storage.endpoint();
        format!("[objects]\nurl = \"s3://{BUCKET}/{prefix}\"\nendpoint = \"{endpoint}\"\n")
    };
    let (one, other) = (server.url_in("one"), server.url_in("other"));
    for (url, prefix) in [(&one, "one"), (&other, "other")] {
        let runner = Runner::with(url, &KEYS, &objects(prefix));
        runner.until_role("leader");
        // Its log is stored, by whoever has the place.
        assert_eq!(runner.push("one").status, 202);
        let owner = || storage.bucket().join(prefix).join("owner").is_file();
        until(owner, "a place that is taken");
        assert_eq!(checked(url, &objects(prefix)).0, Some(0), "it is its own");
    }
    for (url, prefix) in [(&one, "other"), (&server.url_in("a_third"), "other")] {
        let (code, said) = checked(url, &objects(prefix));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("is used by another installation"), "{said}");
    }
    // A place that has lost what it held, and another one in place of it, are found, too.
    std::fs::remove_file(storage.bucket().join("one/owner")).unwrap();
    for prefix in ["one", "a-new-one"] {
        let (code, said) = checked(&one, &objects(prefix));
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.contains("none of the files that the store names"),
            "{said}"
        );
    }
}

/// A host that was forgotten, or an old file of variables.
#[test]
fn i18_a_runner_on_a_store_that_was_moved_ends_and_says_where_it_went() {
    let server = PostgresServer::start();
    let mut first = Runner::start(&server);
    first.until_role("leader");
    assert_eq!(first.push("one").status, 202);
    first.program.signal(Signal::TERM);
    assert_eq!(first.program.child.wait().unwrap().code(), Some(0));
    let folder = tempfile::tempdir().unwrap();
    let (mut migrate, config) = program(&folder, &server.url(), "");
    let new = folder.path().join("moved-there");
    migrate.args(["store", "migrate", "--from", "config", "--to"]);
    let moved = migrate.arg(&new).arg("--config").arg(&config).output();
    let moved = moved.unwrap();
    assert!(moved.status.success(), "{}", text_of(&moved));
    let (code, text) = served(&folder, &server, &config);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("was moved to") && text.contains("moved-there"),
        "{text}"
    );
    let (code, text) = checked(&server.url(), "");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("moved-there"), "{text}");
}

/// What a process says that is to end by itself, and how it ended.
fn served(folder: &TempDir, server: &PostgresServer, config: &Path) -> (Option<i32>, String) {
    let (mut serve, _) = program(folder, &server.url(), "");
    let serve = serve.args(["--listen", "127.0.0.1:0", "--config"]);
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let serve = serve.arg(config).stdout(Stdio::null()).stderr(log);
    let mut child = serve
        .env("VMM_API_URL", "http://127.0.0.1:9")
        .spawn()
        .unwrap();
    let began = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if began.elapsed() > DEADLINE {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    };
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    (code, text)
}
