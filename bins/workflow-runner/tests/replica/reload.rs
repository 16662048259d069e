//! The settings are read again: by signal, by command, by each process beside the store.

use std::process::Command;

use rustix::process::Signal;
use scripted_peers::postgres::PostgresServer;
use serde_json::json;

use crate::runner::{Runner, pair, until};

/// A file with these hosts, and what else is said.
fn file(rest: &str, hosts: &[&str]) -> String {
    let hosts = hosts
        .iter()
        .map(|name| format!("[vm_hosts.{name}]\nurl = \"http://127.0.0.1:9\"\n"));
    format!("{rest}{}", hosts.collect::<String>())
}

/// The names of the hosts that whoever leads has.
fn hosts(runner: &Runner) -> Vec<String> {
    let listed = runner.get("/vm-hosts").unwrap().json();
    let listed = listed.as_array().cloned().unwrap_or_default();
    listed
        .iter()
        .filter_map(|host| Some(host["name"].as_str()?.to_owned()))
        .collect()
}

fn reload(runner: &Runner) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
        .args(["reload", "--url"])
        .arg(format!("http://{}/", runner.program.address))
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn i18_hosts_are_added_and_removed_without_a_restart_of_anybody() {
    let server = PostgresServer::start();
    let (first, second) = pair(&server);
    assert_eq!(hosts(&first), ["default"]);
    let settings = file("keep_runs = 1000\n", &["east", "west"]);
    first.configure(&settings);
    // Another file on one host is found, and said.
    let warned = |warns: bool| {
        let health = second.get("/health").unwrap().json();
        let reason = health["reason"].as_str().unwrap_or_default();
        reason.contains("differ from the leader's: [vm_hosts]") == warns
    };
    // By signal, the process alone.
    first.program.signal(Signal::HUP);
    until(
        || hosts(&second) == ["default", "east", "west"],
        "another list",
    );
    until(|| warned(true), "a standby with another list");
    second.configure(&settings);
    second.program.signal(Signal::HUP);
    until(|| warned(false), "a standby with the same list");

    // By command, through whichever process, to all of them.
    let settings = file("keep_runs = 7\nmax_jobs = 3\n", &["north", "west"]);
    first.configure(&settings);
    second.configure(&settings);
    let (code, said) = reload(&second);
    assert_eq!(
        (code, said.as_str()),
        (
            Some(0),
            "vm_hosts.north is new: it is asked for VMs\n\
             vm_hosts.east is listed no more: it takes no new jobs\n\
             keep_runs changes at a restart\nmax_jobs changes at a restart\n"
        )
    );
    assert_eq!(hosts(&second), ["default", "north", "west"]);
    second.program.wait_for("max_jobs");

    // Nothing of a file with a mistake, anywhere.
    let wrong = file("keep_runs = 1000\n", &["south"]) + "lable = []\n";
    first.configure(&wrong);
    second.configure(&wrong);
    let (code, said) = reload(&first);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("runner.toml:4:1: unknown key `lable`"),
        "{said}"
    );
    let line = first.program.wait_for("config.refused");
    assert!(
        line.contains("runner.toml:4:1: unknown key `lable`"),
        "{line}"
    );
    assert_eq!(hosts(&first), ["default", "north", "west"]);
    let refused = first.ask("POST /admin/reload", &[]).unwrap();
    assert_eq!(refused.status, 422, "{}", refused.body);

    // Whoever leads next has the list of the last file without mistakes.
    first.program.signal(Signal::TERM);
    second.until_role("leader");
    assert_eq!(hosts(&second), ["default", "north", "west"]);
    second.configure(&file("", &["south"]));
    let reloaded = second.ask("POST /admin/reload", &[]).unwrap();
    assert_eq!(
        reloaded.json()["vm_hosts"],
        json!({"added": ["south"], "changed": [], "removed": ["north", "west"]}),
        "{}",
        reloaded.body
    );
    assert_eq!(reloaded.json()["at_restart"], json!(["keep_runs"]));
}
