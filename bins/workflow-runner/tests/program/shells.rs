//! i17: a shell into a failed job, on a pseudo-terminal as a person has one: the real runner, the
//! real VM manager, a VM of QEMU and a namespace sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that fails here should say where, and one VM answers many questions"
)]

#[allow(dead_code, reason = "shared with the tests of other programs")]
#[path = "../../../command-line/tests/pty/mod.rs"]
mod pty;

use std::io::Write;
use std::process::Stdio;

use crate::site::Site;
use pty::Pty;
use serde_json::Value;

const WORKFLOW: &str = r#"
on: push
jobs:
  build:
    runs-on: x
    steps:
      - run: |
          echo made-by-step-one > "$HOME/file"
          echo "FROM_STEP=one" >> "$GITHUB_ENV"
      - run: |
          cd sub
          exit 3
        working-directory: sub
        env: {KEY: "${{ secrets.KEY }}", OPEN: "${{ github.repository }}"}
  fine:
    runs-on: x
    steps: [{run: "true"}]
"#;

/// A shell in the failed job, from its opening to the end of its VM; whether its VM stands still
/// while nobody looks.
fn look_around(driver: &str, pauses: bool) {
    let mut site = Site::new(driver, "failed = true\nvms = 1");
    let (run, record) = site.run(WORKFLOW);
    assert_eq!(record["state"], "failed", "{record:#}\n{}", site.log(&run));
    let vms = site.manager.vms();
    assert_eq!(vms.len(), 1, "the job that succeeded has none: {vms:#?}");
    site.until_paused(pauses);
    let log = site.log(&run);
    assert!(log.contains("is kept for 30m"), "{log}");
    let (code, text) = site.output(&["kept"]);
    assert!(
        code == Some(0) && text.contains(&run) && text.contains("30 min left  0 open"),
        "{text}"
    );

    // Wrong in several ways: said, with another code than a shell's.
    let (code, text) = site.output(&["shell", &run, "no-such-job"]);
    assert!(code == Some(255) && text.contains("404"), "{code:?} {text}");
    let mut wrong = site.command(&["shell", &run]);
    let wrong = wrong.env("WORKFLOW_RUNNER_API_TOKEN", "another-0123456789");
    let wrong = wrong.output().unwrap();
    assert_eq!(wrong.status.code(), Some(255));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("401"));

    // As a person has it.
    let mut shell = Pty::spawn(
        &site.command(&["shell", &run, "build", "--by", "grace"]),
        100,
        30,
    );
    shell.wait_for("a shell in the kept VM");
    shell
        .send("PS1='> '; clear; stty size; pwd; cat ~/file; echo $FROM_STEP-$OPEN-${KEY-hidden}\r");
    let shown = shell.wait_for("one-acme/rocket-hidden");
    for part in ["30 100", "/workspace/sub", "made-by-step-one"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("hunter2"), "{shown}");
    site.until_paused(false);
    assert_eq!(site.get("/runs/kept")[0]["shells"], 1);
    // Asked for before it changes: a line that is being typed is drawn anew at that moment.
    shell.send("until test \"$(stty size)\" = '40 120'; do sleep 0.1; done; echo re-\"sized\"\r");
    shell.wait_for("until test");
    shell.resize(120, 40);
    shell.wait_for("re-sized");
    // Once it runs: before that Ctrl-C may be the shell's, between reading the line and the start.
    shell.send("sh -c 'echo sl\"eeps\"; exec sleep 1000'; echo never-\"said\"\r");
    shell.wait_for("sleeps");
    shell.send("\x03");
    shell.wait_for("^C");
    shell.send("echo it-was-$?\r");
    shell.wait_for("it-was-130");
    shell.send("echo left > ~/left; exit 9\r");
    assert_eq!(shell.wait(), 9);
    shell.assert_given_back();
    site.until_paused(pauses);
    let log = site.log(&run);
    for part in [
        "a shell was opened by grace from 127.0.0.1",
        "the shell of grace from 127.0.0.1 has ended",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }

    // Left by its escape, what runs in it ends with it; the VM is as it was left.
    let mut shell = Pty::spawn(&site.command(&["shell", &run]), 80, 24);
    shell.wait_for("a shell in the kept VM");
    shell.send("cat ~/left && sleep 1000\r");
    shell.wait_for("left");
    shell.send("\r~.");
    assert_eq!(shell.wait(), 0);
    shell.assert_given_back();
    site.until_paused(pauses);

    // Without a terminal: commands from a pipe.
    let mut piped = site.command(&["shell", &run]);
    let mut piped = piped
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = piped.stdin.take().unwrap();
    stdin.write_all(b"echo pi''ped; exit 5\n").unwrap();
    drop(stdin);
    let output = piped.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("piped"), "{text}");

    // The budget of one VM refuses another; released, it is gone at once.
    let (second, _) = site.run(WORKFLOW);
    let log = site.log(&second);
    assert!(
        log.contains("its VM is not kept: 1 VMs are kept already"),
        "{log}"
    );
    let (code, text) = site.output(&["release", &run, "build"]);
    assert!(code == Some(0) && text.contains("given back"), "{text}");
    assert_eq!(site.manager.vms(), Vec::<Value>::new());
    let (code, text) = site.output(&["shell", &run]);
    assert!(code == Some(255) && text.contains("404"), "{text}");
}

#[test]
fn i17_a_shell_in_a_failed_job_of_a_vm() {
    look_around("qemu", true);
}

#[test]
fn i17_a_shell_in_a_failed_job_of_a_namespace_sandbox() {
    look_around("namespace-sandbox", false);
}
