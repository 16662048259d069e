//! Jobs that are lost and run again by themselves.

use std::sync::atomic::{AtomicUsize, Ordering};

use runner_actors::JobEnd;
use runner_actors::messages::CancelRun;
use runner_core::state::{Conclusion, RunState, StepEnd};
use scripted_peers::Play;

use crate::harness::{REPOSITORY, Runner, Site, job, status, wait_until};

const RERUN_ONCE: &str = "name: CI\non: push\nenv: {ORRERY_RERUN_LOST: 5}\njobs:\n  a:\n    runs-on: x\n    env: {ORRERY_RERUN_LOST: \"${{ 1 }}\"}\n    steps: [{run: first}, {run: second}]\n  b:\n    needs: a\n    runs-on: x\n    steps: [{run: third}]\n";
const PLAIN: &str =
    "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: first}, {run: second}]\n";

/// `second` hangs so many times, then it ends.
fn hanging(times: usize) -> impl Fn(&scripted_peers::Command) -> Play + Send + Sync + 'static {
    let hung = AtomicUsize::new(0);
    move |command| {
        let hangs = command.script.contains("second");
        if hangs && hung.fetch_add(1, Ordering::Relaxed) < times {
            Play::hang().out("second began\n")
        } else {
            Play::exit(0)
        }
    }
}

/// Waits until `second` has begun for the n-th time, and its run knows of it; gives the VM.
async fn at_second(site: &Site, runner: &Runner, run: &str, times: usize) -> String {
    wait_until("the second step has begun", || {
        let commands = site.vmm.commands();
        let seconds = commands.iter().filter(|it| it.script.contains("second"));
        seconds.count() == times
    })
    .await;
    let record = runner
        .reached(run, |record| {
            let job = record.jobs.first();
            job.is_some_and(|job| job.steps.len() == 2 && job.lost.len() + 1 == times)
        })
        .await;
    record.jobs[0].vm.clone().unwrap()
}

#[actix_rt::test]
async fn i17_a_job_whose_vm_goes_away_runs_again_in_another_and_succeeds() {
    let site = Site::playing(hanging(1));
    let runner = site.start().await;
    let run = runner.run(&site, RERUN_ONCE).await;
    let first = at_second(&site, &runner, &run, 1).await;
    site.vmm.remove_vm(&first);
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    let again = job(&record, "a");
    assert_eq!(again.conclusion, Some(Conclusion::Success));
    assert_eq!(again.end, JobEnd::Usual);
    let ends: Vec<_> = again.steps.iter().map(|step| step.end).collect();
    assert_eq!(ends, [Some(StepEnd::Exited(0)); 2], "of the last attempt");
    let [lost] = again.lost.as_slice() else {
        panic!("{again:#?}");
    };
    assert_eq!(lost.vm.as_deref(), Some(first.as_str()));
    assert_eq!(lost.step.as_deref(), Some("Run second"));
    // By the answer to the command, or by the next question.
    let says = ["not known", "does not know it"];
    assert!(
        says.iter().any(|part| lost.reason.contains(part)),
        "{lost:?}"
    );
    assert_ne!(again.vm.as_deref(), Some(first.as_str()));
    assert_eq!(job(&record, "b").conclusion, Some(Conclusion::Success));
    let said = status(&site, &record.sha, "CI / a (push)", "success").await;
    assert!(said.starts_with("successful"), "{said}");
    let log = runner.log(&run).await;
    assert!(
        log.contains("attempt 2 of 2, the one before was lost"),
        "{log}"
    );
    wait_until("all VMs are back", || site.vmm.vms().is_empty()).await;
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_job_that_is_lost_more_often_than_it_may_is_lost() {
    let site = Site::playing(hanging(9));
    let runner = site.start().await;
    let run = runner.run(&site, RERUN_ONCE).await;
    let first = at_second(&site, &runner, &run, 1).await;
    site.vmm.remove_vm(&first);
    let second = at_second(&site, &runner, &run, 2).await;
    // Meanwhile the status waits, and says why.
    let sha = runner.record(&run).await.unwrap().sha;
    wait_until("the status says so", || {
        let said = site.forge.status(REPOSITORY, &sha, "CI / a (push)");
        said.is_some_and(|it| it.state == "pending" && it.description.contains("attempt 2 of 2"))
    })
    .await;
    site.vmm.remove_vm(&second);
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Lost, "{record:#?}");
    let lost = job(&record, "a");
    assert_eq!((lost.end, lost.lost.len()), (JobEnd::Lost, 1));
    assert_eq!(job(&record, "b").conclusion, Some(Conclusion::Skipped));
    status(&site, &sha, "CI / a (push)", "failure").await;
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_without_a_rule_a_job_that_had_begun_is_lost_at_once() {
    let site = Site::playing(hanging(9));
    let runner = site.start().await;
    let run = runner.run(&site, PLAIN).await;
    let first = at_second(&site, &runner, &run, 1).await;
    site.vmm.remove_vm(&first);
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Lost, "{record:#?}");
    assert_eq!(record.jobs[0].lost, []);
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_attempts_are_counted_over_restarts_of_the_runner() {
    let site = Site::playing(hanging(9));
    let start = async || site.start_with(|settings| settings.rerun_lost = 2).await;
    let mut runner = start().await;
    let run = runner.run(&site, PLAIN).await;
    for times in 1..=3 {
        at_second(&site, &runner, &run, times).await;
        runner.stop().await;
        runner = start().await;
    }
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Lost, "{record:#?}");
    let reasons = record.jobs[0].lost.iter().map(|lost| lost.reason.as_str());
    let restarted = "the runner was restarted while it ran";
    assert_eq!(reasons.collect::<Vec<_>>(), [restarted; 2]);
    status(&site, &record.sha, "CI / a (push)", "failure").await;
    wait_until("all VMs are back", || site.vmm.vms().is_empty()).await;
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_job_under_way_when_the_runner_ends_runs_again_and_succeeds() {
    let site = Site::playing(hanging(1));
    let runner = site.start().await;
    let run = runner.run(&site, RERUN_ONCE).await;
    at_second(&site, &runner, &run, 1).await;
    runner.stop().await;
    let runner = site.start().await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    assert_eq!(job(&record, "a").lost.len(), 1);
    status(&site, &record.sha, "CI / a (push)", "success").await;
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_a_cancelled_run_stays_cancelled_over_a_restart() {
    let site = Site::playing(hanging(9));
    let runner = site.start_with(|settings| settings.rerun_lost = 2).await;
    let steps = PLAIN.replace(
        "{run: second}",
        "{run: second}, {if: always(), run: second}",
    );
    let run = runner.run(&site, &steps).await;
    at_second(&site, &runner, &run, 1).await;
    let cancel = CancelRun {
        run: run.clone(),
        reason: "ada".to_owned(),
    };
    assert!(runner.coordinator.ask(cancel).await.unwrap());
    wait_until("its last step has begun", || site.vmm.commands().len() == 3).await;
    runner.stop().await;
    let runner = site.start_with(|settings| settings.rerun_lost = 2).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.state, RunState::Cancelled, "{record:#?}");
    assert_eq!(site.vmm.commands().len(), 3);
    status(&site, &record.sha, "CI / a (push)", "error").await;
    runner.stop().await;
}
