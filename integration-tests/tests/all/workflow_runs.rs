//! A signed push, a real git repository over HTTP, the real runner and the real VM manager, jobs in
//! emulated VMs, statuses at a scripted forge.

use std::time::{Duration, Instant};

use scripted_peers::Program;
use serde_json::json;

use crate::workflow_stage::{RUN_TIMEOUT, Stage, deliver, ended, log};

const WORKFLOW: &str = r#"
name: CI
on: [push]
env: {LEVEL: top}
jobs:
  build:
    runs-on: ubuntu-latest
    outputs:
      what: ${{ steps.say.outputs.what }}
    steps:
      - uses: actions/checkout@v4
      - id: say
        run: |
          cat hello.txt
          echo "what=rocket" >> "$GITHUB_OUTPUT"
          echo "MORE=yes" >> "$GITHUB_ENV"
      - run: test "$MORE" = yes && test "$LEVEL" = top && git rev-parse HEAD
      - run: exit 3
        continue-on-error: true
      - uses: actions/upload-artifact@v4
        with: {name: out, path: hello.txt}
  check:
    needs: build
    runs-on: ubuntu-latest
    strategy:
      fail-fast: false
      matrix: {n: [1, 2]}
    steps:
      - run: echo "got ${{ needs.build.outputs.what }} ${{ matrix.n }}"
      - run: "[ ${{ matrix.n }} = 1 ]"
      - if: always()
        run: echo cleanup
"#;

