//! Called workflows: with a matrix their jobs run, are named and kept in the record; one call of a
//! concurrency group at a time; approvals of their jobs.

use std::sync::atomic::Ordering;

use futures_util::future::select_all;
use runner_actors::messages::{CancelRun, ReviewRun};
use runner_actors::{
    EnvironmentSettings, RepositorySettings, RunRecord, RunnerSettings, ScopedValues,
};
use runner_core::protection::{ProtectionRules, ProtectionVerdict};
use runner_core::state::{Conclusion, RunState};
use scripted_peers::Play;

use crate::concurrency::hanging_site;
use crate::harness::{REPOSITORY, Runner, Site, job, status};

const INNER: &str = "on: {workflow_call: {inputs: {os: {type: string, required: true}}}}
concurrency: deploy-${{ inputs.os == 'c' && 'c' || 'both' }}
jobs: {test: {runs-on: x, steps: [{run: 'test ${{ inputs.os }}'}]}}
";
const OUTER: &str = "name: CI
on: push
jobs:
  list:
    runs-on: x
    outputs: {all: '${{ steps.s.outputs.all }}'}
    steps: [{id: s, run: list}]
  call:
    needs: list
    strategy: {fail-fast: false, max-parallel: 2, matrix: {os: '${{ fromJSON(needs.list.outputs.all) }}'}}
    uses: ./.github/workflows/inner.yml
    with: {os: '${{ matrix.os }}'}
";

#[actix_rt::test]
async fn i17_a_called_matrix_of_outputs_runs_names_its_jobs_and_keeps_to_its_groups() {
    let site = Site::playing(|command| {
        if command.script.contains("list") {
            Play::exit(0).out("::set-output name=all::[\"a\",\"b\",\"c\"]\n")
        } else {
            Play::exit(i32::from(command.script.contains("test b")))
        }
    });
    let runner = site.start().await;
    site.write_workflow("inner.yml", INNER);
    let run = runner.run(&site, OUTER).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Failed, "{record:#?}");
    for (name, conclusion, state) in [
        ("call (a) / test", Conclusion::Success, "success"),
        ("call (b) / test", Conclusion::Failure, "failure"),
        ("call (c) / test", Conclusion::Success, "success"),
    ] {
        assert_eq!(job(&record, name).conclusion, Some(conclusion), "{name}");
        status(&site, &record.sha, &format!("CI / {name} (push)"), state).await;
    }
    // Both `a` and `b` are of one group.
    let (a, b) = (
        job(&record, "call (a) / test"),
        job(&record, "call (b) / test"),
    );
    assert!(b.queued_at >= a.ended_at.unwrap(), "{record:#?}");
    assert_eq!(record.job_order.len(), 2 + 3);
    runner.stop().await;
}

/// Jobs of `production` wait until somebody approves.
fn with_approval(settings: &mut RunnerSettings) {
    let production = EnvironmentSettings {
        values: ScopedValues::default(),
        rules: ProtectionRules {
            approval: true,
            ..ProtectionRules::default()
        },
    };
    let repository = RepositorySettings {
        environments: vec![("production".to_owned(), production)],
        ..RepositorySettings::default()
    };
    settings.scopes.repositories = vec![(REPOSITORY.to_owned(), repository)];
}

async fn review(runner: &Runner, run: &str, verdict: ProtectionVerdict) {
    let review = ReviewRun {
        run: run.to_owned(),
        environments: Vec::new(),
        verdict,
        by: Some("grace".to_owned()),
        comment: None,
    };
    let reviewed = runner.coordinator.ask(review).await.unwrap().unwrap();
    assert_eq!(reviewed, Ok(vec!["production".to_owned()]));
}

/// The run waits, and says so.
async fn waits_for(runner: &Runner, run: &str, reason: &str) -> RunRecord {
    let waits = |record: &RunRecord| {
        record.state == RunState::Waiting && record.reason.as_deref() == Some(reason)
    };
    runner.reached(run, waits).await
}

const APPROVAL: &str = "waits for an approval of the environment production";
const TURN: &str = "call waits for its turn: another of its concurrency group runs";

