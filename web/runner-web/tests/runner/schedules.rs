//! The clock: workflows that say `schedule`, with a time that the test moves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runner_actors::{RunnerSettings, ScheduleTime};
use serde_json::{Value, json};

use crate::harness::{Runner, Setup, Site, within};

const MINUTE: u64 = 60_000;
/// 2026-11-21 16:00 UTC.
const BEGIN: u64 = 1_795_276_800_000;

/// Minutes since [`BEGIN`].
static CLOCK: AtomicU64 = AtomicU64::new(0);

fn now_ms() -> u64 {
    BEGIN + CLOCK.load(Ordering::SeqCst) * MINUTE
}

fn by_the_tests_clock(settings: &mut RunnerSettings) {
    settings.schedules = ScheduleTime {
        now_ms,
        every: Duration::from_millis(20),
    };
}

fn start(site: &Site) -> Runner {
    site.start_with(Setup {
        change: by_the_tests_clock,
        ..Setup::default()
    })
}

/// Started by the clock at this minute of every hour; `more` is a further line of `on`.
fn workflow(minute: u64, word: &str, more: &str) -> String {
    format!(
        "name: N\non:\n{more}  schedule: [{{cron: '{minute} * * * *'}}]\njobs:\n  j:\n    runs-on: x\n    steps: [{{run: \"{word} ${{{{ github.event.schedule }}}} ${{{{ github.event_name }}}}\"}}]\n"
    )
}

/// Ended runs that the clock started, of a repository, the newest first.
fn scheduled(runner: &Runner, repository: &str) -> Vec<Value> {
    let all = runner.get(&format!("/runs?limit=1000&repository={repository}"));
    let all: Vec<Value> = serde_json::from_str(&all.body).unwrap_or_default();
    let ended = |run: &Value| run["event"] == "schedule" && run.get("ended_at").is_some();
    all.into_iter().filter(ended).collect()
}

/// Pushes, and waits until the run of the push has ended, so that its schedules are known.
fn push(runner: &Runner, id: &str, body: &Value) {
    let pushed = runner.deliver("push", id, body);
    assert_eq!(pushed.code, 202, "{pushed:?}");
    let run = pushed.json()["run"].as_str().unwrap().to_owned();
    assert!(within(|| {
        let record = runner.get(&format!("/runs/{run}")).json();
        record.get("ended_at").is_some()
    }));
}

/// Moves the clock to this minute and waits until so many runs were started by it, in all.
fn at(runner: &Runner, minute: u64, repository: &str, runs: usize) {
    CLOCK.store(minute, Ordering::SeqCst);
    let reached = within(|| scheduled(runner, repository).len() >= runs);
    assert!(reached, "{minute}: {:?}", scheduled(runner, repository));
}

#[test]
fn the_clock_starts_a_run_once_a_slot_and_catches_up_once() {
    let (rocket, witness) = ("acme/rocket", "acme/witness");
    let site = Site::new();
    let runner = start(&site);
    let sha = site.commit(&workflow(30, "rocket", ""));
    push(&runner, "d-1", &site.push(&sha));
    // Looked at in the same look, and due at other minutes: its runs show that the clock has looked.
    site.write(".github/workflows/ci.yml", &workflow(45, "witness", ""));
    let other = site.commit_all();
    let mut body = site.push(&other);
    body["repository"]["full_name"] = json!(witness);
    push(&runner, "d-2", &body);

    at(&runner, 31, rocket, 1);
    at(&runner, 46, witness, 1);
    let first = scheduled(&runner, rocket);
    assert_eq!(first.len(), 1, "once a slot: {first:#?}");
    assert_eq!(
        (&first[0]["sha"], &first[0]["state"], &first[0]["reference"]),
        (&json!(sha), &json!("succeeded"), &json!("refs/heads/main"))
    );
    let commands = site.vmm.commands();
    let said = |word: &str| {
        let wanted = format!("{word} schedule");
        commands
            .iter()
            .any(|command| command.script.contains(&wanted))
    };
    assert!(said("rocket 30 * * * *") && said("witness 45 * * * *"));

    // Five slots pass while it is down: one run for all of them.
    runner.stop();
    CLOCK.store(5 * 60 + 50, Ordering::SeqCst);
    let runner = start(&site);
    at(&runner, 5 * 60 + 50, rocket, 2);
    at(&runner, 5 * 60 + 50, witness, 2);
    at(&runner, 6 * 60 + 31, rocket, 3);
    at(&runner, 6 * 60 + 46, witness, 3);
    assert_eq!(scheduled(&runner, rocket).len(), 3);

    // Another branch's schedules count for nothing; those of the default branch go with its next commit.
    site.write(".github/workflows/ci.yml", &workflow(50, "branch", ""));
    let branch = site.commit_all();
    let mut body = site.push(&branch);
    body["ref"] = json!("refs/heads/topic");
    push(&runner, "d-3", &body);
    at(&runner, 7 * 60 + 31, rocket, 4);
    let without =
        workflow(0, "none", "  push:\n").replace("  schedule: [{cron: '0 * * * *'}]\n", "");
    site.write(".github/workflows/ci.yml", &without);
    let last = site.commit_all();
    push(&runner, "d-4", &site.push(&last));
    at(&runner, 8 * 60 + 46, witness, 4);
    at(&runner, 9 * 60 + 46, witness, 5);
    let all = scheduled(&runner, rocket);
    assert_eq!(all.len(), 4, "{all:#?}");
    assert!(all.iter().all(|run| run["sha"] == json!(sha)));
}
