//! `hook add`, as its user runs it, with a scripted forge.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::process::{Command, Output};

use scripted_peers::ScriptedForge;

fn forge() -> ScriptedForge {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            sender.send(ScriptedForge::start()).ok();
            std::future::pending::<()>().await;
        });
    });
    let forge = receiver.recv().unwrap();
    forge.add_user("runner", "forge-token-0123456789");
    forge.add_repo("acme/rocket");
    forge
}

fn run(forge_url: &str, token: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
        .args(["hook", "add"])
        .args(arguments)
        .env_clear()
        .env("HOME", folder.path())
        .env("FORGE_URL", forge_url)
        .env("FORGE_TOKEN", token)
        .env("FORGE_WEBHOOK_SECRET", "the webhook's secret")
        .output()
        .unwrap()
}

#[test]
fn v13_a_hook_is_registered_once_and_its_failure_says_which_right_is_missing() {
    let forge = forge();
    let token = "forge-token-0123456789";
    let arguments = ["acme/rocket", "--url", "https://ci.example/webhook"];
    for said in ["registered", "up to date"] {
        let output = run(&forge.url(), token, &arguments);
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && out.contains(said), "{output:?}");
        assert!(!out.contains("the webhook's secret"));
    }
    let hooks = forge.hooks("acme/rocket");
    assert_eq!(hooks.len(), 1, "{hooks:?}");
    let output = run(&forge.url(), "wrong", &arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("acme/rocket"),
        "{said}"
    );
}

#[test]
fn v13_a_forge_elsewhere_is_not_told_the_loopback_address() {
    let output = run("https://forge.example", "t", &["acme/rocket"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("--url"), "{said}");
    let output = run("https://forge.example", "t", &["rocket"]);
    assert!(!output.status.success(), "no owner: {output:?}");
}

/// The events of the only hook.
fn events(forge: &ScriptedForge) -> Vec<String> {
    let hooks = forge.hooks("acme/rocket");
    assert_eq!(hooks.len(), 1, "{hooks:?}");
    hooks[0].events.clone()
}

#[test]
fn i17_a_hook_sends_all_events_that_start_runs_and_check_says_which_one_does_not() {
    let forge = forge();
    let token = "forge-token-0123456789";
    let folder = tempfile::tempdir().unwrap();
    let workflows = folder.path().join(".gitea/workflows");
    std::fs::create_dir_all(&workflows).unwrap();
    let text = "on: [push, release, pull_request_review, watch, workflow_dispatch]\njobs: {a: {runs-on: x, steps: [{run: y}]}}\n";
    std::fs::write(workflows.join("ci.yml"), text).unwrap();
    let check = || {
        let output = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
            .args(["check", "--hook", "acme/rocket"])
            .arg(folder.path())
            .env_clear()
            .env("HOME", folder.path())
            .env("FORGE_URL", forge.url())
            .env("FORGE_TOKEN", token)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(check().contains("has no active hook"));
    let output = run(
        &forge.url(),
        token,
        &["acme/rocket", "--url", "https://ci.example/webhook"],
    );
    assert!(output.status.success(), "{output:?}");
    let sent = events(&forge);
    for name in [
        "push",
        "pull_request",
        "pull_request_sync",
        "pull_request_review_approved",
        "issues",
        "issue_comment",
        "release",
        "create",
        "delete",
        "fork",
        "wiki",
        "package",
    ] {
        assert!(sent.iter().any(|known| known == name), "{name}: {sent:?}");
    }
    let said = check();
    assert!(
        said.contains("no webhook of this forge tells of `watch`"),
        "{said}"
    );
    assert!(!said.contains("does not come"), "{said}");
    // One that somebody has made by hand.
    forge.set_hook_events("acme/rocket", &["push", "pull_request_review_approved"]);
    let said = check();
    for part in [
        "`release` does not come: the hook of acme/rocket does not send release",
        "does not send pull_request_review_rejected, pull_request_review_comment",
        "workflow-runner hook add acme/rocket",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        !said.contains("`push`") && !said.contains("`workflow_dispatch`"),
        "{said}"
    );
}
