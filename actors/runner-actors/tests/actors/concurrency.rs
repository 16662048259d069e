//! Concurrency groups: who comes first is who was received first, also when an earlier run takes
//! longer to be fetched, and after a restart.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use runner_actors::RunRecord;
use runner_actors::messages::CancelRun;
use runner_core::state::RunState;
use scripted_peers::Play;

use crate::harness::{REPOSITORY, Runner, Site, entries, wait_until};

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

/// Runs that waited for their group held places of those under way, of all repositories, and said
/// nothing of it.
#[actix_rt::test]
async fn i17_a_run_that_waits_for_its_group_is_none_under_way() {
    let hangs = Arc::new(AtomicBool::new(true));
    let still = Arc::clone(&hangs);
    let site = Site::playing(move |_| match still.load(Ordering::SeqCst) {
        true => Play::hang(),
        false => Play::exit(0),
    });
    let runner = site.start().await;
    let mut runs = Vec::new();
    for number in 1..=4 {
        let sha = site.commit(&workflow("{group: deploy, queue: max}", number));
        runs.push(
            runner
                .start_event(site.push(REPOSITORY, "main", &sha))
                .await,
        );
    }
    let has_step = |record: &RunRecord| record.jobs.iter().any(|job| !job.steps.is_empty());
    runner.reached(&runs[0], has_step).await;
    for run in &runs[1..] {
        let record = runner
            .reached(run, |record| record.state == RunState::Waiting)
            .await;
        assert_eq!(
            record.reason.as_deref(),
            Some("waits for its turn: another of the concurrency group `deploy` runs")
        );
        assert!(record.waits_for_group() && record.jobs.is_empty());
    }
    // One that is cancelled while it waits leaves the line.
    cancel(&runner, &runs[1]).await;
    let second = runner.ended(&runs[1]).await;
    assert_eq!(second.state, RunState::Cancelled, "{second:#?}");
    assert_eq!(second.reason.as_deref(), Some("ada"));
    hangs.store(false, Ordering::SeqCst);
    cancel(&runner, &runs[0]).await;
    let (third, fourth) = (runner.ended(&runs[2]).await, runner.ended(&runs[3]).await);
    assert_eq!(third.state, RunState::Succeeded, "{third:#?}");
    assert_eq!(fourth.state, RunState::Succeeded, "{fourth:#?}");
    assert!(fourth.jobs[0].queued_at >= third.ended_at.unwrap());
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_newer_run_takes_the_place_of_one_that_waits() {
    let site = Site::playing(|_| Play::hang());
    let runner = site.start().await;
    let mut runs = Vec::new();
    for number in 1..=3 {
        let sha = site.commit(&workflow("deploy", number));
        runs.push(
            runner
                .start_event(site.push(REPOSITORY, "main", &sha))
                .await,
        );
        let waits_or_runs = |record: &RunRecord| {
            record.state == RunState::Waiting || record.jobs.iter().any(|job| job.vm.is_some())
        };
        runner.reached(&runs[runs.len() - 1], waits_or_runs).await;
    }
    let second = runner.ended(&runs[1]).await;
    assert_eq!(second.state, RunState::Cancelled, "{second:#?}");
    assert_eq!(
        second.reason.as_deref(),
        Some("a newer one of its concurrency group took its place")
    );
    let third = runner.record(&runs[2]).await.unwrap();
    assert_eq!(third.state, RunState::Waiting, "{third:#?}");
    runner.stop().await;
}

async fn cancel(runner: &Runner, run: &str) {
    let cancel = CancelRun {
        run: run.to_owned(),
        reason: "ada".to_owned(),
    };
    assert!(runner.coordinator.ask(cancel).await.unwrap());
}

/// A workflow whose second job is of a group.
fn job_workflow(concurrency: &str, number: u32) -> String {
    format!(
        "name: CI\non: push\njobs:\n  build:\n    runs-on: x\n    steps: [{{run: build it}}]\n  deploy:\n    needs: build\n    runs-on: x\n    concurrency: {concurrency}\n    steps: [{{run: deploy {number}}}]\n"
    )
}

/// Runs of that workflow, one after the other: the first one deploys, and the others wait.
async fn waiting_jobs(runner: &Runner, site: &Site, concurrency: &str, count: u32) -> Vec<String> {
    let mut runs = Vec::new();
    for number in 1..=count {
        let sha = site.commit(&job_workflow(concurrency, number));
        let run = runner.start_event(site.push(REPOSITORY, "main", &sha));
        let run = run.await;
        let deploys = |record: &RunRecord| record.jobs.iter().any(|job| job.name == "deploy");
        let waits_or_runs = |record: &RunRecord| match number {
            1 => record.jobs.last().is_some_and(|job| !job.steps.is_empty()),
            _ => record.state == RunState::Waiting,
        };
        runner
            .reached(&run, |record| deploys(record) && waits_or_runs(record))
            .await;
        runs.push(run);
    }
    runs
}

/// Everything hangs that deploys for the first time.
pub(crate) fn hanging_site() -> (Site, Arc<AtomicBool>) {
    let hangs = Arc::new(AtomicBool::new(true));
    let still = Arc::clone(&hangs);
    let site = Site::playing(move |command| {
        let deploys = command.script.contains("deploy");
        match deploys && still.load(Ordering::SeqCst) {
            true => Play::hang(),
            false => Play::exit(0),
        }
    });
    (site, hangs)
}

/// The other runs say why they wait and have no checkout; the second is cancelled as it waits.
async fn only_the_first_is_under_way(runner: &Runner, site: &Site, runs: &[String], waits: &str) {
    for run in &runs[1..] {
        let record = runner.record(run).await.unwrap();
        assert_eq!(record.reason.as_deref(), Some(waits), "{record:#?}");
        assert!(record.waits_for_group(), "{record:#?}");
    }
    let checkouts = site.data().join("checkouts");
    wait_until("one is laid out", || entries(&checkouts) == 1).await;
    cancel(runner, &runs[1]).await;
    let second = runner.ended(&runs[1]).await;
    assert_eq!(second.state, RunState::Cancelled, "{second:#?}");
}

/// Runs of which one job waited for its group held places of those under way, and their checkouts.
#[actix_rt::test]
async fn i17_a_run_whose_jobs_wait_for_their_groups_is_none_under_way() {
    let (site, hangs) = hanging_site();
    let runner = site.start().await;
    let runs = waiting_jobs(&runner, &site, "{group: deploy, queue: max}", 3).await;
    let waits = "waits for its turn: another of its concurrency group runs";
    only_the_first_is_under_way(&runner, &site, &runs, waits).await;
    hangs.store(false, Ordering::SeqCst);
    cancel(&runner, &runs[0]).await;
    let third = runner.ended(&runs[2]).await;
    assert_eq!(third.state, RunState::Succeeded, "{third:#?}");
    let commands = site.vmm.commands();
    let built = commands.iter().filter(|one| one.script.contains("build"));
    assert_eq!(built.count(), 3, "what was done is not done again");
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_jobs_take_their_places_in_their_groups_again_after_a_restart() {
    let (site, hangs) = hanging_site();
    let runner = site.start().await;
    let runs = waiting_jobs(&runner, &site, "{group: deploy, queue: max}", 3).await;
    runner.stop().await;
    hangs.store(false, Ordering::SeqCst);
    let runner = site.start().await;
    for run in &runs[1..] {
        let record = runner.ended(run).await;
        assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    }
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_newer_job_takes_the_place_of_one_whose_run_waits() {
    let (site, hangs) = hanging_site();
    let runner = site.start().await;
    let runs = waiting_jobs(&runner, &site, "deploy", 3).await;
    let second = runner.ended(&runs[1]).await;
    assert_eq!(second.state, RunState::Cancelled, "{second:#?}");
    let deploy = second.jobs.iter().find(|job| job.name == "deploy").unwrap();
    assert_eq!(
        deploy.reason.as_deref(),
        Some("a newer one of its concurrency group took its place")
    );
    hangs.store(false, Ordering::SeqCst);
    cancel(&runner, &runs[0]).await;
    let third = runner.ended(&runs[2]).await;
    assert_eq!(third.state, RunState::Succeeded, "{third:#?}");
    runner.stop().await;
}

/// Runs of a workflow that calls one of a group: the first one deploys, and the others wait.
async fn waiting_calls(runner: &Runner, site: &Site, concurrency: &str, count: u32) -> Vec<String> {
    let inner = format!(
        "on: workflow_call\nconcurrency: {concurrency}\njobs: {{a: {{runs-on: x, steps: [{{run: deploy}}]}}}}\n"
    );
    site.write_workflow("inner.yml", &inner);
    let mut runs = Vec::new();
    for number in 1..=count {
        let outer = format!(
            "name: CI\non: push\njobs:\n  build:\n    runs-on: x\n    steps: [{{run: build {number}}}]\n  call: {{needs: build, uses: ./.github/workflows/inner.yml}}\n"
        );
        let sha = site.commit(&outer);
        let run = runner.start_event(site.push(REPOSITORY, "main", &sha));
        let run = run.await;
        let waits_or_runs = |record: &RunRecord| match number {
            1 => {
                let mut called = record.jobs.iter().filter(|job| job.name == "call / a");
                called.any(|job| !job.steps.is_empty())
            }
            _ => record.state == RunState::Waiting,
        };
        runner.reached(&run, waits_or_runs).await;
        runs.push(run);
    }
    runs
}

/// Runs whose called workflow waited for its group held places of those under way.
#[actix_rt::test]
async fn i17_a_run_whose_call_waits_for_its_group_is_none_under_way() {
    let (site, hangs) = hanging_site();
    let runner = site.start().await;
    let runs = waiting_calls(&runner, &site, "{group: deploy, queue: max}", 4).await;
    let waits = "call waits for its turn: another of its concurrency group runs";
    only_the_first_is_under_way(&runner, &site, &runs, waits).await;
    hangs.store(false, Ordering::SeqCst);
    cancel(&runner, &runs[0]).await;
    let (third, fourth) = (runner.ended(&runs[2]).await, runner.ended(&runs[3]).await);
    assert_eq!(third.state, RunState::Succeeded, "{third:#?}");
    assert_eq!(fourth.state, RunState::Succeeded, "{fourth:#?}");
    let deployed =
        |record: &RunRecord| record.jobs.iter().find(|it| it.name == "call / a").cloned();
    let (first, next) = (deployed(&third).unwrap(), deployed(&fourth).unwrap());
    assert!(next.queued_at >= first.ended_at.unwrap(), "one at a time");
    let commands = site.vmm.commands();
    let built = commands.iter().filter(|one| one.script.contains("build"));
    assert_eq!(built.count(), 4, "what was done is not done again");
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_newer_call_takes_the_place_of_one_whose_run_waits() {
    let (site, hangs) = hanging_site();
    let runner = site.start().await;
    let runs = waiting_calls(&runner, &site, "deploy", 3).await;
    let second = runner.ended(&runs[1]).await;
    assert_eq!(second.state, RunState::Cancelled, "{second:#?}");
    hangs.store(false, Ordering::SeqCst);
    cancel(&runner, &runs[0]).await;
    let third = runner.ended(&runs[2]).await;
    assert_eq!(third.state, RunState::Succeeded, "{third:#?}");
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_calls_take_their_places_in_their_groups_again_after_a_restart() {
    let (site, hangs) = hanging_site();
    let runner = site.start().await;
    let runs = waiting_calls(&runner, &site, "{group: deploy, queue: max}", 3).await;
    runner.stop().await;
    hangs.store(false, Ordering::SeqCst);
    let runner = site.start().await;
    for run in &runs[1..] {
        let record = runner.ended(run).await;
        assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    }
    runner.stop().await;
}
