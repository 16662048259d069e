//! `workflow-runner check --summary`, as a program, over a small tree.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    let command = command.args(["check", "--summary"]).args(arguments);
    command
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    std::fs::write(path, text).expect("a file");
}

fn job(keys: &str, steps: &str) -> String {
    format!("on: push\njobs: {{a: {{runs-on: ubuntu-latest, {keys}steps: [{steps}]}}}}\n")
}

/// Six files in four repositories, one of them deep and two of them with folders of other forges.
fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let file = |path: &str, text: &str| write(at, path, text);
    file("one/.github/workflows/good.yml", &job("", "{run: make}"));
    file(
        "one/.github/workflows/local.yaml",
        &job("", "{uses: ./act}"),
    );
    file(
        "one/act/action.yml",
        "runs: {using: composite, steps: [{run: make, shell: bash}]}\n",
    );
    file("one/.github/workflows/notes.txt", "no workflow");
    let remote = "{uses: acme/tool@v1}";
    file("group/two/.forgejo/workflows/a.yml", &job("", remote));
    let both = format!("{remote}, {{uses: acme/other/sub@v2}}");
    file(
        "group/two/.github/workflows/b.yml",
        &job("services: {db: {image: x}}, ", &both),
    );
    let inputs = "{uses: actions/setup-java@v5, with: {java-package: jdk+fx}}, {uses: actions/setup-node@v6, with: {architecture: s390x}}";
    file("three/.gitea/workflows/c.yml", &job("", inputs));
    file("four/.github/workflows/wrong.yml", "on: push\njobs: 3\n");
    let mac = job("", "{run: make}").replace("ubuntu-latest", "macos-14");
    file("four/.github/workflows/mac.yml", &mac);
    // Neither is a repository of somebody's own.
    file("one/node_modules/x/.github/workflows/n.yml", "on: push\n");
    file("one/.git/x/.github/workflows/n.yml", "on: push\n");
    folder
}

#[test]
fn files_are_counted_by_reason_and_by_what_would_help() {
    let folder = tree();
    let output = run(folder.path(), &["--json", "."]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(summary["files"], 7, "{text}");
    assert_eq!(summary["accepted"], 2, "{text}");
    assert_eq!(summary["refused"], 4, "{text}");
    assert_eq!(summary["linux_only"], 5, "{text}");
    // What names an image as well needs more than the store of actions.
    assert_eq!(summary["with_full_store"], 4, "{text}");
    assert_eq!(summary["with_full_store_and_images"], 5, "{text}");
    let wrong = &summary["wrong"][0];
    assert!(
        wrong["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("four/.github/workflows/wrong.yml")),
        "{text}"
    );
    assert!(
        wrong["mistake"]
            .as_str()
            .is_some_and(|m| m.contains("jobs")),
        "{text}"
    );
    let first = &summary["reasons"][0];
    assert_eq!(
        first,
        &json!({
            "reason": "actions of other repositories", "files": 2, "alone": 1,
            "details": [["acme/tool", 2], ["acme/other/sub", 1]],
        })
    );
    let inputs = summary["reasons"]
        .as_array()
        .and_then(|all| {
            all.iter()
                .find(|one| one["reason"] == "inputs of native actions")
        })
        .expect("inputs");
    assert_eq!(
        inputs["details"],
        json!([
            ["architecture of actions/setup-node", 1],
            ["java-package of actions/setup-java", 1]
        ])
    );
    let additions = summary["additions"].as_array().expect("a list");
    assert_eq!(
        additions[0],
        json!({"needs": ["actions of other repositories"], "gained": 1, "accepted": 3})
    );
    assert_eq!(
        additions.last().map(|last| &last["accepted"]),
        Some(&json!(6))
    );
    let last = summary["single_additions"]
        .as_array()
        .and_then(|all| all.last());
    let files = last.map(|last| &last["accepted"]);
    assert_eq!(files, Some(&json!(6)), "{text}");
    let services = json!({
        "needs": ["actions of other repositories: acme/other/sub", "images of containers: x:latest"],
        "gained": 1, "accepted": 5,
    });
    let single = summary["single_additions"].as_array();
    assert!(single.is_some_and(|all| all.contains(&services)), "{text}");
}

#[test]
fn people_read_shares_and_reasons() {
    let folder = tree();
    let output = run(folder.path(), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for line in [
        "7 files in 4 repositories: 2 accepted (28.6 %), 4 refused, 1 wrong",
        "5 need neither macOS nor Windows and are well written: 40.0 % of them are accepted",
        "      2      1  actions of other repositories",
        "     +1 → 3      actions of other repositories",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_folder_of_collected_files_is_counted_too_and_an_empty_one_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "ci/good.yml", &job("", "{run: make}"));
    write(folder.path(), "ci/deep/good.yaml", &job("", "{run: make}"));
    let output = run(folder.path(), &["--json"]);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&summary["files"], &summary["accepted"]),
        (&json!(2), &json!(2))
    );
    let empty = tempfile::tempdir().expect("a folder");
    let output = run(empty.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("holds no workflow files"));
}

/// It was said on standard error, and the shares were of fewer files than there are.
#[test]
fn i17_a_file_that_cannot_be_read_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "ci/good.yml", &job("", "{run: make}"));
    let large = job("", "{run: make}") + &" # more\n".repeat(1 << 18);
    write(folder.path(), "ci/large.yml", &large);
    let output = run(folder.path(), &["--json"]);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&summary["files"], &summary["unread"], &summary["accepted"]),
        (&json!(2), &json!(1), &json!(1))
    );
    let output = run(folder.path(), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    for line in [
        "2 files in 1 repositories: 1 accepted (50.0 %), 0 refused, 0 wrong, 1 not read",
        "1 at most would be with every image that they name as well: 100.0 % of them",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
