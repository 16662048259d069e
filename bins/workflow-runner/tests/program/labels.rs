//! `workflow-runner labels import`: its rows are a configuration that the runner takes.

use std::process::{Command, Output};

fn run(folder: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
        .args(arguments)
        .env_clear()
        .env("HOME", folder)
        .env("FORGE_WEBHOOK_SECRET", "0123456789abcdef")
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

#[test]
fn i17_the_labels_of_a_forge_s_runner_are_machines_of_the_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = "runner:\n  capacity: 2\n  labels:\n    - ubuntu-22.04:docker://node:20-bookworm\n    - mac:host\n";
    std::fs::write(folder.path().join("config.yaml"), config).expect("a file");
    let output = run(folder.path(), &["labels", "import", "config.yaml"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for part in [
        "config.yaml:2: `runner.capacity`: it is `max_jobs`",
        "config.yaml:5: `mac:host`",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    std::fs::write(folder.path().join("runner.toml"), &output.stdout).expect("a file");
    let shown = run(
        folder.path(),
        &["config", "--show", "--config", "runner.toml"],
    );
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.status.success(), "{shown:?}");
    assert!(text.contains("node:20-bookworm"), "{text}");
    let wrong = run(folder.path(), &["labels", "import", "runner.toml"]);
    assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
}
