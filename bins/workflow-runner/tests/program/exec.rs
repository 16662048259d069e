//! `workflow-runner exec`, as a program: with a scripted VM manager, and with one in its own
//! process and a real VM.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output};

use scripted_peers::{Misbehaviour, Play, ScriptedVmm, VmCache, git};

const WORKFLOW: &str = "name: CI\non: [push, pull_request]\njobs:\n  build:\n    runs-on: x\n    steps:\n      - uses: actions/checkout@v4\n      - run: cat hello.txt; echo ${{ github.event_name }} on ${{ github.ref_name }}; echo $KEY\n        env: {KEY: \"${{ secrets.KEY }}\"}\n  ship:\n    needs: build\n    runs-on: x\n    steps:\n      - run: echo shipped\n";

/// A working tree with something that is not committed, and something that is ignored.
fn tree(workflow: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| git(folder.path(), arguments);
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    git(&["init", "--quiet", "--initial-branch=work", "."]);
    write(".github/workflows/ci.yml", workflow);
    write(".gitignore", "secret.env\n");
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "-m", "a commit"]);
    write("hello.txt", "not committed yet\n");
    write("secret.env", "ignored-0123456789\n");
    folder
}

fn exec(tree: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    command.current_dir(tree).arg("exec").args(arguments);
    command
        .envs(variables.iter().copied())
        .env("KEY", "hunter2-hunter2");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A manager on a thread of its own; it ends with the process.
fn manager(
    plays: impl Fn(&scripted_peers::Command) -> Play + Send + Sync + 'static,
) -> ScriptedVmm {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            sender.send(ScriptedVmm::start(plays)).ok();
            std::future::pending::<()>().await;
        });
    });
    receiver.recv().unwrap()
}

