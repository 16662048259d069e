//! The coordinator: runs are started in order, ended when asked, repeated, and forgotten.

use runner_actors::RunRecord;
use runner_actors::messages::{
    CancelRun, DispatchFailure, DispatchWorkflow, RepeatError, RepeatRun,
};
use runner_core::state::{Conclusion, RunState};
use scripted_peers::{Misbehaviour, Play};

use crate::harness::{REPOSITORY, Site, entries, job, status, wait_until};

const WORKFLOW: &str =
    "name: CI\non: push\njobs:\n  build:\n    runs-on: x\n    steps: [{run: make}]\n";

#[actix_rt::test]
async fn a_run_ends_with_a_record_a_status_and_nothing_left() {
    let site = Site::new();
    let runner = site.start().await;
    let run = runner.run(&site, WORKFLOW).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    assert_eq!((record.number, record.attempt), (1, 1));
    assert_eq!(record.jobs[0].conclusion, Some(Conclusion::Success));
    status(&site, &record.sha, "CI / build (push)", "success").await;
    wait_until("the checkout is removed", || {
        entries(&site.data().join("checkouts")) == 0
    })
    .await;
    wait_until("the VM is given back", || site.vmm.vms().is_empty()).await;
    assert_eq!(runner.view.runs_waiting(), 0);
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_step_is_cancelled_while_its_files_are_on_their_way() {
    let site = Site::playing(|_| Play::hang());
    let runner = site.start().await;
    for _ in 0..8 {
        let run = runner.run(&site, WORKFLOW).await;
        runner
            .reached(&run, |record| {
                record.jobs.iter().any(|job| !job.steps.is_empty())
            })
            .await;
        let cancel = CancelRun {
            run: run.clone(),
            reason: "ada".to_owned(),
        };
        assert!(runner.coordinator.ask(cancel).await.unwrap());
        assert_eq!(runner.ended(&run).await.state, RunState::Cancelled);
    }
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_run_that_waits_its_turn_waits_and_begins_with_its_turn() {
    let site = Site::playing(|_| Play::hang());
    let runner = site.start_with(|settings| settings.max_jobs = 1).await;
    let cancel = async |run: &str| {
        let cancel = CancelRun {
            run: run.to_owned(),
            reason: "ada".to_owned(),
        };
        assert!(runner.coordinator.ask(cancel).await.unwrap());
    };
    let first = runner.run(&site, WORKFLOW).await;
    let begun = |record: &RunRecord| record.jobs.iter().any(|job| !job.steps.is_empty());
    let record = runner.reached(&first, begun).await;
    assert!(!record.waits_for_turn() && record.started_at.is_some());
    let second = runner.run(&site, WORKFLOW).await;
    let record = runner
        .reached(&second, |record| {
            record.jobs.iter().any(|job| job.reason.is_some())
        })
        .await;
    assert!(record.waits_for_turn(), "{record:#?}");
    let shown = record.clone().for_display();
    assert_eq!(shown.state, RunState::Waiting);
    assert_eq!(shown.reason, record.jobs[0].reason);
    let reason = record.jobs[0].reason.as_deref().unwrap();
    assert_eq!(
        reason,
        "waits for its turn: of all jobs 1 run at once (`max_jobs`)"
    );
    cancel(&first).await;
    let former = runner.ended(&first).await;
    let record = runner.reached(&second, begun).await;
    assert_eq!(record.jobs[0].reason, None);
    assert!(!record.waits_for_turn());
    assert!(
        record.started_at >= former.jobs[0].started_at
            && record.started_at > Some(record.created_at),
        "{record:#?}"
    );
    cancel(&second).await;
    runner.ended(&second).await;
    runner.stop().await;
}

/// The runner of GitHub merges both results, and the later one of its list wins
/// (`TaskResultUtil.MergeTaskResults`).
#[actix_rt::test]
async fn i17_a_job_that_failed_and_was_cancelled_then_is_a_cancelled_one() {
    let site = Site::playing(|command| match command.script.as_str() {
        script if script.contains("break") => Play::exit(1),
        script if script.contains("hang") => Play::hang(),
        _ => Play::exit(0),
    });
    let runner = site.start().await;
    let text = "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: break\n      - {if: failure(), run: hang}\n      - {if: cancelled(), run: 'echo is ${{ job.status }}'}\n      - {if: failure(), run: echo not failed}\n      - {if: always(), run: 'echo still ${{ job.status }}'}\n  b: {needs: a, if: failure(), runs-on: x, steps: [{run: echo b}]}\n";
    let run = runner.run(&site, text).await;
    let has = |part: &str| {
        let commands = site.vmm.commands();
        commands.iter().any(|command| command.script.contains(part))
    };
    wait_until("the second step runs", || has("hang")).await;
    let cancel = CancelRun {
        run: run.clone(),
        reason: "ada".to_owned(),
    };
    assert!(runner.coordinator.ask(cancel).await.unwrap());
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Cancelled, "{record:#?}");
    let a = job(&record, "a");
    assert_eq!(a.conclusion, Some(Conclusion::Cancelled));
    assert!(has("is cancelled") && has("still cancelled"), "{a:#?}");
    assert!(!has("not failed") && !has("echo b"), "{a:#?}");
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_job_that_always_runs_goes_on_until_its_end_is_asked_for_again() {
    let site = Site::playing(|_| Play::hang());
    let runner = site.start().await;
    let text = "name: CI\non: push\njobs:\n  build: {runs-on: x, steps: [{run: make}]}\n  cleanup: {if: always(), runs-on: x, steps: [{run: destroy}]}\n";
    let run = runner.run(&site, text).await;
    wait_until("both run", || site.vmm.commands().len() == 2).await;
    let cancel = || CancelRun {
        run: run.clone(),
        reason: "ada".to_owned(),
    };
    assert!(runner.coordinator.ask(cancel()).await.unwrap());
    let build = |record: &RunRecord| job(record, "build").conclusion;
    let record = runner.reached(&run, |record| build(record).is_some()).await;
    assert_eq!(build(&record), Some(Conclusion::Cancelled));
    let cleanup = job(&record, "cleanup");
    assert_eq!((cleanup.conclusion, cleanup.steps[0].end), (None, None));
    assert!(runner.coordinator.ask(cancel()).await.unwrap());
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Cancelled, "{record:#?}");
    assert_eq!(
        job(&record, "cleanup").conclusion,
        Some(Conclusion::Cancelled)
    );
    runner.stop().await;
}

#[actix_rt::test]
async fn a_run_that_waits_for_its_machine_is_cancelled_when_asked() {
    let site = Site::new();
    site.vmm.plan("POST /vms", Misbehaviour::Hang);
    let runner = site.start().await;
    let run = runner.run(&site, WORKFLOW).await;
    wait_until("a VM is asked for", || {
        let requests = site.vmm.requests();
        let mut creations = requests.iter().filter(|request| request.method == "POST");
        creations.any(|request| request.path == "/vms")
    })
    .await;
    let cancel = |reason: &str| CancelRun {
        run: run.clone(),
        reason: reason.to_owned(),
    };
    assert!(runner.coordinator.ask(cancel("first")).await.unwrap());
    let record = runner.ended(&run).await;
    assert_eq!(
        (record.state, record.reason.as_deref()),
        (RunState::Cancelled, Some("first"))
    );
    status(&site, &record.sha, "CI / build (push)", "error").await;
    let mut told = true;
    while told {
        // Its actor may still be removing the checkout.
        told = runner.coordinator.ask(cancel("again")).await.unwrap();
    }
    assert_eq!(runner.ended(&run).await.reason.as_deref(), Some("first"));
    runner.stop().await;
}

#[actix_rt::test]
async fn only_an_ended_run_is_repeated_and_only_its_last_attempt() {
    let site = Site::playing(|command| {
        if command.script.contains("slow") {
            Play::hang()
        } else {
            Play::exit(0)
        }
    });
    let runner = site.start().await;
    let repeat = async |run: &str| {
        let run = run.to_owned();
        let repeated = runner
            .coordinator
            .ask(RepeatRun {
                run,
                failed_only: false,
                job: None,
                keep: false,
                snapshots: false,
                from_step: None,
            })
            .await;
        repeated.unwrap().unwrap()
    };
    assert_eq!(repeat("unknown").await, Err(RepeatError::Unknown));
    let slow = runner.run(&site, &WORKFLOW.replace("make", "slow")).await;
    assert_eq!(
        repeat(&slow).await,
        Err(RepeatError::Runs(slow.clone())),
        "it has not ended"
    );
    let first = runner.run(&site, WORKFLOW).await;
    runner.ended(&first).await;
    let second = repeat(&first).await.unwrap();
    let record = runner.ended(&second).await;
    assert_eq!((record.attempt, record.repeats.as_ref()), (2, Some(&first)));
    let third = repeat(&first).await.unwrap();
    let record = runner.ended(&third).await;
    assert_eq!(
        (record.attempt, record.repeats.as_ref()),
        (3, Some(&second)),
        "the newest attempt is repeated, whichever is named"
    );
    runner.stop().await;
}

#[actix_rt::test]
async fn a_dispatch_is_of_the_newest_commit_of_a_known_repository() {
    let site = Site::new();
    let runner = site.start().await;
    let dispatch = async |branch: Option<&str>| {
        let message = DispatchWorkflow {
            repository: REPOSITORY.to_owned(),
            branch: branch.map(str::to_owned),
            workflow: ".github/workflows/ci.yml".to_owned(),
            inputs: Vec::new(),
            actor: "ada".to_owned(),
            keep: false,
            snapshots: false,
        };
        runner.coordinator.ask(message).await.unwrap().unwrap()
    };
    assert_eq!(dispatch(None).await, Err(DispatchFailure::Repository));
    let workflow = WORKFLOW.replace("on: push", "on: [push, workflow_dispatch]");
    let pushed = runner.run(&site, &workflow).await;
    runner.ended(&pushed).await;
    assert_eq!(
        dispatch(Some("nowhere")).await,
        Err(DispatchFailure::Branch)
    );
    let newest = site.commit(&workflow);
    let run = dispatch(None).await.unwrap();
    let record = runner.ended(&run).await;
    assert_eq!(
        (record.state, record.sha, record.actor.as_str()),
        (RunState::Succeeded, newest, "ada"),
        "it was not pushed"
    );
    runner.stop().await;
}

#[actix_rt::test]
async fn an_event_that_starts_nothing_is_remembered_apart_from_runs() {
    let site = Site::new();
    let runner = site.start().await;
    let run = runner
        .run(&site, &WORKFLOW.replace("on: push", "on: pull_request"))
        .await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Ignored, "{record:#?}");
    let ignored = runner.view.ignored(None, 10).await.unwrap();
    assert_eq!(ignored.len(), 1);
    assert!(runner.view.runs(None, 10).await.unwrap().is_empty());
    runner.stop().await;
}
