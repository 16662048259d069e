//! R10 to R13: machines and managers that misbehave.

use std::time::{Duration, Instant};

use bytes::Bytes;
use runner_core::hosted_label::OtherSystems;
use scripted_peers::{Misbehaviour, Play};
use serde_json::json;

use crate::harness::{Runner, Setup, Site, TEST_TIMEOUT, status, within};

fn workflow(rest: &str) -> String {
    format!(
        "name: CI\non: push\njobs:\n  build:\n    runs-on: x\n{rest}    steps:\n      - run: make\n"
    )
}

fn given_back(site: &Site, runner: &Runner) -> bool {
    within(|| site.vmm.vms().is_empty()) && runner.get("/health").code == 200
}

/// Bytes of output: 96 MiB, since this is not an optimised build; `ORRERY_FLOOD_MIB=1024` for the
/// whole gigabyte.
fn flood() -> u64 {
    let asked = std::env::var("ORRERY_FLOOD_MIB").ok();
    asked.map_or(96, |mib| mib.parse().unwrap()) << 20
}

/// Bytes this process has in memory.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        << 10
}

#[test]
fn r10_f11_a_flood_of_output_is_kept_head_and_tail_in_bounded_memory() {
    const PIECE: usize = 64 << 10;
    let piece = Bytes::from(format!("{}\n", "x".repeat(PIECE - 1)));
    let site = Site::playing(move |_| {
        Play::exit(0)
            .out("the first line\n")
            .often(piece.clone(), flood() / PIECE as u64)
            .out("the last line\n")
    });
    let setup = Setup {
        change: |settings| settings.log_step_max = 8 << 20,
        ..Setup::default()
    };
    let runner = site.start_with(setup);
    let sha = site.commit(&workflow(""));
    let run = runner.run("push", "d-1", &site.push(&sha));
    let before = memory();
    let mut most = before;
    let begun = Instant::now();
    while runner.record(&run).get("ended_at").is_none() {
        most = most.max(memory());
        assert!(begun.elapsed() < 3 * TEST_TIMEOUT, "it does not end");
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let record = runner.record(&run);
    assert_eq!(record["state"], "succeeded", "{record:#}");
    // The scripted manager is in this process too, and has its own copies under way.
    let grown = most.saturating_sub(before);
    assert!(grown <= 32 << 20, "{} MiB more", grown >> 20);
    let file = site.folder.path().join(format!("runs/logs/{run}.jsonl"));
    let length = std::fs::metadata(&file).unwrap().len();
    assert!(length < 16 << 20, "the log has {length} bytes");
    let log = runner.log(&run);
    for part in [
        "the first line",
        "the last line",
        "bytes of output are left out",
        "workflow completed successfully",
        "allocated VM",
    ] {
        assert!(log.contains(part), "{part}");
    }
    assert!(given_back(&site, &runner));
}

#[test]
fn r10_nul_ansi_and_endless_lines_are_cut_and_cleaned() {
    let site = Site::playing(|_| {
        Play::exit(0)
            .out(Bytes::from_static(b"a\0b\x1b[2J\xff\xfe\n"))
            .often("y".repeat(10_000), 10)
    });
    let runner = site.start();
    let sha = site.commit(&workflow(""));
    let run = runner.run("push", "d-1", &site.push(&sha));
    assert_eq!(runner.ended(&run)["state"], "succeeded");
    let log = runner.log(&run);
    let texts: Vec<String> = log
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("each line is JSON")["text"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert!(
        texts
            .iter()
            .all(|text| !text.contains('\0') && text.len() <= 20_000)
    );
    assert!(texts.iter().any(|text| text.starts_with("ab")));
}

#[test]
fn r11_a_job_that_never_ends_is_ended_at_its_limit_and_the_next_gets_a_fresh_machine() {
    let site = Site::playing(|command| {
        if command.vm == "vm-1" {
            Play::hang()
        } else {
            Play::exit(0)
        }
    });
    let runner = site.start();
    let sha = site.commit(&workflow("    timeout-minutes: 0.05\n"));
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    assert_eq!(record["state"], "timed_out", "{record:#}");
    assert_eq!(record["jobs"][0]["end"], "timed_out");
    assert!(
        status(&site, &sha, "CI / build (push)", "failure")
            .contains("longer than its 0.05 minutes")
    );
    assert!(given_back(&site, &runner));
    let sha = site.commit_all();
    let run = runner.run("push", "d-2", &site.push(&sha));
    assert_eq!(runner.ended(&run)["state"], "succeeded");
}

#[test]
fn r11_a_step_s_limit_is_the_manager_s_to_keep_and_ours_when_it_does_not() {
    let timed_out = json!({"state": "timed_out", "exit_code": null, "signal": null});
    let site = Site::playing(move |_| Play::end(timed_out.clone()));
    let runner = site.start();
    let sha = site.commit("name: CI\non: push\njobs:\n  build:\n    runs-on: x\n    steps:\n      - run: make\n        timeout-minutes: 2\n      - if: always()\n        run: tidy\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    assert_eq!(
        record["jobs"][0]["steps"][0]["end"]["ended"], "timed_out",
        "{record:#}"
    );
    assert_eq!(site.vmm.commands()[0].timeout_ms, Some(120_000));
    assert_eq!(site.vmm.commands().len(), 2, "always() ran");
    assert_eq!(record["state"], "failed");
}

#[test]
fn r12_a_manager_that_fails_at_first_is_asked_again_and_orders_once() {
    let site = Site::new();
    for code in [500, 503, 502] {
        site.vmm.plan("POST /vms", Misbehaviour::Status(code));
    }
    let runner = site.start();
    let sha = site.commit(&workflow(""));
    let run = runner.run("push", "d-1", &site.push(&sha));
    assert_eq!(runner.ended(&run)["state"], "succeeded");
    assert_eq!(site.vmm.ordered(), 1);
    assert!(given_back(&site, &runner));
}

#[test]
fn r12_answers_that_are_none_end_the_run_with_the_reason() {
    let half = || Misbehaviour::Body(Bytes::from_static(b"{\"id\": \"vm-"));
    for (request, misbehaviour, expected) in [
        (
            "POST /vms",
            half(),
            "no VM: the VM manager's answer is unusable",
        ),
        (
            "POST /vms",
            Misbehaviour::Status(409),
            "no VM: the VM manager cannot give that",
        ),
        (
            "POST /vms",
            Misbehaviour::Status(401),
            "no VM: the VM manager refuses the token",
        ),
        (
            "POST /vms/vm-1/exec",
            half(),
            "the VM manager's answer is unusable",
        ),
        (
            "PUT /vms/vm-",
            Misbehaviour::Status(500),
            "the commit's files could not be put into the VM",
        ),
    ] {
        let site = Site::new();
        // A job of which no step has begun runs again twice.
        for _ in 0..3 {
            site.vmm.plan(request, misbehaviour.clone());
        }
        let runner = site.start();
        let sha = site.commit(&workflow(""));
        let run = runner.run("push", "d-1", &site.push(&sha));
        let record = runner.ended(&run);
        let reason = record["jobs"][0]["reason"].as_str().unwrap_or_default();
        assert!(
            ["failed", "lost"].contains(&record["state"].as_str().unwrap()),
            "{request}: {record:#}"
        );
        assert!(reason.contains(expected), "{request}: {reason}");
        status(&site, &sha, "CI / build (push)", "failure");
        assert!(given_back(&site, &runner), "{request}");
    }
}

#[test]
fn r12_f14_a_machine_that_goes_away_ends_its_job_as_lost_without_an_exit_code() {
    let site = Site::playing(|command| {
        if command.script.contains("make") {
            Play::hang().out("begun\n")
        } else {
            Play::exit(0)
        }
    });
    let runner = site.start();
    let sha = site.commit("name: CI\non: push\njobs:\n  build:\n    runs-on: x\n    steps:\n      - run: make\n        continue-on-error: true\n      - if: always()\n        run: tidy\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    assert!(within(|| runner.log(&run).contains("begun")));
    site.vmm.remove_vm("vm-1");
    let record = runner.ended(&run);
    assert_eq!(record["state"], "lost", "{record:#}");
    assert_eq!(
        record["jobs"][0]["steps"][0]["end"],
        json!({"ended": "lost"}),
        "no code is made up"
    );
    assert_eq!(
        site.vmm.commands().len(),
        1,
        "nothing runs on a machine that is gone"
    );
    status(&site, &sha, "CI / build (push)", "failure");
}

#[test]
fn r12_a_manager_that_dies_in_the_middle_is_waited_for_a_little_then_the_job_is_lost() {
    let site = Site::playing(|_| Play::cut().out("begun\n"));
    let runner = site.start();
    let sha = site.commit(&workflow(""));
    for _ in 0..3 {
        site.vmm.plan("DELETE /vms/vm-1", Misbehaviour::Status(500));
    }
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    assert_eq!(record["state"], "lost", "{record:#}");
    let log = runner.log(&run);
    assert_eq!(
        log.matches("begun").count(),
        1,
        "what came before is not logged twice: {log}"
    );
    // It could not be given back: the garbage collector does, and asks for what is stuck.
    assert!(given_back(&site, &runner));
    let stuck = within(|| {
        site.vmm
            .requests()
            .iter()
            .any(|request| request.method == "DELETE" && request.path == "/vms/stuck")
    });
    assert!(stuck);
    assert!(within(|| runner
        .get("/metrics")
        .body
        .contains("runner_vms_recovered_total 1")));
}

#[test]
fn r12_f14_left_over_machines_are_given_back_and_an_endless_list_does_no_harm() {
    let site = Site::new();
    site.vmm.plan("GET /vms", Misbehaviour::EndlessList);
    site.vmm.plan(
        "GET /vms",
        Misbehaviour::Body(Bytes::from_static(b"[{\"id\": 7}]")),
    );
    let runner = site.start();
    let sha = site.commit(&workflow(""));
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.ended(&run);
    // As if the answer to an order had never arrived.
    site.vmm.add_vm("left", &format!("run-{run}-1-0"));
    site.vmm.add_vm("foreign", "run-0190-1-0");
    site.vmm.add_vm("other", "build of somebody else");
    assert!(within(|| !site.vmm.vms().contains(&"left".to_owned())));
    assert_eq!(
        site.vmm.vms(),
        ["foreign", "other"],
        "others' machines are theirs"
    );
}

#[test]
fn r13_machines_are_ordered_without_a_network_unless_the_label_says_so() {
    let site = Site::new();
    let setup = Setup {
        change: |settings| {
            let network = |network: Option<&str>| http_clients::vmm::NewVm {
                network: network.map(|_| http_clients::vmm::Network::User),
                allow: network.map(|_| serde_json::from_str(r#"["pkg.test"]"#).unwrap()),
                ..http_clients::vmm::NewVm::default()
            };
            settings.machines = vec![
                ("x".to_owned(), network(None).into()),
                ("online".to_owned(), network(Some("user")).into()),
            ];
        },
        ..Setup::default()
    };
    let runner = site.start_with(setup);
    let sha = site.commit("name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n  b:\n    needs: a\n    runs-on: online\n    steps: [{run: make}]\n  c:\n    needs: b\n    runs-on: gpu\n    steps: [{run: make}]\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    let orders: Vec<serde_json::Value> = site
        .vmm
        .requests()
        .iter()
        .filter(|request| request.method == "POST" && request.path == "/vms")
        .map(scripted_peers::Recorded::json)
        .collect();
    assert_eq!(orders.len(), 2, "{record:#}");
    assert!(
        orders[0].get("network").is_none()
            && orders[0].get("allow").is_none()
            && orders[1]["network"] == "user"
            && orders[1]["allow"] == serde_json::json!(["pkg.test"]),
        "{orders:?}"
    );
    assert_eq!(record["state"], "failed", "{record:#}");
    let reason = record["jobs"][2]["reason"].as_str().unwrap();
    assert!(
        reason.contains("no machine is configured for the labels gpu"),
        "{reason}"
    );
    status(&site, &sha, "CI / c (push)", "failure");
}

const SYSTEMS: &str = "name: CI
on: push
jobs:
  test:
    strategy: {matrix: {os: [windows-latest, ubuntu-latest]}}
    runs-on: ${{ matrix.os }}
    steps: [{run: make}]
  after:
    needs: test
    runs-on: ubuntu-latest
    steps: [{run: ship}]
";

/// What became of the jobs of a run, in the order of their names.
fn ends(record: &serde_json::Value) -> Vec<(String, String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let jobs = record["jobs"].as_array().unwrap().iter();
    let mut ends: Vec<_> = jobs
        .map(|job| {
            (
                text(&job["name"]),
                text(&job["conclusion"]),
                text(&job["reason"]),
            )
        })
        .collect();
    ends.sort();
    ends
}

#[test]
fn i17_copies_for_linux_run_beside_those_that_cannot() {
    let site = Site::playing(|_| Play::exit(0));
    let runner = site.start();
    let sha = site.commit(SYSTEMS);
    let record = runner.ended(&runner.run("push", "d-1", &site.push(&sha)));
    assert_eq!(record["state"], "failed", "{record:#}");
    let ends = ends(&record);
    assert_eq!(
        (ends[1].0.as_str(), ends[1].1.as_str()),
        ("test (ubuntu-latest)", "success")
    );
    assert_eq!(
        (ends[2].0.as_str(), ends[2].1.as_str()),
        ("test (windows-latest)", "failure")
    );
    assert!(ends[2].2.contains("other_systems"), "{}", ends[2].2);
    assert_eq!(ends[0].1, "skipped", "what needs them: {ends:?}");
}

#[test]
fn i17_copies_that_cannot_run_are_left_out_where_the_operator_says_so() {
    let site = Site::playing(|_| Play::exit(0));
    let runner = site.start_with(Setup {
        change: |settings| settings.other_systems = OtherSystems::Skip,
        ..Setup::default()
    });
    let sha = site.commit(SYSTEMS);
    let record = runner.ended(&runner.run("push", "d-1", &site.push(&sha)));
    assert_eq!(record["state"], "succeeded", "{record:#}");
    let ends = ends(&record);
    let conclusions: Vec<&str> = ends.iter().map(|end| end.1.as_str()).collect();
    assert_eq!(conclusions, ["success", "success", "skipped"], "{ends:?}");
    assert!(ends[2].2.contains("Linux machines only"), "{}", ends[2].2);
}