fn contains(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

#[test]
fn a_manager_that_cannot_be_reached_is_named_while_it_is_waited_for() {
    let tree = tree(WORKFLOW);
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    command
        .current_dir(tree.path())
        .args([
            "exec",
            ".github/workflows/ci.yml",
            "--vmm",
            "http://127.0.0.1:1/",
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .find(|line| line.contains("waiting for a VM"));
    child.kill().unwrap();
    child.wait().unwrap();
    let said = said.expect("it says what it waits for");
    assert!(
        said.starts_with("[build] warning: ") && said.contains("127.0.0.1:1"),
        "{said}"
    );
}

#[test]
fn the_tree_as_it_is_is_run_its_output_shown_and_the_exit_code_tells() {
    let vmm = manager(|command| {
        if command.script.contains("shipped") {
            Play::exit(3).out("shipping\n")
        } else {
            Play::exit(0).out(format!("key {}\n", command.env["KEY"]))
        }
    });
    let tree = tree(WORKFLOW);
    let before = text(
        &Command::new("git")
            .current_dir(tree.path())
            .args(["status", "--porcelain"])
            .output()
            .unwrap()
            .stdout,
    );
    let file = ".github/workflows/ci.yml";
    let url = vmm.url();
    let output = exec(tree.path(), &[file, "--vmm", &url, "--secret", "KEY"], &[]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    for part in [
        "[build] key ***",
        "[build] allocated VM vm-1",
        "[ship] shipping",
        "error: exit code 3",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    assert!(
        err.contains("build success (emulated-vm)") && err.contains("ship failure"),
        "{err}"
    );
    let sent = vmm.everything();
    assert!(
        contains(&sent, "not committed yet"),
        "the tree, not the commit"
    );
    assert!(!contains(&sent, "ignored-0123456789"));
    assert!(vmm.commands()[0].script.contains("echo push on work"));
    assert!(vmm.vms().is_empty());
    let after = text(
        &Command::new("git")
            .current_dir(tree.path())
            .args(["status", "--porcelain"])
            .output()
            .unwrap()
            .stdout,
    );
    assert_eq!(before, after, "the tree's own repository is as it was");

    let output = exec(
        tree.path(),
        &[
            file,
            "--vmm",
            &url,
            "--job",
            "build",
            "--event",
            "pull_request",
        ],
        &[],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        vmm.commands()
            .last()
            .unwrap()
            .script
            .contains("pull_request")
    );
    assert!(!text(&output.stdout).contains("shipping"));
    let output = exec(tree.path(), &[file, "--vmm", &url, "--job", "absent"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("has no job"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn what_cannot_be_run_has_its_own_exit_code() {
    let vmm = manager(|_| Play::exit(0));
    let url = vmm.url();
    let refused = tree(
        "on: push\njobs:\n  a:\n    runs-on: x\n    container: debian\n    steps: [{run: make}]\n",
    );
    let output = exec(refused.path(), &[".", "--vmm", &url], &[]);
    assert_eq!(
        output.status.code(),
        Some(3),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let other = tree("on: release\njobs: {a: {runs-on: x, steps: [{run: make}]}}\n");
    let output = exec(other.path(), &[".", "--vmm", &url], &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr).contains("no workflow is started by this push"),
        "{}",
        text(&output.stderr)
    );
    let output = exec(other.path(), &["absent.yml", "--vmm", &url], &[]);
    assert_eq!(output.status.code(), Some(1));
    let output = exec(other.path(), &[".", "--vmm", "ftp://x"], &[]);
    assert_eq!(output.status.code(), Some(1));
    let lost = manager(|_| {
        Play::end(serde_json::json!({"state": "lost", "exit_code": null, "signal": null}))
    });
    let good = tree("on: push\njobs: {a: {runs-on: x, steps: [{run: make}]}}\n");
    let output = exec(good.path(), &[".", "--vmm", &lost.url()], &[]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert_eq!(vmm.ordered(), 0);
}

#[test]
fn x2_a_step_that_cannot_be_started_fails_with_the_manager_s_reason() {
    let vmm = manager(|command| {
        if command.script.contains("second") {
            return Play::exit(0).out("second\n");
        }
        Play::end(serde_json::json!({
            "state": "not_started", "exit_code": null, "signal": null,
            "reason": "the folder /workspace/nope does not exist",
        }))
    });
    let steps = |forgiven: bool| {
        tree(&format!(
            "on: push\njobs: {{a: {{runs-on: x, steps: [{{run: first, working-directory: nope, continue-on-error: {forgiven}}}, {{run: echo second}}]}}}}\n"
        ))
    };
    for (forgiven, code) in [(false, 1), (true, 0)] {
        let output = exec(steps(forgiven).path(), &[".", "--vmm", &vmm.url()], &[]);
        let out = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{out}");
        assert!(
            out.contains("the folder /workspace/nope does not exist"),
            "{out}"
        );
        assert_eq!(out.contains("[a] second"), forgiven, "{out}");
    }
}

#[test]
fn x9_a_workflow_is_dispatched_with_inputs_and_takes_an_event_from_a_file() {
    let vmm = manager(|_| Play::exit(0));
    let url = vmm.url();
    let tree = tree(
        "on:\n  workflow_dispatch:\n    inputs: {where: {required: true}, speed: {default: slow}}\n  pull_request:\njobs: {a: {runs-on: x, steps: [{run: 'go ${{ inputs.where }} ${{ inputs.speed }} ${{ github.event.inputs.where }} ${{ github.event.number }} ${{ github.base_ref }}'}]}}\n",
    );
    let said = || vmm.commands().last().unwrap().script.clone();
    let by_hand = |more: &[&str]| {
        let words = [&[".", "--vmm", &url, "--event", "workflow_dispatch"], more].concat();
        exec(tree.path(), &words, &[])
    };
    let output = by_hand(&["--input", "where=moon"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said().contains("go moon slow moon"), "{}", said());
    // Without what is required there is no run, and it says which.
    let output = by_hand(&[]);
    assert_ne!(output.status.code(), Some(0));
    assert!(
        (text(&output.stdout) + &text(&output.stderr)).contains("where"),
        "{}",
        text(&output.stderr)
    );
    let file = tree.path().join("event.json");
    std::fs::write(&file, r#"{"inputs":{"where":"mars","speed":"fast"}}"#).unwrap();
    let output = by_hand(&["-e", file.to_str().unwrap(), "--input", "speed=faster"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said().contains("go mars faster mars"), "{}", said());
    let pull = r#"{"action":"opened","number":7,"pull_request":{"base":{"ref":"stable"}}}"#;
    std::fs::write(&file, pull).unwrap();
    let words = [
        ".",
        "--vmm",
        &url,
        "--event",
        "pull_request",
        "--event-path",
    ];
    let output = exec(
        tree.path(),
        &[&words[..], &[file.to_str().unwrap()]].concat(),
        &[],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said().contains("7 stable"), "{}", said());
    for (content, word) in [("[1]", "no event"), ("{", "no JSON")] {
        std::fs::write(&file, content).unwrap();
        let output = by_hand(&["-e", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output.stderr).contains(word),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_laptop_needs_no_manager_the_program_has_one() {
    let cache = VmCache::open();
    let data = cache.folder_of("exec-");
    cache.lend(data.path(), &["images", "kernels"]);
    let _lock = cache.lock();
    let tree = tree(WORKFLOW);
    let output = exec(
        tree.path(),
        &[
            ".",
            "--vm-data",
            data.path().to_str().unwrap(),
            "--secret",
            "KEY",
            "--verbose",
        ],
        &[("VMM_API_URL", "")],
    );
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    for part in [
        "[build] not committed yet",
        "[build] push on work",
        "[build] ***",
        "[ship] shipped",
        "workflow completed successfully",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let left = std::fs::read_dir(data.path().join("vms")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "no VM is left");
}

#[test]
fn i17_a_hosted_label_asks_for_the_full_image_and_does_without() {
    let vmm = manager(|_| Play::exit(0));
    let tree = tree(&WORKFLOW.replace("runs-on: x", "runs-on: ubuntu-24.04"));
    // With the disk that GitHub promises, and with what managers have allowed so far.
    vmm.plan("POST /vms", Misbehaviour::Status(422));
    vmm.plan("POST /vms", Misbehaviour::Status(422));
    let file = ".github/workflows/ci.yml";
    let output = exec(tree.path(), &[file, "--vmm", &vmm.url()], &[]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    // The first job did not get it, the second one did; a restart would ask by the same key.
    assert!(
        out.contains(
            "[build] its label stands for the image `full` (`vm-manager image build full`)"
        ),
        "{out}"
    );
    assert!(!out.contains("[ship] its label"), "{out}");
    let requests = vmm.requests();
    let asked = requests
        .iter()
        .filter(|it| it.method == "POST" && it.path == "/vms");
    let full: Vec<bool> = asked.map(|it| contains(&it.body, "\"full\"")).collect();
    assert_eq!(full, [true, true, false, true]);
}
