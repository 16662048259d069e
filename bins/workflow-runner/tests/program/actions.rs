//! `workflow-runner actions`, as a program, with repositories of this machine.

use std::path::Path;
use std::process::{Command, Output};

use scripted_peers::git;

use crate::stage::{Stage, in_order};

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

/// A store of actions, and repositories beside it.
struct Host(tempfile::TempDir);

impl Host {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    /// What `actions` says in this folder, with the exit code.
    fn outcome(&self, arguments: &[&str], code: i32) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command.arg("actions").args(arguments);
        command
            .args(["--data", "runner"])
            .current_dir(self.0.path());
        let output = command.output().expect("the program starts");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    }
}

#[test]
fn i17_what_a_lock_file_names_is_vendored_and_checked() {
    let host = Host::new();
    let upstream = host.at("mirrors/acme/tool");
    std::fs::create_dir_all(&upstream).expect("a folder");
    git(
        &upstream,
        &["init", "--quiet", "--initial-branch=main", "."],
    );
    let action = |name: &str| format!("name: {name}\nruns: {{using: node20, main: x.js}}\n");
    let first = commit(&upstream, &action("one"));
    let second = commit(&upstream, &action("two"));
    assert_ne!(first, second);
    std::fs::create_dir_all(host.at("tree/.github/workflows")).expect("folders");
    let file = |name: &str, text: &str| {
        let path = host.at("tree/.github/workflows").join(name);
        std::fs::write(path, text).expect("a file");
    };
    file(
        "ci.yml",
        "on: push\njobs: {a: {runs-on: x, steps: [{uses: acme/tool@v1}]}}\n",
    );
    file(
        "actions.lock",
        &format!(
            "version: 'v0.0.2'\nworkflows:\n    '.github/workflows/ci.yml':\n        - 'acme/tool@v1'\ndependencies:\n    'acme/tool@v1':\n        ref: 'v1'\n        commit: 'sha1-{first}'\n        owner_id: 1\n        repo_id: 2\n"
        ),
    );
    // The tag has moved since the file was written: its commit is what counts.
    host.outcome(&["add", "acme/tool@v1", "--from", "mirrors/acme/tool"], 0);
    let check = |code: i32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command.args(["check", "tree", "--data", "runner"]);
        let output = command
            .current_dir(host.at("."))
            .output()
            .expect("it starts");
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{said}");
        said
    };
    let refused = check(3);
    assert!(refused.contains(&format!("has {second}")), "{refused}");
    let vendored = host.outcome(&["vendor", "tree", "--from", "mirrors"], 0);
    assert_eq!(vendored, format!("acme/tool@{first}: added, {first}\n"));
    let noted = check(0);
    assert!(
        noted.contains(&format!("acme/tool@v1: {first}, as")),
        "{noted}"
    );
}

#[test]
fn i17_a_store_goes_to_a_host_without_a_forge_as_one_archive() {
    let host = Host::new();
    for name in ["tool", "other"] {
        let upstream = host.at(name);
        std::fs::create_dir(&upstream).expect("a folder");
        git(
            &upstream,
            &["init", "--quiet", "--initial-branch=main", "."],
        );
        std::fs::create_dir(upstream.join("sub")).expect("a folder");
        std::fs::write(upstream.join("sub/run.sh"), name).expect("a file");
        commit(&upstream, &format!("name: {name}"));
        host.outcome(&["add", &format!("acme/{name}@v1"), "--from", name], 0);
    }
    let second = commit(&host.at("tool"), "name: two");
    git(&host.at("tool"), &["tag", "v2"]);
    host.outcome(&["add", "acme/tool@v2", "--from", "tool"], 0);
    let written = host.outcome(&["export", "all.tar"], 0);
    assert_eq!(written, "3 actions are in all.tar\n");
    host.outcome(&["export", "one.tar", "Acme/Tool@v2"], 0);
    let unknown = host.outcome(&["export", "none.tar", "acme/none@v1"], 1);
    assert!(
        unknown.contains("acme/none@v1 is not in the store"),
        "{unknown}"
    );
    assert!(!host.at("none.tar").exists() && !host.at("none.tar.part").exists());

    // Neither the repositories nor the first store are there.
    let away = Host::new();
    for archive in ["all.tar", "one.tar"] {
        std::fs::copy(host.at(archive), away.at(archive)).expect("copied");
    }
    let listed = host.outcome(&["list"], 0);
    drop(host);
    let added = away.outcome(&["import", "one.tar"], 0);
    assert_eq!(added, format!("acme/tool@v2: added, {second}\n"));
    let added = away.outcome(&["import", "all.tar"], 0);
    assert!(
        added.contains("acme/other@v1: added") && added.contains("acme/tool@v2: unchanged"),
        "{added}"
    );
    assert_eq!(
        away.outcome(&["list"], 0),
        listed,
        "commits and where they came from"
    );
    assert_eq!(
        away.outcome(&["verify"], 0),
        "3 actions: 3 as locked, 0 not\n"
    );
    let files = away.at(&format!("runner/actions/trees/{second}"));
    assert_eq!(
        std::fs::read_to_string(files.join("action.yml")).expect("a file"),
        "name: two"
    );
    assert!(!away.at("runner/actions/exchange").exists());

    // What is forgotten takes nothing with it that others need.
    assert_eq!(
        away.outcome(&["remove", "acme/tool@v2"], 0),
        "acme/tool@v2: removed\n"
    );
    assert!(!files.exists());
    assert_eq!(
        away.outcome(&["verify"], 0),
        "2 actions: 2 as locked, 0 not\n"
    );
    away.outcome(&["remove", "acme/tool@v1"], 0);
    assert!(!away.at("runner/actions/mirrors/acme/tool.git").exists());
    let gone = away.outcome(&["remove", "acme/tool@v1"], 1);
    assert!(gone.contains("is not in the store"), "{gone}");
    away.outcome(&["import", "all.tar"], 0);

    // A store that somebody has changed is not handed on.
    std::fs::write(files.join("action.yml"), "poison").expect("a file");
    let poisoned = away.outcome(&["export", "bad.tar"], 1);
    assert!(
        poisoned.contains("acme/tool@v2: its files are not those"),
        "{poisoned}"
    );
}

