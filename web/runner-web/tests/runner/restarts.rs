//! The runner ends and starts again in the middle of runs.

use scripted_peers::{Misbehaviour, Play};
use serde_json::Value;
use store::{Options, ReadRows as _, Row, Store, StoreError, Table};

use crate::harness::{Site, files, status, within};

const GRAPH: &str = "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    outputs: {v: \"${{ steps.s.outputs.v }}\"}\n    steps: [{id: s, run: first}]\n  b:\n    needs: a\n    runs-on: x\n    steps: [{run: second}]\n  c:\n    needs: [a, b]\n    if: always()\n    runs-on: x\n    steps: [{run: \"third ${{ needs.a.outputs.v }} ${{ needs.b.result }}\"}]\n  d:\n    needs: b\n    runs-on: x\n    steps: [{run: fourth}]\n";

fn plays(command: &scripted_peers::Command) -> Play {
    if command.script.contains("second") {
        Play::hang().out("second began\n")
    } else {
        Play::exit(0).file("output", "v=rocket\n")
    }
}

#[test]
fn a_run_is_taken_up_at_its_jobs_what_had_begun_is_lost_and_the_rest_is_run() {
    let site = Site::playing(plays);
    let runner = site.start();
    let sha = site.commit(GRAPH);
    let run = runner.run("push", "d-1", &site.push(&sha));
    assert!(within(|| runner.log(&run).contains("second began")));
    runner.stop();
    let runner = site.start();
    let record = runner.ended(&run);
    let job = |name: &str| {
        record["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .find(|job| job["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(record["state"], "lost", "{record:#}");
    assert_eq!(record["attempt"], 1, "v9: only re-runs are attempts");
    assert_eq!(job("a")["conclusion"], "success");
    assert_eq!(
        (job("b")["conclusion"].as_str(), job("b")["end"].as_str()),
        (Some("failure"), Some("lost"))
    );
    assert_eq!(job("b")["reason"], "the runner was restarted while it ran");
    assert_eq!(job("c")["conclusion"], "success");
    assert_eq!(job("d")["conclusion"], "skipped");
    let scripts: Vec<String> = site
        .vmm
        .commands()
        .into_iter()
        .map(|command| command.script)
        .collect();
    assert_eq!(
        scripts
            .iter()
            .filter(|script| script.contains("first"))
            .count(),
        1,
        "what ended is not run again: {scripts:?}"
    );
    assert!(
        scripts
            .iter()
            .any(|script| script.contains("third rocket failure")),
        "outputs of the former life are there: {scripts:?}"
    );
    for (context, state) in [
        ("a", "success"),
        ("b", "failure"),
        ("c", "success"),
        ("d", "success"),
    ] {
        status(&site, &sha, &format!("CI / {context} (push)"), state);
    }
    assert!(within(|| site.vmm.vms().is_empty()), "{:?}", site.vmm.vms());
    assert!(within(
        || files(&site.folder.path().join("runs/checkouts")) == 0
    ));
}

#[test]
fn a_run_that_waited_for_its_machine_is_run_after_a_restart() {
    let site = Site::new();
    for _ in 0..1000 {
        site.vmm.plan("POST /vms", Misbehaviour::Status(503));
    }
    let runner = site.start();
    let sha = site.commit(GRAPH);
    let run = runner.run("push", "d-1", &site.push(&sha));
    assert!(within(|| site
        .vmm
        .requests()
        .iter()
        .any(
            |request| request.path == "/vms" && request.method == "POST"
        )));
    assert!(within(|| runner.record(&run)["state"] == "allocating"));
    runner.stop();
    site.vmm.forget_plans();
    let runner = site.start();
    let record = runner.ended(&run);
    assert_eq!(
        (record["state"].as_str(), record["attempt"].as_u64()),
        (Some("succeeded"), Some(1)),
        "{record:#}"
    );
    status(&site, &sha, "CI / d (push)", "success");
    assert!(within(|| site.vmm.vms().is_empty()));
}

#[test]
fn statuses_that_could_not_be_posted_are_after_a_restart() {
    let site = Site::new();
    let down = scripted_peers::PlannedFailure::new(
        "POST",
        "/statuses/",
        1_000_000,
        scripted_peers::Failure::Status(503, None),
    );
    site.forge.plan(down);
    let runner = site.start();
    let sha = site.commit(GRAPH);
    let run = runner.run("push", "d-1", &site.push(&sha));
    assert!(within(|| site.vmm.commands().len() >= 2));
    site.vmm.remove_vm("vm-2");
    runner.ended(&run);
    runner.stop();
    site.forge.plan_nothing();
    let _runner = site.start();
    status(&site, &sha, "CI / a (push)", "success");
    status(&site, &sha, "CI / d (push)", "success");
}

#[test]
fn f14_a_status_that_somebody_removed_at_the_forge_is_posted_again() {
    let site = Site::new();
    let runner = site.start();
    let sha =
        site.commit("name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n");
    let run = runner.run("push", "d-1", &site.push(&sha));
    runner.ended(&run);
    status(&site, &sha, "CI / a (push)", "success");
    site.forge
        .remove_status("acme/rocket", &sha, "CI / a (push)");
    status(&site, &sha, "CI / a (push)", "success");
}

#[test]
fn a_forge_that_hangs_up_before_the_answer_loses_no_run() {
    use std::io::Write as _;
    let site = Site::new();
    let runner = site.start();
    let sha =
        site.commit("name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n");
    let mut sent = 0;
    // One that is cut off before it was read starts nothing, and would be sent again: enough are stored all the same.
    assert!(within(|| {
        sent += 1;
        let mut body = site.push(&sha);
        body["unknown"] = serde_json::json!(sent);
        let body = serde_json::to_vec(&body).unwrap();
        let head = format!(
            "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: h-{sent}\r\nX-Hub-Signature-256: {}\r\nContent-Length: {}\r\n\r\n",
            crate::harness::sign(&body),
            body.len()
        );
        let mut stream = std::net::TcpStream::connect(runner.address).unwrap();
        let _ = stream.write_all(&[head.as_bytes(), &body].concat());
        drop(stream);
        runner.runs().len() >= 10
    }));
    assert!(within(|| {
        let runs = runner.runs();
        runs.iter().all(|run| run["state"] == "succeeded")
    }));
}

/// A run as it is stored once it has begun.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct StoredRun {
    record: Vec<u8>,
    arrival: Option<()>,
}

impl Row for StoredRun {
    const SCHEMA: u16 = 2;
}

/// F01: found by killing the runner often. A run that never came to its plan again was lost without jobs, and what it had begun
/// before stayed pending.
#[test]
fn f01_a_status_that_was_begun_before_restarts_ends_with_its_run() {
    let site = Site::new();
    site.vmm.plan("POST /vms", Misbehaviour::Hang);
    let runner = site.start();
    let sha = site.commit(GRAPH);
    let run = runner.run("push", "d-1", &site.push(&sha));
    status(&site, &sha, "CI / a (push)", "pending");
    runner.stop();
    // As if it had been killed often enough before it could plan again.
    let data = site.folder.path().join("runs");
    let store = Store::open(&data, &Options::new("workflow-runner")).unwrap();
    let records: Table<String, StoredRun> = Table::new("runner_runs");
    let key = run.clone();
    store
        .write_blocking(move |rows| {
            let mut row = rows.get(&records, &key)?.expect("it is stored");
            let mut record: Value = serde_json::from_slice(&row.record).expect("JSON");
            record["state"] = "received".into();
            record["jobs"] = serde_json::json!([]);
            record["taken_up"] = 3.into();
            row.record = record.to_string().into_bytes();
            rows.put(&records, &key, &row)?;
            Ok::<_, StoreError>(())
        })
        .unwrap();
    store.close();
    drop(store);
    let runner = site.start();
    assert_eq!(runner.ended(&run)["state"], "lost");
    let said = status(&site, &sha, "CI / a (push)", "error");
    assert_eq!(said, "the runner was restarted while it ran");
}
