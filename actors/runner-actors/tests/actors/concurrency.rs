//! Concurrency groups: who comes first is who was received first, also when an earlier run takes
//! longer to be fetched, and after a restart.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use runner_core::state::RunState;
use scripted_peers::Play;

use crate::harness::{REPOSITORY, Runner, Site};

/// A workflow of one job of a group.
fn workflow(concurrency: &str, number: u32) -> String {
    format!(
        "name: CI\non: push\nconcurrency: {concurrency}\njobs:\n  a:\n    runs-on: x\n    steps: [{{run: deploy {number}}}]\n"
    )
}

/// Starts a runner whose git takes long with one commit.
async fn start_slow_with(site: &Site, sha: &str) -> Runner {
    let git = site.directory.path().join("slow-git");
    let script = format!("#!/bin/sh\ncase \"$*\" in *{sha}*) sleep 1 ;; esac\nexec git \"$@\"\n");
    std::fs::write(&git, script).unwrap();
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).unwrap();
    site.start_with(|settings| settings.git.0 = git.display().to_string().into())
        .await
}

/// Pushes of two commits; the runner needs longer for the first one.
async fn two_runs(site: &Site, concurrency: &str) -> (Runner, [String; 2]) {
    let commits = [1, 2].map(|number| site.commit(&workflow(concurrency, number)));
    let runner = start_slow_with(site, &commits[0]).await;
    let mut runs = Vec::new();
    for sha in &commits {
        runs.push(runner.start_event(site.push(REPOSITORY, "main", sha)).await);
    }
    (runner, runs.try_into().unwrap())
}

#[actix_rt::test]
async fn i17_of_a_queue_the_earlier_run_goes_first_however_long_its_fetch_takes() {
    let site = Site::new();
    let (runner, [first, second]) = two_runs(&site, "{group: deploy, queue: max}").await;
    let (first, second) = (runner.ended(&first).await, runner.ended(&second).await);
    assert_eq!(first.state, RunState::Succeeded, "{first:#?}");
    assert_eq!(second.state, RunState::Succeeded, "{second:#?}");
    assert!(second.jobs[0].queued_at >= first.ended_at.unwrap());
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_newer_run_is_not_cancelled_by_one_that_was_fetched_later() {
    // What the first one does never ends by itself.
    let site = Site::playing(|command| match command.script.contains("deploy 1") {
        true => Play::hang(),
        false => Play::exit(0),
    });
    let (runner, [first, second]) =
        two_runs(&site, "{group: deploy, cancel-in-progress: true}").await;
    let (first, second) = (runner.ended(&first).await, runner.ended(&second).await);
    assert_eq!(first.state, RunState::Cancelled, "{first:#?}");
    assert_eq!(second.state, RunState::Succeeded, "{second:#?}");
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_queue_keeps_its_order_over_a_restart() {
    let hangs = Arc::new(AtomicBool::new(true));
    let still = Arc::clone(&hangs);
    let site = Site::playing(move |_| match still.load(Ordering::SeqCst) {
        true => Play::hang().out("began\n"),
        false => Play::exit(0),
    });
    let commits =
        [1, 2, 3].map(|number| site.commit(&workflow("{group: deploy, queue: max}", number)));
    let runner = site.start().await;
    let mut runs = Vec::new();
    for sha in &commits {
        runs.push(runner.start_event(site.push(REPOSITORY, "main", sha)).await);
    }
    runner
        .reached(&runs[0], |record| {
            record.jobs.iter().any(|job| !job.steps.is_empty())
        })
        .await;
    runner.stop().await;
    // Of the two that waited the first one takes longer now.
    hangs.store(false, Ordering::SeqCst);
    let runner = start_slow_with(&site, &commits[1]).await;
    let lost = runner.ended(&runs[0]).await;
    assert_eq!(lost.state, RunState::Lost, "{lost:#?}");
    let (second, third) = (runner.ended(&runs[1]).await, runner.ended(&runs[2]).await);
    assert_eq!(second.state, RunState::Succeeded, "{second:#?}");
    assert!(third.jobs[0].queued_at >= second.ended_at.unwrap());
    runner.stop().await;
}
