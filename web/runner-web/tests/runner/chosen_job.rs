//! One job of an ended run is run again, however it ended, with what needs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scripted_peers::Play;
use serde_json::{Value, json};

use crate::harness::Site;

const WORKFLOW: &str = "name: CI\non: push\njobs:\n  build:\n    runs-on: x\n    steps: [{run: build}]\n  test:\n    needs: build\n    runs-on: x\n    strategy: {max-parallel: 1, matrix: {n: [1, 2]}}\n    steps: [{run: 'test ${{ matrix.n }}'}]\n  lint:\n    runs-on: x\n    steps: [{run: lint}]\n  ship:\n    needs: [build]\n    if: ${{ !cancelled() }}\n    runs-on: x\n    steps: [{run: 'ship ${{ needs.build.result }}'}]\n";

/// Its jobs that have run in it, and how all of them ended.
fn ends(record: &Value) -> (Vec<&str>, Vec<(&str, &str)>) {
    let jobs = record["jobs"].as_array().unwrap();
    let mut ran: Vec<&str> = jobs
        .iter()
        .filter(|job| job.get("kept_from").is_none())
        .map(|job| job["name"].as_str().unwrap())
        .collect();
    ran.sort_unstable();
    let mut ends: Vec<(&str, &str)> = jobs
        .iter()
        .map(|job| {
            (
                job["name"].as_str().unwrap(),
                job["conclusion"].as_str().unwrap(),
            )
        })
        .collect();
    ends.sort_unstable();
    (ran, ends)
}

#[test]
fn i17_one_job_runs_again_with_what_needs_it_and_the_others_keep_their_ends() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let site = Site::playing(move |command| {
        let fails = ["test 2", "lint"]
            .iter()
            .any(|it| command.script.contains(it));
        if fails && is_broken.load(Ordering::SeqCst) {
            return Play::exit(1);
        }
        Play::exit(0)
    });
    let runner = site.start();
    let sha = site.commit(WORKFLOW);
    let first = runner.run("push", "d-1", &site.push(&sha));
    assert_eq!(runner.ended(&first)["state"], "failed");
    let html = [("Accept", "text/html")];
    let page = |run: &str| runner.ask("GET", &format!("/runs/{run}"), &html, b"").body;
    let button = format!("action=\"/runs/{first}/rerun?job=test+%281%29\"");
    assert!(page(&first).contains(&button), "{button} is missing");

    broken.store(false, Ordering::SeqCst);
    let again = |run: &str, query: &str| {
        runner.ask("POST", &format!("/runs/{run}/rerun?{query}"), &[], b"")
    };
    for (query, code) in [("job=deploy", 404), ("job=lint&failed=true", 400)] {
        let answer = again(&first, query);
        assert_eq!(answer.code, code, "{query}: {answer:?}");
    }
    // One that succeeded, beside a failure that stays and ends nothing.
    let answer = again(&first, "job=test+%281%29");
    assert_eq!(answer.code, 202, "{answer:?}");
    let second = answer.json()["run"].as_str().unwrap().to_owned();
    let record = runner.ended(&second);
    let (ran, all) = ends(&record);
    assert_eq!(ran, ["test (1)"], "{record:#}");
    assert_eq!(
        all,
        [
            ("build", "success"),
            ("lint", "failure"),
            ("ship", "success"),
            ("test (1)", "success"),
            ("test (2)", "failure"),
        ]
    );
    assert_eq!(
        (&record["state"], &record["attempt"]),
        (&json!("failed"), &json!(2))
    );
    assert!(
        !page(&first).contains("rerun?job="),
        "there is a newer attempt"
    );

    // By its key; what needs it runs again too, what does not stays.
    let answer = again(&second, "job=build");
    let third = answer.json()["run"].as_str().unwrap().to_owned();
    let record = runner.ended(&third);
    let (ran, all) = ends(&record);
    assert_eq!(ran, ["build", "ship", "test (1)", "test (2)"]);
    assert_eq!(all[1], ("lint", "failure"));
    let answer = again(&third, "job=lint");
    let fourth = answer.json()["run"].as_str().unwrap().to_owned();
    let record = runner.ended(&fourth);
    assert_eq!(ends(&record).0, ["lint"]);
    assert_eq!(record["state"], "succeeded", "{record:#}");
}
