//! Processes of the version before, beside one that has brought the tables up to date.

use std::process::{Command, Stdio};

use scripted_peers::postgres::PostgresServer;

use crate::runner::{Runner, SECRET, pair, until};

/// What the tables of the version after this one are to this one.
const VERSION_MESSAGE: &str = "this program knows";

/// Ends all connections.
fn disconnect(server: &PostgresServer) {
    server.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
    );
}

fn ready(runner: &Runner) -> Option<u16> {
    Some(runner.get("/readyz")?.status)
}

/// The tables are changed only by whoever takes the store: what led before stands by then. It goes
/// on with the connections that it has; without them it says why it is not ready, and stays.
#[test]
fn i18_a_process_of_the_version_before_stands_by_until_it_connects_anew_and_does_not_end() {
    let server = PostgresServer::start();
    let (first, mut second) = pair(&server);
    let set = |version: &str| {
        server.sql(&format!(
            "UPDATE workflow_runner.layout SET version = {version}"
        ));
    };
    // The connection for what it takes in is made for the first of it.
    assert_eq!(second.push("zero").status, 202);
    set("version + 1");
    assert_eq!(second.push("one").status, 202);
    assert_eq!(first.push("two").status, 202);
    assert_eq!(ready(&second), Some(200));
    disconnect(&server);
    until(
        || ready(&second) == Some(503),
        "a standby that is not ready",
    );
    let says_why = |runner: &Runner| {
        let health = runner.get("/health").map(|it| it.json());
        let reason = health.as_ref().and_then(|it| it["reason"].as_str());
        reason.is_some_and(|reason| reason.contains(VERSION_MESSAGE))
    };
    until(|| says_why(&second), "a standby that says why");
    let refused = second.push("three");
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(second.program.child.try_wait().unwrap().is_none());
    let mut third = Runner::start(&server);
    until(|| says_why(&third), "one that is started says why");
    assert_eq!(ready(&third), Some(503));
    assert!(third.program.child.try_wait().unwrap().is_none());
    // Before it is started, a check says it.
    let folder = tempfile::tempdir().unwrap();
    let checked = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
        .arg("--check")
        .arg("--data")
        .arg(folder.path())
        .env("FORGE_WEBHOOK_SECRET", SECRET)
        .env("WORKFLOW_RUNNER_STORE_URL", server.url())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(said.contains(VERSION_MESSAGE), "{said}");
    assert_eq!(checked.status.code(), Some(1), "{said}");
    // As a program that knows them does.
    set("version - 1");
    until(|| ready(&second) == Some(200), "a standby that is ready");
    until(
        || second.push("three").status == 202,
        "a delivery that is taken",
    );
    let lead = |runner: &Runner| runner.role().as_deref() == Some("leader");
    until(|| lead(&first) || lead(&second), "a leader");
}
