//! Kills, restarts, stops.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::harness::{Site, comment, pause, runs_of, wait_until};

/// How often the daemon is killed; `ORCH_KILLS=1000` for the whole claim.
fn kills() -> usize {
    std::env::var("ORCH_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100)
}

/// F01: no acknowledged event is lost, none is dispatched twice, every start succeeds.
#[test]
fn f01_kills_at_random_lose_nothing_and_double_nothing() {
    let out = tempfile::NamedTempFile::new().expect("a file");
    let script = format!("echo $ORCH_RUN_ID >> {}", out.path().display());
    let agents = format!(
        "[mentions]\nmax_dispatches_per_tick = 1000\nmax_concurrent_mention_agents = 1000\n\
         [[agents]]\nproject = \"main\"\nname = \"writer\"\ncli = \"sh\"\nscript = \"{script}\"\nmax_parallel = 32\n"
    );
    let site = Site::new("max_running = 1000", &agents);
    let mut acknowledged: BTreeMap<String, u64> = BTreeMap::new();
    let (mut next, mut seed) = (1_u64, 88_172_645_463_325_252_u64);
    for _ in 0..kills() {
        let daemon = site.start();
        // xorshift: where the kill falls has to differ, not to be unforeseeable.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let until = Instant::now() + Duration::from_millis(seed % 300);
        while Instant::now() < until {
            // 50 webhooks a second.
            pause(Duration::from_millis(20));
            let event = comment(0, next, "@orch:writer");
            next += 1;
            let Some(answer) = daemon.try_hook(&event) else {
                break;
            };
            if answer.status == 202 {
                for (_, run) in runs_of(&answer.json()) {
                    assert!(
                        acknowledged.insert(run, next).is_none(),
                        "a run id came twice"
                    );
                }
            }
        }
        daemon.kill();
    }
    assert!(
        acknowledged.len() >= kills(),
        "{} webhooks",
        acknowledged.len()
    );
    let daemon = site.start();
    // As long as it gets shorter: how long that takes depends on the machine.
    let open = || {
        let queue = daemon.get("/admin/status")["queue"].clone();
        ["queued", "starting", "running"]
            .map(|state| queue[state].as_u64().expect("a count"))
            .iter()
            .sum::<u64>()
    };
    let mut left = open();
    while left > 0 {
        wait_until("a shorter queue", || open() < left);
        left = open();
    }
    let written = std::fs::read_to_string(out.path()).expect("the agents' file");
    let mut seen = BTreeSet::new();
    for run in written.lines() {
        assert!(
            seen.insert(run.to_owned()),
            "run {run} was dispatched twice"
        );
    }
    let mut cut = 0;
    for run in acknowledged.keys() {
        let record = daemon.run(run);
        match record["exit"]["class"].as_str() {
            Some("orchestrator_restart") => cut += 1,
            _ => assert!(
                seen.contains(run),
                "run {run} was acknowledged and never came: {record}"
            ),
        }
    }
    assert!(
        cut <= acknowledged.len() / 2,
        "{cut} of {} were cut off",
        acknowledged.len()
    );
}

#[test]
fn a_stop_ends_agents_and_records_it() {
    let agents = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"stubborn\"\ncli = \"sh\"\n\
        script = \"trap '' TERM; echo here; while true; do sleep 1; done\"\ngrace_seconds = 1\n\
        [[agents]]\nproject = \"main\"\nname = \"again\"\ncli = \"sh\"\nscript = \"sleep 600\"\non_restart = \"requeue\"\ngrace_seconds = 1\n";
    let site = Site::new("", agents);
    let daemon = site.start();
    let first = runs_of(&daemon.hook(&comment(0, 1, "@orch:stubborn")).json())
        .remove(0)
        .1;
    let second = runs_of(&daemon.hook(&comment(0, 2, "@orch:again")).json())
        .remove(0)
        .1;
    let running = |run: &serde_json::Value| run["state"] == "running";
    let pid = daemon.wait_for_run(&first, running)["pid"]
        .as_u64()
        .expect("a process");
    daemon.wait_for_run(&second, running);
    assert_eq!(daemon.stop(), Some(0));
    assert!(
        !std::path::Path::new(&format!("/proc/{pid}")).exists(),
        "o12"
    );
    let daemon = site.start();
    for run in [&first, &second] {
        assert_eq!(daemon.ended(run)["exit"]["class"], "orchestrator_restart");
    }
    wait_until("the run that is to be repeated", || {
        let runs = daemon.get("/admin/runs?agent=again&state=running");
        runs["runs"].as_array().is_some_and(|runs| runs.len() == 1)
    });
}

#[test]
fn o17_a_second_orchestrator_on_the_same_data_is_refused() {
    let agents = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"any\"\ncli = \"sh\"\nscript = \"true\"\n";
    let site = Site::new("", agents);
    let daemon = site.start();
    let second = site.command().output().expect("it runs");
    assert_eq!(second.status.code(), Some(1));
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        text.contains(&daemon.pid().to_string()),
        "it names who is there: {text}"
    );
    assert_eq!(
        daemon.get("/admin/status")["ticks"].as_u64().map(|_| ()),
        Some(()),
        "the first one goes on"
    );
}

#[test]
fn the_page_the_metrics_and_the_document_are_served() {
    let agents = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"any\"\ncli = \"sh\"\nscript = \"true\"\n";
    let site = Site::new("", agents);
    let daemon = site.start();
    let run = runs_of(&daemon.hook(&comment(0, 1, "@orch:any")).json())
        .remove(0)
        .1;
    daemon.ended(&run);
    let mut metrics = String::new();
    // An end is counted once it is written down.
    wait_until("the end is counted", || {
        metrics = daemon.admin("GET", "/metrics").body;
        metrics.contains("orchestrator_runs_ended_total{")
    });
    for name in [
        "orchestrator_runs{",
        "orchestrator_queue_oldest_seconds",
        "orchestrator_runs_ended_total{",
        "orchestrator_statuses_pending",
    ] {
        assert!(metrics.contains(name), "{name}");
    }
    assert!(
        daemon
            .admin("GET", "/")
            .body
            .contains("<title>Orchestrator</title>")
    );
    assert!(daemon.get("/api/openapi.json")["paths"]["/admin/status"].is_object());
    assert!(daemon.get("/admin/actors")["children"].is_array());
    assert_eq!(daemon.admin("GET", "/readyz").status, 200);
}
