//! i18: a hand-over that waits for the jobs that have a machine, and begins no other.

use std::time::Duration;

use cluster_actors::replica::{DrainRefusal, RoleControl, RoleEvent};
use runner_actors::{DrainNow, DrainWhenIdle, HandOverNote};
use runner_core::state::{Conclusion, RunState};
use scripted_peers::Play;

use crate::harness::{Runner, Site, TIMEOUT, job, wait_until};

/// `b` follows `a`, which takes as long as it is told.
const TWO_JOBS: &str = "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: slow}]\n  b:\n    needs: a\n    runs-on: x\n    steps: [{run: make}]\n";

fn playing_slowly(command: &scripted_peers::Command) -> Play {
    match command.script.contains("slow") {
        true => Play::hang(),
        false => Play::exit(0),
    }
}

/// The role of a process that leads.
fn leader() -> RoleControl {
    let control = RoleControl::new("127.0.0.1:1");
    control.apply(RoleEvent::Took(1));
    control.apply(RoleEvent::TreeStarted);
    control
}

async fn drain(runner: &Runner, control: &RoleControl, hold: Duration) -> Result<(), DrainRefusal> {
    let control = control.clone();
    let request = DrainWhenIdle {
        control,
        hold,
        force: false,
    };
    runner.hand_over.ask(request).await.unwrap()
}

/// Whether the process was asked to hand over by now.
async fn is_drained(control: &RoleControl) -> bool {
    let at_once = tokio::time::timeout(Duration::ZERO, control.drain_asked());
    at_once.await.is_ok()
}

