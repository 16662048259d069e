//! W30 to W32 and cancelling: floods, rows that cannot be read, runs that wait.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::json;
use store::{RawBytes, Row, Store, StoreError, StoreOptions, Table};

use crate::harness::{Site, TEST_TIMEOUT, push, status, within};
use crate::receiver::WORKFLOW;

#[test]
fn w30_a_flood_of_bad_signatures_leaves_good_ones_alone() {
    let site = Site::new();
    let runner = site.start();
    let address = runner.address;
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flood = {
        let stop = stop.clone();
        std::thread::spawn(move || {
            let request = b"POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\nX-Hub-Signature-256: sha256=00\r\nContent-Length: 2\r\n\r\n{}";
            let mut sent = 0_u32;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let Ok(mut stream) = TcpStream::connect(address) else {
                    continue;
                };
                for _ in 0..100 {
                    if stream.write_all(request).is_err() {
                        break;
                    }
                    let mut answer = [0; 2048];
                    let _ = stream.read(&mut answer);
                    sent += 1;
                }
            }
            sent
        })
    };
    for number in 0..20 {
        let body = push(
            "https://forge.invalid/a/b.git",
            &format!("{:040}", number + 1),
        );
        assert_eq!(
            runner.deliver("push", &format!("g-{number}"), &body).code,
            202
        );
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(flood.join().unwrap() > 0);
    assert_eq!(runner.runs().len(), 20);
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct OldRun {
    name: String,
}

impl Row for OldRun {
    const SCHEMA: u16 = 9;
}

/// A run as it is stored once it has begun, without the event that started it.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct LonelyRun {
    /// JSON.
    record: Vec<u8>,
    trigger: Option<()>,
}

impl Row for LonelyRun {
    const SCHEMA: u16 = 2;
}

#[test]
fn w32_rows_that_cannot_be_read_are_put_aside_and_the_runner_goes_on() {
    let site = Site::new();
    let data = site.folder.path().join("runs");
    let store = Store::open(&data, &StoreOptions::new("workflow-runner")).unwrap();
    let old: Table<String, OldRun> = Table::new("runner_runs");
    let raw: Table<String, RawBytes> = Table::new("runner_runs");
    let begun: Table<String, LonelyRun> = Table::new("runner_runs");
    let lonely = json!({"id": "0003", "state": "running", "repository": "a/b", "event": "push", "reference": "refs/heads/main", "sha": "1".repeat(40),
        "actor": "", "delivery": "d", "number": 1, "attempt": 1, "created_at": 1, "jobs": []});
    store
        .write_blocking(move |rows| {
            rows.put(
                &old,
                &"0001".to_owned(),
                &OldRun {
                    name: "x".to_owned(),
                },
            )?;
            rows.put(
                &raw,
                &"0002".to_owned(),
                &RawBytes(b"{\"id\": broken".to_vec()),
            )?;
            let record = lonely.to_string().into_bytes();
            let trigger = None;
            rows.put(&begun, &"0003".to_owned(), &LonelyRun { record, trigger })?;
            Ok::<_, StoreError>(())
        })
        .unwrap();
    store.close();
    drop(store);
    for round in 0..2 {
        let runner = site.start();
        let delivery = format!("d-{round}");
        let sha = format!("{}", round + 1).repeat(40);
        assert_eq!(
            runner
                .deliver(
                    "push",
                    &delivery,
                    &push("https://forge.invalid/a/b.git", &sha)
                )
                .code,
            202
        );
        // A run whose event is missing ends, and says why.
        let record = runner.ended("0003");
        assert_eq!(
            (record["state"].as_str(), record["reason"].as_str()),
            (
                Some("lost"),
                Some("the event that started it cannot be read")
            )
        );
        let aside = within(|| {
            runner
                .get("/metrics")
                .body
                .contains("runner_rows_quarantined 2")
        });
        assert!(aside, "{}", runner.get("/metrics").body);
        assert_eq!(runner.get("/runs/0002").code, 404);
        runner.stop();
    }
}

#[test]
fn cancelling_a_run_that_waits_ends_it() {
    let site = Site::new();
    site.vmm
        .plan("POST /vms", scripted_peers::Misbehaviour::Hang);
    let runner = site.start();
    let sha = site.commit(WORKFLOW);
    let run = runner.run("push", "d-1", &site.push(&sha));
    assert!(within(|| site
        .vmm
        .requests()
        .iter()
        .any(
            |request| request.method == "POST" && request.path == "/vms"
        )));
    let begun = Instant::now();
    assert_eq!(
        runner
            .ask("POST", &format!("/runs/{run}/cancel"), &[], b"")
            .code,
        202
    );
    let record = runner.ended(&run);
    assert_eq!(record["state"], "cancelled", "{record:#}");
    assert!(begun.elapsed() < TEST_TIMEOUT);
    status(&site, &sha, "CI / build (push)", "error");
    assert_eq!(
        runner
            .ask("POST", &format!("/runs/{run}/cancel"), &[], b"")
            .code,
        409
    );
}

#[test]
fn records_are_what_the_openapi_document_says() {
    let site = Site::new();
    let runner = site.start();
    let sha = site.commit(
        "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    outputs: {o: '1'}\n    steps: [{run: make}]\n  b:\n    runs-on: x\n    if: false\n    steps: [{run: make}]\n",
    );
    let run = runner.run("push", "d-1", &site.push(&sha));
    let record = runner.ended(&run);
    let document = runner.get("/api/openapi.json").json();
    let answer = |path: &str| {
        document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            .clone()
    };
    let named = "#/components/schemas/RunRecord";
    assert_eq!(answer("/runs/{id}")["$ref"], named);
    assert_eq!(answer("/runs")["items"]["$ref"], named);
    let all_known = |schema: &str, object: &serde_json::Value| {
        let known = &document["components"]["schemas"][schema]["properties"];
        let keys = object.as_object().unwrap().keys();
        let unknown: Vec<_> = keys.filter(|key| known.get(*key).is_none()).collect();
        assert!(unknown.is_empty(), "{schema}: {unknown:?}");
    };
    all_known("RunRecord", &record);
    let jobs = record["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 2);
    for job in jobs {
        all_known("JobRecord", job);
    }
    let ran = jobs.iter().find(|job| job["key"] == "a").unwrap();
    all_known("StepRecord", &ran["steps"][0]);
    let states = &document["components"]["schemas"]["RunState"]["enum"];
    assert!(
        states.as_array().unwrap().contains(&record["state"]),
        "{states}"
    );
}

#[test]
fn a_forge_that_hangs_up_before_the_answer_loses_no_run() {
    use std::io::Write as _;
    let site = Site::new();
    let runner = site.start();
    let sha =
        site.commit("name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n");
    let mut sent = 0;
    // One that is cut off before it was read starts nothing, and would be sent again: enough are
    // stored all the same.
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
