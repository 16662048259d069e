//! The clock: workflows that say `schedule`, with a time that the test moves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runner_actors::{RunRecord, ScheduleTime};
use runner_core::state::RunState;

use crate::harness::{REPOSITORY, Runner, Site, TIMEOUT};

const MINUTE: u64 = 60_000;
/// 2026-11-21 16:00 UTC.
const BEGIN: u64 = 1_795_276_800_000;
const WITNESS: &str = "acme/witness";

/// Minutes since [`BEGIN`].
static CLOCK: AtomicU64 = AtomicU64::new(0);

fn now_ms() -> u64 {
    BEGIN + CLOCK.load(Ordering::SeqCst) * MINUTE
}

async fn start(site: &Site) -> Runner {
    let by_the_clock = ScheduleTime {
        now_ms,
        every: Duration::from_millis(20),
    };
    site.start_with(|settings| settings.schedules = by_the_clock)
        .await
}

/// Started by the clock at this minute of every hour; `more` is a further line of `on`.
fn workflow(minute: u64, word: &str, more: &str) -> String {
    format!(
        "name: N\non:\n{more}  schedule: [{{cron: '{minute} * * * *'}}]\njobs:\n  j:\n    runs-on: x\n    steps: [{{run: \"{word} ${{{{ github.event.schedule }}}} ${{{{ github.event_name }}}}\"}}]\n"
    )
}

/// Ended runs that the clock started, of a repository, the newest first.
async fn scheduled(runner: &Runner, repository: &str) -> Vec<RunRecord> {
    let runs = runner.view.runs(Some(repository.to_owned()), 1000).await;
    let mut runs = runs.unwrap();
    runs.retain(|run| run.event == "schedule" && run.ended_at.is_some());
    runs
}

/// Pushes, and waits until the run of the push has ended, so that its schedules are known.
async fn push(
    runner: &Runner,
    site: &Site,
    repository: &str,
    branch: &str,
    workflow: &str,
) -> String {
    let sha = site.commit(workflow);
    let run = runner
        .start_event(site.push(repository, branch, &sha))
        .await;
    runner.ended(&run).await;
    sha
}

/// Moves the clock to this minute and waits until so many runs were started by it, in all.
async fn at(runner: &Runner, minute: u64, repository: &str, runs: usize) {
    CLOCK.store(minute, Ordering::SeqCst);
    let begun = std::time::Instant::now();
    while scheduled(runner, repository).await.len() < runs {
        assert!(begun.elapsed() < TIMEOUT, "minute {minute} of {repository}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[actix_rt::test]
async fn the_clock_starts_a_run_once_a_slot_and_catches_up_once() {
    let site = Site::new();
    let runner = start(&site).await;
    let sha = push(
        &runner,
        &site,
        REPOSITORY,
        "main",
        &workflow(30, "rocket", ""),
    )
    .await;
    // Looked at in the same look, and due at other minutes: its runs show that the clock has
    // looked.
    push(
        &runner,
        &site,
        WITNESS,
        "main",
        &workflow(45, "witness", ""),
    )
    .await;

    at(&runner, 31, REPOSITORY, 1).await;
    at(&runner, 46, WITNESS, 1).await;
    let first = scheduled(&runner, REPOSITORY).await;
    assert_eq!(first.len(), 1, "once a slot: {first:#?}");
    assert_eq!(
        (&first[0].sha, first[0].state, first[0].reference.as_str()),
        (&sha, RunState::Succeeded, "refs/heads/main")
    );
    let commands = site.vmm.commands();
    let has_run = |text: &str| commands.iter().any(|one| one.script.contains(text));
    assert!(has_run("rocket 30 * * * * schedule") && has_run("witness 45 * * * * schedule"));

    // Five slots pass while it is down: one run for all of them.
    runner.stop().await;
    CLOCK.store(5 * 60 + 50, Ordering::SeqCst);
    let runner = start(&site).await;
    at(&runner, 5 * 60 + 50, REPOSITORY, 2).await;
    at(&runner, 5 * 60 + 50, WITNESS, 2).await;
    at(&runner, 6 * 60 + 31, REPOSITORY, 3).await;
    at(&runner, 6 * 60 + 46, WITNESS, 3).await;
    assert_eq!(scheduled(&runner, REPOSITORY).await.len(), 3);

    // Another branch's schedules count for nothing; those of the default branch go with its next
    // commit.
    push(
        &runner,
        &site,
        REPOSITORY,
        "topic",
        &workflow(50, "branch", ""),
    )
    .await;
    at(&runner, 7 * 60 + 31, REPOSITORY, 4).await;
    let without =
        workflow(0, "none", "  push:\n").replace("  schedule: [{cron: '0 * * * *'}]\n", "");
    push(&runner, &site, REPOSITORY, "main", &without).await;
    at(&runner, 8 * 60 + 46, WITNESS, 4).await;
    at(&runner, 9 * 60 + 46, WITNESS, 5).await;
    let all = scheduled(&runner, REPOSITORY).await;
    assert_eq!(all.len(), 4, "{all:#?}");
    assert!(all.iter().all(|run| run.sha == sha));
    runner.stop().await;
}
