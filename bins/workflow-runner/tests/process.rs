//! The process as others of the machine see it: its environment, its files, its signals.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Child, Command, Stdio};

const PLANTED: [&str; 3] = [
    "planted-webhook-secret-0123456789",
    "planted-forge-token-0123456789",
    "planted-in-a-variable-of-any-name",
];

/// Killed when a test fails.
struct Runner(Child);

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn t4_t10_y1_no_secret_is_shown_its_folder_is_closed_and_sighup_does_not_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(&data)
        .env("FORGE_WEBHOOK_SECRET", PLANTED[0])
        .env("FORGE_TOKEN", PLANTED[1])
        .env("SOME_NAME", PLANTED[2])
        .env("VMM_API_URL", "http://127.0.0.1:9")
        .env("LOG_LEVEL", "info")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut runner = Runner(child);
    let mut lines = BufReader::new(runner.0.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut until = |event: &str| lines.find(|line| line.contains(event)).expect(event);
    until("data.tightened");
    until("server.listening");
    let id = runner.0.id();
    // Nobody but root may look, which is what is wanted.
    let block = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    let block = String::from_utf8_lossy(&block).into_owned();
    for planted in PLANTED {
        assert!(!block.contains(planted), "{planted} is in {block:?}");
    }
    assert_eq!(std::fs::metadata(&data).unwrap().mode() & 0o777, 0o700);
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &id.to_string()]).status();
        assert!(sent.unwrap().success());
    };
    signal("-HUP");
    until("server.hangup_ignored");
    signal("-TERM");
    until("server.stopped");
    assert_eq!(runner.0.wait().unwrap().code(), Some(0));
}

#[test]
fn y5_a_delivery_that_starts_nothing_says_why_in_answer_and_log() {
    let folder = tempfile::tempdir().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(folder.path())
        .env("FORGE_WEBHOOK_SECRET", PLANTED[0])
        .env("VMM_API_URL", "http://127.0.0.1:9")
        .env("LOG_LEVEL", "info")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut runner = Runner(child);
    let mut lines = BufReader::new(runner.0.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut until = |event: &str| lines.find(|line| line.contains(event)).expect(event);
    let listening = until("server.listening");
    let address = listening.split("http://").nth(1).unwrap();
    let address = address.split('/').next().unwrap();
    let body = r#"{"ref": "refs/heads/gone", "before": "1111111111111111111111111111111111111111",
        "after": "0000000000000000000000000000000000000000", "created": false, "deleted": true,
        "commits": [], "pusher": {"login": "ada"}, "repository": {"full_name": "acme/rocket",
        "clone_url": "https://forge.invalid/a.git", "default_branch": "main"}}"#;
    let signature = forge_core::sign(PLANTED[0], body.as_bytes()).unwrap().hub();
    let request = format!(
        "POST /webhook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
        Content-Type: application/json\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: d-1\r\n\
        X-Hub-Signature-256: {signature}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for part in ["\"ignored\"", "refs/heads/gone was deleted"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    let line = until("webhook.ignored");
    assert!(
        line.contains("d-1") && line.contains("refs/heads/gone was deleted"),
        "{line}"
    );
}