#[actix_rt::test]
async fn i18_a_hand_over_that_waits_begins_no_job_and_loses_none() {
    let site = Site::playing(playing_slowly);
    let (runner, control) = (site.start().await, leader());
    let first = runner.run(&site, TWO_JOBS).await;
    wait_until("its step runs", || site.vmm.commands().len() == 1).await;
    drain(&runner, &control, TIMEOUT * 2).await.unwrap();
    assert!(runner.view.job_admission().is_closed());
    // Another run is planned, and gets no machine.
    let second = runner.run(&site, TWO_JOBS).await;
    let waits = |record: &runner_actors::RunRecord| {
        let reason = record.jobs.first().and_then(|job| job.reason.as_deref());
        reason.is_some_and(|reason| reason.contains("runner that leads next"))
    };
    let record = runner.reached(&second, waits).await;
    assert_eq!(record.jobs[0].vm, None);
    assert_eq!(site.vmm.ordered(), 1);
    assert!(!is_drained(&control).await, "a job runs");
    site.vmm.end_hanging();
    let asked = tokio::time::timeout(TIMEOUT, control.drain_asked()).await;
    asked.expect("no job has a machine any more");
    let record = runner.record(&first).await.unwrap();
    let ended = job(&record, "a");
    assert_eq!(ended.conclusion, Some(Conclusion::Success), "it is stored");
    assert_eq!(site.vmm.ordered(), 1, "the job after it did not begin");
    runner.stop().await;

    // The next leader.
    let runner = site.start().await;
    wait_until("the job of the other run has a step", || {
        site.vmm.commands().len() == 3
    })
    .await;
    site.vmm.end_hanging();
    for run in [&first, &second] {
        let record = runner.ended(run).await;
        assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    }
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_jobs_begin_again_where_nobody_asks_for_the_hand_over_any_more() {
    let site = Site::playing(playing_slowly);
    let (runner, control) = (site.start().await, leader());
    let run = runner.run(&site, TWO_JOBS).await;
    wait_until("its step runs", || site.vmm.commands().len() == 1).await;
    drain(&runner, &control, TIMEOUT * 2).await.unwrap();
    let other = runner.run(&site, TWO_JOBS).await;
    let waits = |record: &runner_actors::RunRecord| {
        record.jobs.first().is_some_and(|job| job.reason.is_some())
    };
    runner.reached(&other, waits).await;
    // The last time that somebody asks.
    drain(&runner, &control, Duration::ZERO).await.unwrap();
    let begun = runner.reached(&other, |record| record.jobs[0].vm.is_some());
    assert_eq!(begun.await.jobs[0].reason, None);
    assert!(!is_drained(&control).await);
    wait_until("both run", || site.vmm.commands().len() == 2).await;
    site.vmm.end_hanging();
    for run in [&run, &other] {
        let record = runner.ended(run).await;
        assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    }
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_jobs_begin_again_where_nothing_is_handed_over() {
    let site = Site::playing(playing_slowly);
    let (runner, control) = (site.start().await, leader());
    let standby = RoleControl::new("127.0.0.1:2");
    let refused = drain(&runner, &standby, TIMEOUT).await;
    assert_eq!(refused, Err(DrainRefusal::NotLeading));
    assert!(!runner.view.job_admission().is_closed());
    let first = runner.run(&site, TWO_JOBS).await;
    wait_until("its step runs", || site.vmm.commands().len() == 1).await;
    drain(&runner, &control, TIMEOUT * 2).await.unwrap();
    // Somebody else has the store by the time that the job ends.
    control.apply(RoleEvent::StoreLost);
    site.vmm.end_hanging();
    let record = runner.ended(&first).await;
    assert_eq!(record.state, RunState::Succeeded, "{record:#?}");
    assert!(!is_drained(&control).await);
    assert!(!runner.view.job_admission().is_closed());
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_a_job_that_asks_for_a_machine_asks_no_more_when_its_runner_hands_over() {
    let site = Site::new();
    site.vmm.say_room(0, &["default"]);
    site.vmm
        .plan("POST /vms", scripted_peers::Misbehaviour::Hang);
    let (runner, control) = (site.start().await, leader());
    let run = runner.run(&site, TWO_JOBS).await;
    wait_until("it is asked", || {
        site.vmm
            .requests()
            .iter()
            .any(|it| it.method == "POST" && it.path == "/vms")
    })
    .await;
    drain(&runner, &control, TIMEOUT * 2).await.unwrap();
    let asked = tokio::time::timeout(TIMEOUT, control.drain_asked()).await;
    asked.expect("a job without a machine holds nobody up");
    let record = runner.record(&run).await.unwrap();
    assert_eq!(
        (record.jobs[0].vm.as_deref(), record.jobs[0].started_at),
        (None, None)
    );
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_the_next_leader_knows_whether_the_one_before_handed_over() {
    let site = Site::playing(playing_slowly);
    let (runner, control) = (site.start().await, leader());
    let noted = async |runner: &Runner| runner.view.hand_over_of(1).await.unwrap();
    assert_eq!(noted(&runner).await, None);
    runner.run(&site, TWO_JOBS).await;
    wait_until("its step runs", || site.vmm.commands().len() == 1).await;
    drain(&runner, &control, TIMEOUT * 2).await.unwrap();
    // Lost now, it did not hand over.
    assert_eq!(noted(&runner).await, Some(HandOverNote::Asked));
    // The time is over, and the job has a machine.
    let now = DrainNow {
        control: control.clone(),
        force: false,
    };
    assert_eq!(runner.hand_over.ask(now).await.unwrap(), Ok(1));
    assert!(is_drained(&control).await);
    site.vmm.end_hanging();
    wait_until("the job has ended", || {
        runner.view.job_admission().under_way() == 0
    })
    .await;
    runner.stop().await;
    let runner = site.start().await;
    let begun = HandOverNote::Leaving { jobs: 1 };
    assert_eq!(noted(&runner).await, Some(begun));
    // One that waits until none is under way says so before it is followed.
    let control = RoleControl::new("127.0.0.1:1");
    control.apply(RoleEvent::Took(2));
    control.apply(RoleEvent::TreeStarted);
    wait_until("the job after it runs to its end", || {
        site.vmm.commands().len() == 2
    })
    .await;
    drain(&runner, &control, TIMEOUT * 2).await.unwrap();
    let asked = tokio::time::timeout(TIMEOUT, control.drain_asked()).await;
    asked.expect("nothing is under way");
    let found = runner.view.hand_over_of(2).await.unwrap();
    assert_eq!(found, Some(HandOverNote::Leaving { jobs: 0 }));
    runner.stop().await;
}
