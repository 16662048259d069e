//! The process as others of the machine see it: its environment, its files, its signals.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use scripted_peers::{Program, deliver};
use serde_json::json;

const PLANTED: [&str; 3] = [
    "planted-webhook-secret-0123456789",
    "planted-forge-token-0123456789",
    "planted-in-a-variable-of-any-name",
];

fn runner(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    command
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .env("FORGE_WEBHOOK_SECRET", PLANTED[0])
        .env("VMM_API_URL", "http://127.0.0.1:9");
    command
}

#[test]
fn t4_t10_y1_no_secret_is_shown_its_folder_is_closed_and_sighup_does_not_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = runner(&data);
    command.env("FORGE_TOKEN", PLANTED[1]);
    let mut runner = Program::start(command.env("SOME_NAME", PLANTED[2]));
    assert!(runner.output().contains("data.tightened"));
    let id = runner.child.id();
    // Nobody but root may look, which is what is wanted.
    let block = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    let block = String::from_utf8_lossy(&block).into_owned();
    for planted in PLANTED {
        assert!(!block.contains(planted), "{planted} is in {block:?}");
    }
    assert_eq!(std::fs::metadata(&data).unwrap().mode() & 0o777, 0o700);
    runner.signal(Signal::HUP);
    runner.wait_for("config.reloaded");
    let (code, output) = runner.end();
    assert!(output.contains("server.stopped"), "{output}");
    assert_eq!(code, Some(0));
}

#[test]
fn y5_a_delivery_that_starts_nothing_says_why_in_answer_and_log() {
    let folder = tempfile::tempdir().unwrap();
    let runner = Program::start(runner(folder.path()));
    let body = json!({"ref": "refs/heads/gone", "before": "1".repeat(40), "after": "0".repeat(40),
        "created": false, "deleted": true, "commits": [], "pusher": {"login": "ada"},
        "repository": {"full_name": "acme/rocket", "clone_url": "https://forge.invalid/a.git",
            "default_branch": "main"}});
    let reply = deliver(&runner.address, PLANTED[0], "push", "d-1", &body).unwrap();
    assert_eq!(reply.status, 200, "{reply:?}");
    for part in ["\"ignored\"", "refs/heads/gone was deleted"] {
        assert!(reply.body.contains(part), "{part}: {reply:?}");
    }
    let line = runner.wait_for("webhook.ignored");
    assert!(
        line.contains("d-1") && line.contains("refs/heads/gone was deleted"),
        "{line}"
    );
}