#[actix_rt::test]
async fn a_signed_push_runs_in_vms_and_is_reported_truthfully() {
    let stage = Stage::new().await;
    let runner = stage.runner();
    let sha = stage.commit(WORKFLOW);
    let body = stage.push(&sha);
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Hub-Signature-256", "sha256=00"),
        ("X-GitHub-Event", "push"),
    ];
    let refused = runner.ask("POST /webhook", &headers, &body.to_string());
    assert_eq!(refused.status, 403, "a signature that does not hold");
    let (code, answer) = deliver(&runner, &body, "d-1");
    assert_eq!(
        (code, answer["status"].as_str()),
        (202, Some("accepted")),
        "{answer}"
    );
    let run = answer["run"].as_str().expect("it names the run").to_owned();
    assert_eq!(
        deliver(&runner, &body, "d-1").1["status"],
        "duplicate",
        "W13"
    );
    assert_eq!(
        deliver(&runner, &body, "d-2").1["status"],
        "duplicate",
        "W14"
    );
    let record = ended(&runner, &run);
    assert_eq!(record["state"], "failed", "{record:#}");
    let jobs: Vec<(&str, &str)> = record["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .map(|job| {
            (
                job["name"].as_str().unwrap_or(""),
                job["conclusion"].as_str().unwrap_or(""),
            )
        })
        .collect();
    assert_eq!(
        jobs,
        [
            ("build", "success"),
            ("check (1)", "success"),
            ("check (2)", "failure")
        ],
        "{record:#}"
    );
    let steps = record["jobs"][0]["steps"].as_array().expect("steps");
    assert_eq!(steps[3]["end"], json!({"ended": "exited", "code": 3}));
    assert_eq!(steps[3]["forgiven"], true);
    assert_eq!(record["jobs"][2]["steps"][1]["end"]["code"], 1);
    assert_eq!(
        record["jobs"][2]["steps"][2]["end"]["code"], 0,
        "always() ran"
    );
    let vms: std::collections::HashSet<&str> = record["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .filter_map(|job| job["vm"].as_str())
        .collect();
    assert_eq!(vms.len(), 3, "a VM of its own for each: {record:#}");
    assert_eq!(record["jobs"][0]["isolation"], "emulated-vm");
    let log = log(&runner, &run);
    for part in [
        "initialising VM provider",
        "creating VM command executor",
        "creating session manager",
        "allocated VM ",
        "hello",
        &sha,
        "got rocket 2",
        "cleanup",
    ] {
        assert!(log.contains(part), "{part} in {log}");
    }
    assert!(!log.contains("forge-token"));
    let artifact = runner.ask(&format!("GET /runs/{run}/artifacts/out"), &[], "");
    assert!(artifact.status == 200 && artifact.body.contains("hello.txt"));
    assert!(stage.manager.vms().is_empty(), "no VM is left");
    let stands = |context: &str, state: &str| {
        stage
            .forge
            .status("acme/rocket", &sha, context)
            .is_some_and(|status| status.state == state)
    };
    let begun = Instant::now();
    while !(stands("CI / build (push)", "success")
        && stands("CI / check (1) (push)", "success")
        && stands("CI / check (2) (push)", "failure"))
    {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{:?}",
            stage.forge.statuses("acme/rocket", &sha)
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[actix_rt::test]
async fn f01_a_runner_that_is_killed_tells_the_truth_afterwards() {
    let stage = Stage::new().await;
    let mut runner = stage.runner();
    let (run, sha) = ticking(&stage, &runner).await;
    runner.kill();
    let runner = stage.runner();
    let record = ended(&runner, &run);
    assert_eq!(record["state"], "lost", "{record:#}");
    assert_eq!(
        record["reason"],
        "slow: the runner was restarted while it ran"
    );
    until("its VM is left", || stage.manager.vms().is_empty()).await;
    failed_at_the_forge(&stage, &sha).await;
}

const SLOW: &str = "name: Slow\non: [push]\njobs:\n  slow:\n    runs-on: ubuntu-latest\n    steps:\n      - run: for i in $(seq 300); do echo tick $i; sleep 1; done\n";

/// Waits until it becomes true.
async fn until(what: &str, mut check: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !check() {
        assert!(begun.elapsed() < RUN_TIMEOUT, "{what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A run of the slow workflow, once its step prints.
async fn ticking(stage: &Stage, runner: &Program) -> (String, String) {
    let sha = stage.commit(SLOW);
    let (_, answer) = deliver(runner, &stage.push(&sha), "d-1");
    let run = answer["run"].as_str().expect("it names the run").to_owned();
    let ticks = || log(runner, &run).contains("tick 1");
    until("it does not begin", ticks).await;
    (run, sha)
}

async fn failed_at_the_forge(stage: &Stage, sha: &str) {
    until("no terminal status", || {
        let status = stage.forge.status("acme/rocket", sha, "Slow / slow (push)");
        status.is_some_and(|status| status.state == "failure")
    })
    .await;
}

#[actix_rt::test]
async fn r12_f14_a_vm_that_is_killed_ends_its_job_as_lost_and_leaves_nothing() {
    let stage = Stage::new().await;
    let runner = stage.runner();
    let (run, sha) = ticking(&stage, &runner).await;
    // Which machine is the job's is not asked: all of them are killed, those of the pool too.
    let machines = stage.machines();
    assert!(!machines.is_empty(), "VMs are processes");
    for pid in &machines {
        let _ = std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status();
    }
    let record = ended(&runner, &run);
    assert_eq!(record["state"], "lost", "{record:#}");
    assert_eq!(
        record["jobs"][0]["steps"][0]["end"],
        json!({"ended": "lost"})
    );
    failed_at_the_forge(&stage, &sha).await;
    until("something is left", || stage.nothing_is_left()).await;
    let alive = stage.machines();
    assert!(machines.iter().all(|pid| !alive.contains(pid)));
}

#[actix_rt::test]
async fn a_vm_manager_that_is_killed_costs_its_jobs_and_nothing_is_left_once_it_is_back() {
    let mut stage = Stage::new().await;
    let runner = stage.runner();
    let (run, sha) = ticking(&stage, &runner).await;
    let before = stage.machines();
    stage.manager.program.kill();
    // Not started again: the truth is told all the same.
    let record = ended(&runner, &run);
    assert_eq!(record["state"], "lost", "{record:#}");
    failed_at_the_forge(&stage, &sha).await;
    stage.manager.start_again();
    stage.manager.program.wait_for("vm.prepared");
    let after = stage.machines();
    assert!(
        before.iter().all(|pid| !after.contains(pid)),
        "a machine of the previous incarnation runs"
    );
    until("something is left", || stage.nothing_is_left()).await;
    // Machines of the pool have folders; none is of the killed manager.
    until("folders are left", || {
        stage.machine_folders() <= stage.machines().len()
    })
    .await;
    let sha = stage.commit("name: Slow\non: [push]\njobs:\n  slow:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo well\n");
    let (_, answer) = deliver(&runner, &stage.push(&sha), "d-2");
    let record = ended(&runner, answer["run"].as_str().expect("it names the run"));
    assert_eq!(record["state"], "succeeded", "{record:#}");
}

const HOSTILE: &str = r#"
name: Hostile
on: [push]
jobs:
  bomb:
    runs-on: ubuntu-latest
    steps:
      - run: "b() { b | b & }; b; sleep 600"
        timeout-minutes: 0.2
  fill:
    needs: bomb
    if: always()
    runs-on: small
    steps:
      - run: echo mark > /workspace/mark; dd if=/dev/zero of=/workspace/big bs=1M
  clean:
    needs: fill
    if: always()
    runs-on: ubuntu-latest
    steps:
      - run: test ! -e /workspace/mark && test ! -e /workspace/big && echo clean
      - name: r13, no network
        run: |
          ls /sys/class/net
          if [ -n "$(ls /sys/class/net | grep -v lo)" ]; then exit 1; fi
          if (echo > /dev/tcp/169.254.169.254/80) 2>/dev/null; then exit 2; fi
          echo unreachable
"#;

#[actix_rt::test]
async fn r11_r13_r14_a_fork_bomb_and_a_full_disk_stay_in_their_machines_which_have_no_network() {
    let stage = Stage::new().await;
    let runner = stage.runner();
    let sha = stage.commit(HOSTILE);
    let (_, answer) = deliver(&runner, &stage.push(&sha), "d-1");
    let run = answer["run"].as_str().expect("it names the run").to_owned();
    let record = ended(&runner, &run);
    let job = |name: &str| {
        let jobs = record["jobs"].as_array().expect("jobs");
        jobs.iter()
            .find(|job| job["name"] == name)
            .expect("it was run")
            .clone()
    };
    assert_eq!(job("bomb")["conclusion"], "failure", "{record:#}");
    assert_eq!(job("fill")["steps"][0]["end"]["code"], 1, "{record:#}");
    assert_eq!(job("clean")["conclusion"], "success", "{record:#}");
    let log = log(&runner, &run);
    for part in ["No space left on device", "clean", "unreachable"] {
        assert!(log.contains(part), "{part} in {log}");
    }
    until("something is left", || stage.nothing_is_left()).await;
}