/// A job in a called workflow waits for somebody: its run has no actor, and keeps the group of the
/// call, over a restart as well.
#[actix_rt::test]
async fn i17_a_job_of_a_called_workflow_is_approved_and_its_call_keeps_its_group() {
    let site = Site::new();
    let inner = "on: workflow_call\nconcurrency: {group: deploy, queue: max}\njobs:\n  ship:\n    runs-on: x\n    environment: production\n    steps: [{run: ship it}]\n";
    site.write_workflow("inner.yml", inner);
    let outer = "name: CI\non: push\njobs:\n  build: {runs-on: x, steps: [{run: build}]}\n  call: {needs: build, uses: ./.github/workflows/inner.yml}\n";
    let runner = site.start_with(with_approval).await;
    let mut runs = Vec::new();
    for waits in [APPROVAL, TURN, TURN] {
        let run = runner.run(&site, outer).await;
        let parked = waits_for(&runner, &run, waits).await.taken_up_at_wait;
        runs.push((run, parked));
    }
    runner.stop().await;
    let runner = site.start_with(with_approval).await;
    // What a record says is of the time before, until its run waits anew: being taken up counts as
    // one, waiting as the next.
    for (run, parked) in &runs {
        let waits_anew = |record: &RunRecord| record.taken_up_at_wait > *parked + 1;
        runner.reached(run, waits_anew).await;
    }
    let mut runs: Vec<String> = runs.into_iter().map(|(run, _)| run).collect();
    for (verdict, state) in [
        (ProtectionVerdict::Approved, RunState::Succeeded),
        (ProtectionVerdict::Rejected, RunState::Failed),
        (ProtectionVerdict::Approved, RunState::Succeeded),
    ] {
        // After a restart runs take their places again in the order in which they come to it.
        let waiting = runs
            .iter()
            .map(|run| Box::pin(waits_for(&runner, run, APPROVAL)));
        let (_, first, _) = select_all(waiting).await;
        let run = runs.remove(first);
        for other in &runs {
            waits_for(&runner, other, TURN).await;
        }
        review(&runner, &run, verdict).await;
        let record = runner.ended(&run).await;
        assert_eq!(record.state, state, "{record:#?}");
        let ship = job(&record, "call / ship");
        assert_eq!(
            ship.conclusion.is_some_and(|it| it == Conclusion::Success),
            verdict == ProtectionVerdict::Approved
        );
    }
    let commands = site.vmm.commands();
    let of = |script: &str| {
        let scripts = commands.iter().map(|one| &one.script);
        scripts.filter(|one| one.contains(script)).count()
    };
    assert_eq!((of("build"), of("ship it")), (3, 2));
    runner.stop().await;
}

/// After a restart of the process a call that had ended asked for its group once more, and its run
/// waited for whoever had it.
#[actix_rt::test]
async fn i17_a_call_that_ended_does_not_ask_for_its_group_after_a_restart() {
    let (site, hangs) = hanging_site();
    hangs.store(false, Ordering::SeqCst);
    let inner =
        "on: workflow_call\nconcurrency: deploy\njobs: {a: {runs-on: x, steps: [{run: deploy}]}}\n";
    site.write_workflow("inner.yml", inner);
    let outer = "name: CI\non: push\njobs:\n  call: {uses: ./.github/workflows/inner.yml}\n  ship: {needs: call, runs-on: x, environment: production, steps: [{run: ship it}]}\n";
    let runner = site.start_with(with_approval).await;
    let first = runner.run(&site, outer).await;
    waits_for(&runner, &first, APPROVAL).await;
    runner.stop().await;

    hangs.store(true, Ordering::SeqCst);
    let runner = site.start_with(with_approval).await;
    let second = runner.run(&site, outer).await;
    let deploys = |record: &RunRecord| record.jobs.iter().any(|job| !job.steps.is_empty());
    runner.reached(&second, deploys).await;
    review(&runner, &first, ProtectionVerdict::Approved).await;
    let record = runner.ended(&first).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    let cancel = CancelRun {
        run: second.clone(),
        reason: "ada".to_owned(),
    };
    assert!(runner.coordinator.ask(cancel).await.unwrap());
    runner.ended(&second).await;
    runner.stop().await;
}