#[test]
fn i17_an_archive_that_was_changed_is_refused_and_changes_nothing() {
    let host = Host::new();
    let upstream = host.at("tool");
    std::fs::create_dir(&upstream).expect("a folder");
    git(
        &upstream,
        &["init", "--quiet", "--initial-branch=main", "."],
    );
    commit(&upstream, "name: one");
    host.outcome(&["add", "acme/tool@v1", "--from", "tool"], 0);
    host.outcome(&["export", "good.tar"], 0);
    let away = Host::new();
    let tar = |name: &str, change: &dyn Fn(&Path)| {
        let folder = away.at("unpacked");
        std::fs::create_dir(&folder).expect("a folder");
        let run = |arguments: &[&str]| {
            let tar = Command::new("tar")
                .args(arguments)
                .current_dir(&folder)
                .status();
            assert!(tar.expect("tar").success(), "{arguments:?}");
        };
        run(&["-xf", host.at("good.tar").to_str().expect("a path")]);
        change(&folder);
        let made = Command::new("sh")
            .args([
                "-c",
                "find lock.json mirrors -type f | tar -cf \"$1\" -T -",
                "sh",
                name,
            ])
            .current_dir(&folder)
            .status();
        assert!(made.expect("tar").success());
        std::fs::rename(folder.join(name), away.at(name)).expect("moved");
        std::fs::remove_dir_all(&folder).expect("removed");
    };
    let refused = |name: &str, why: &str| {
        let said = away.outcome(&["import", name], 1);
        assert!(said.contains(why), "{name}: {said}");
        assert_eq!(away.outcome(&["list"], 0), "the store holds no actions\n");
    };
    let with_lock = |from: &'static str, to: &'static str| {
        move |folder: &Path| {
            let lock = std::fs::read_to_string(folder.join("lock.json")).expect("a file");
            let at = lock.find(from).expect(from) + from.len();
            let until = at + lock[at..].find('"').expect("an end");
            let changed = format!("{}{to}{}", &lock[..at], &lock[until..]);
            std::fs::write(folder.join("lock.json"), changed).expect("a file");
        }
    };
    let zeros: &'static str = "0000000000000000000000000000000000000000000000000000000000000000";
    // First: what git has once read is there, under its own name.
    tar("lock.tar", &|folder| {
        std::fs::remove_dir_all(folder.join("mirrors"))
            .and_then(|()| std::fs::create_dir(folder.join("mirrors")))
            .expect("removed");
    });
    refused("lock.tar", "acme/tool@v1: ");
    tar("digest.tar", &with_lock("sha256:", zeros));
    refused("digest.tar", "and its lock says sha256:0000");
    tar("commit.tar", &with_lock("\"commit\": \"", &zeros[..40]));
    refused("commit.tar", "acme/tool@v1: ");
    tar("hook.tar", &|folder| {
        let hooks = folder.join("mirrors/acme/tool.git/hooks");
        std::fs::create_dir(&hooks).expect("a folder");
        std::fs::write(hooks.join("post-checkout"), "#!/bin/sh\n").expect("a file");
    });
    refused("hook.tar", "hooks/post-checkout does not belong there");
    std::fs::write(away.at("text.tar"), "no archive").expect("a file");
    refused("text.tar", "is no archive of actions");
    refused("absent.tar", "absent.tar: No such file");
}

/// As slsa's delegators do it: the folder was refused, wherever a step had put it.
#[test]
fn i17_an_action_beside_the_checkout_is_run() {
    let stage = Stage::new();
    let workflow = r#"
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: |
          mkdir -p ../beside/inner
          echo 'runs: {using: composite, steps: [{uses: ./../beside/inner}, {run: echo "outer $GITHUB_ACTION_PATH", shell: sh}]}' > ../beside/action.yml
          echo 'runs: {using: composite, steps: [{run: echo inner, shell: sh}]}' > ../beside/inner/action.yml
      - uses: ./../beside
      - run: echo end
"#;
    let (code, said) = stage.exec(workflow);
    assert_eq!(code, Some(0), "{said}");
    in_order(
        &said,
        &["[a] inner", "[a] outer /workspace/../beside", "[a] end"],
    );
    let alone = "on: push\njobs: {a: {runs-on: x, steps: [{uses: ./../beside}]}}\n";
    let (_, said) = stage.exec(alone);
    assert!(said.contains("no step before it puts a folder"), "{said}");
}
