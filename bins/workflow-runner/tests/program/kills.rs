//! F01, W19: the runner is killed at random points while webhooks arrive: what it acknowledged is
//! there, once, and what it did not acknowledge can be sent again.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use scripted_peers::postgres::PostgresServer;
use scripted_peers::{Program, Reply, push_event};
use serde_json::{Value, json};

const SECRET: &str = "the webhook's secret";
/// Lives of the runner; `ORRERY_KILLS` for more.
const INCARNATIONS: u64 = 12;
/// With a machine under load.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// With its store in the folder, or at an address.
fn start(folder: &Path, store: Option<&str>) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
    command
        .envs(store.map(|url| ("WORKFLOW_RUNNER_STORE_URL", url)))
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(folder)
        .env("FORGE_WEBHOOK_SECRET", SECRET)
        .env("VMM_API_URL", "http://127.0.0.1:9");
    Program::start(command)
}

fn deliver(address: &str, number: u64) -> Option<Reply> {
    let mut body = push_event("https://forge.invalid/a.git", &format!("{number:040x}"));
    body["padding"] = json!("x".repeat(20_000));
    scripted_peers::deliver(address, SECRET, "push", &format!("d-{number}"), &body)
}

/// By delivery: how many runs it has, once there are runs of so many deliveries. A process that
/// shares its store begins as a standby: it leads, and decides what was taken in, a little later.
fn runs(runner: &Program, deliveries: usize) -> BTreeMap<String, usize> {
    let begun = Instant::now();
    loop {
        let reply = runner.ask("GET /runs?limit=1000", &[], "");
        assert!(matches!(reply.status, 200 | 503), "{reply:?}");
        let known = by_delivery(&reply.json());
        if (reply.status == 200 && known.len() >= deliveries) || begun.elapsed() >= TEST_TIMEOUT {
            return known;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn by_delivery(runs: &Value) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for run in runs.as_array().into_iter().flatten() {
        *count
            .entry(run["delivery"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    count
}

#[test]
fn f01_w19_kills_at_random_lose_nothing_and_double_nothing() {
    kill_and_compare(INCARNATIONS, None);
}

#[test]
fn i18_f01_w19_kills_at_random_lose_and_double_nothing_in_postgresql() {
    let server = PostgresServer::start();
    kill_and_compare(INCARNATIONS / 2, Some(&server.url()));
}

fn kill_and_compare(lives: u64, store: Option<&str>) {
    let lives = std::env::var("ORRERY_KILLS")
        .ok()
        .map_or(lives, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let mut next = 1;
    for life in 0..lives {
        let mut runner = start(folder.path(), store);
        let address = runner.address.clone();
        let log = Arc::clone(&acknowledged);
        let before = log.lock().unwrap().len();
        let client = std::thread::spawn(move || {
            // Until it is gone; at most 60 a life, so that one page lists all.
            for number in next..next + 60 {
                let Some(reply) = deliver(&address, number) else {
                    return number + 1;
                };
                match reply.status {
                    202 => log.lock().unwrap().push(number),
                    503 => {}
                    _ => panic!("{reply:?}"),
                }
            }
            next + 60
        });
        // Once it acknowledges; at other points of a delivery each time, without a random number to
        // be remembered.
        let begun = Instant::now();
        while acknowledged.lock().unwrap().len() == before && begun.elapsed() < TEST_TIMEOUT {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        std::thread::park_timeout(Duration::from_millis(5 + life * 37 % 211));
        runner.kill();
        next = client.join().unwrap();
    }
    let acknowledged = acknowledged.lock().unwrap().clone();
    assert!(
        acknowledged.len() as u64 >= lives,
        "only {} were acknowledged",
        acknowledged.len()
    );
    let runner = start(folder.path(), store);
    let known = runs(&runner, acknowledged.len());
    for number in &acknowledged {
        assert_eq!(
            known.get(&format!("d-{number}")),
            Some(&1),
            "d-{number} was acknowledged"
        );
    }
    assert!(known.values().all(|count| *count == 1), "none twice");
    for number in 1..next {
        let again = deliver(&runner.address, number).unwrap();
        let expected: &[u16] = if acknowledged.contains(&number) {
            &[200]
        } else {
            &[200, 202]
        };
        assert!(expected.contains(&again.status), "d-{number}: {again:?}");
    }
    let known = runs(&runner, usize::try_from(next - 1).unwrap());
    assert_eq!(known.len() as u64, next - 1, "redelivered, each is there");
    assert!(known.values().all(|count| *count == 1), "once");
}
