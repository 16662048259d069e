//! i17: a job whose runner or VM manager is killed runs again: the real programs, a namespace
//! sandbox.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::site::Site;
use serde_json::Value;

/// The first attempt sleeps; the next one finds what it stored, stores it again, and goes on.
const WORKFLOW: &str = r#"
on: push
env: {ORRERY_RERUN_LOST: 1}
jobs:
  build:
    runs-on: x
    steps:
      - uses: actions/download-artifact@v4
        continue-on-error: true
        with: {name: made}
      - run: |
          test -e made || touch is-first
          date +%N > made
      - uses: actions/upload-artifact@v4
        with: {name: made, path: made}
      - run: test ! -e is-first || sleep 600
  next:
    needs: build
    runs-on: x
    steps: [{run: "true"}]
"#;

/// What is killed while the job's last step runs.
enum Killed {
    Runner,
    Manager,
    Both,
}

/// Kills something while `build` is at its last step, and looks at the run's end.
fn kill(what: &Killed, reason: &str) {
    let mut site = Site::new("namespace-sandbox", "");
    let run = site.push(WORKFLOW);
    let at_last_step = |record: &Value| {
        record["jobs"][0]["steps"]
            .as_array()
            .is_some_and(|it| it.len() == 4)
    };
    let before = site.reached(&run, at_last_step);
    match what {
        Killed::Runner => site.kill_runner(),
        Killed::Manager => site.kill_manager(),
        Killed::Both => {
            site.manager.program.kill();
            site.kill_runner();
            site.kill_manager();
        }
    }
    let record = site.ended(&run);
    assert_eq!(
        record["state"],
        "succeeded",
        "{record:#}\n{}",
        site.log(&run)
    );
    let (job, lost) = (&record["jobs"][0], &record["jobs"][0]["lost"][0]);
    assert_eq!(lost["vm"], before["jobs"][0]["vm"]);
    assert_ne!(job["vm"], before["jobs"][0]["vm"]);
    assert_eq!(lost["step"], "Run test ! -e is-first || sleep 600");
    assert!(
        lost["reason"].as_str().unwrap().contains(reason),
        "{lost:#}"
    );
    let log = site.log(&run);
    assert!(
        log.contains("attempt 2 of 2, the one before was lost"),
        "{log}"
    );
    assert_eq!(site.manager.vms(), Vec::<Value>::new());
}

#[test]
fn i17_a_job_whose_runner_is_killed_runs_again_and_succeeds() {
    kill(&Killed::Runner, "the runner was restarted");
}

#[test]
fn i17_a_job_whose_vm_manager_is_killed_runs_again_and_succeeds() {
    kill(&Killed::Manager, "");
}

#[test]
fn i17_a_job_whose_runner_and_vm_manager_are_killed_runs_again_and_succeeds() {
    kill(&Killed::Both, "the runner was restarted");
}
