//! `workflow-runner actions`, as a program, with repositories of this machine.

use std::path::Path;
use std::process::{Command, Output};

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .output()
        .expect("git is installed (Debian package git)");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    text(&output.stdout).trim().to_owned()
}

fn commit(folder: &Path, name: &str) -> String {
    std::fs::write(folder.join("action.yml"), name).expect("a file");
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", name]);
    git(folder, &["tag", "--force", "v1"]);
    git(folder, &["rev-parse", "HEAD"])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn an_action_is_added_listed_moved_and_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    let upstream = folder.path().join("tool");
    std::fs::create_dir(&upstream).expect("a folder");
    git(
        &upstream,
        &["init", "--quiet", "--initial-branch=main", "."],
    );
    let first = commit(&upstream, "name: one");
    let run = |arguments: &[&str]| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command.arg("actions").args(arguments);
        command
            .args(["--data", "runner"])
            .current_dir(folder.path());
        command.output().expect("the program starts")
    };
    let said = |arguments: &[&str], code: i32| {
        let output = run(arguments);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    };
    assert_eq!(said(&["list"], 0), "the store holds no actions\n");
    let added = said(&["add", "Acme/Tool/sub@v1", "--from", "tool"], 0);
    assert_eq!(added, format!("Acme/Tool/sub@v1: added, {first}\n"));
    let listed = said(&["list"], 0);
    assert!(
        listed.starts_with(&format!("acme/tool@v1  {first}  file://")),
        "{listed}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&said(&["list", "--json"], 0)).expect("JSON");
    assert_eq!(json["actions"]["acme/tool@v1"]["commit"], first);
    assert_eq!(said(&["verify"], 0), "1 actions: 1 as locked, 0 not\n");

    let second = commit(&upstream, "name: two");
    let moved = format!("acme/tool@v1: moved from {first}, {second}\n");
    assert_eq!(said(&["update"], 0), moved);
    assert_eq!(
        said(&["update", "acme/tool@v1"], 0),
        format!("acme/tool@v1: unchanged, {second}\n")
    );
    let unknown = said(&["update", "acme/other@v1"], 1);
    assert!(unknown.contains("not in the store"), "{unknown}");
    let absent = said(&["add", "acme/tool@v9", "--from", "tool"], 1);
    assert!(absent.contains("no such tag"), "{absent}");
    let wrong = said(&["add", "tool"], 1);
    assert!(wrong.contains("names no version"), "{wrong}");

    let file = format!("runner/actions/trees/{second}/action.yml");
    std::fs::write(folder.path().join(file), "poison").expect("a file");
    let poisoned = said(&["verify"], 1);
    assert!(
        poisoned.contains("not those that were locked"),
        "{poisoned}"
    );
    std::fs::write(folder.path().join("runner/actions/lock.json"), "{}").expect("a file");
    let broken = said(&["verify"], 1);
    assert!(broken.contains("lock of the actions"), "{broken}");
}

#[test]
fn everything_that_workflows_use_is_added_and_what_that_uses() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    let repository = |name: &str, files: &[(&str, &str)]| {
        let top = at(&format!("mirrors/{name}"));
        for (path, text) in files {
            let path = top.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        git(&top, &["init", "--quiet", "--initial-branch=main", "."]);
        git(&top, &["add", "--all"]);
        git(&top, &["commit", "--quiet", "-m", "one"]);
        git(&top, &["tag", "v1"]);
    };
    let composite = "runs: {using: composite, steps: [{uses: acme/inner@v1}]}\n";
    repository("acme/outer", &[("sub/action.yml", composite)]);
    repository(
        "acme/inner",
        &[("action.yml", "runs: {using: node20, main: x.js}\n")],
    );
    repository(
        "acme/flows",
        &[(
            ".github/workflows/call.yml",
            "on: {workflow_call: }\njobs: {a: {runs-on: x, steps: [{run: make}]}}\n",
        )],
    );
    let workflow = "on: push\njobs:\n  a: {runs-on: x, steps: [{uses: acme/outer/sub@v1}, {uses: actions/checkout@v4}]}\n  b: {uses: acme/flows/.github/workflows/call.yml@v1}\n  c: {runs-on: x, steps: [{uses: acme/absent@v1}]}\n";
    std::fs::create_dir_all(at("tree/.github/workflows")).expect("folders");
    std::fs::write(at("tree/.github/workflows/ci.yml"), workflow).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    command.args([
        "actions", "vendor", "tree", "--from", "mirrors", "--data", "runner",
    ]);
    let output = command
        .current_dir(folder.path())
        .output()
        .expect("the program starts");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(1),
        "one is not there: {out}{err}"
    );
    for name in [
        "acme/outer/sub@v1",
        "acme/flows/.github/workflows/call.yml@v1",
        "acme/inner@v1",
    ] {
        assert!(
            out.contains(&format!("{name}: added, ")),
            "{name}: {out}{err}"
        );
    }
    assert!(err.contains("acme/absent@v1: "), "{err}");
    assert_eq!(
        out.lines().count() + err.lines().count(),
        4,
        "each once: {out}{err}"
    );
}
