//! The garbage collector: VMs of ended jobs, statuses that the forge lost, old runs.

use runner_core::state::RunState;
use scripted_peers::{Misbehaviour, Play};

use crate::harness::{REPOSITORY, Site, entries, status, wait_until};

const WORKFLOW: &str =
    "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n";

#[actix_rt::test]
async fn vms_of_ended_jobs_are_given_back_and_others_stay() {
    let site = Site::playing(|command| {
        if command.script.contains("slow") {
            Play::hang()
        } else {
            Play::exit(0)
        }
    });
    let runner = site.start().await;
    let ended = runner.run(&site, WORKFLOW).await;
    runner.ended(&ended).await;
    let active = runner.run(&site, &WORKFLOW.replace("make", "slow")).await;
    let record = runner
        .reached(&active, |record| record.state == RunState::Running)
        .await;
    let own = record.jobs[0].vm.clone().unwrap();
    // As if the answers to requests had never arrived.
    site.vmm.add_vm("left", &format!("run-{ended}-1-0"));
    site.vmm.add_vm("later", &format!("run-{active}-1-7"));
    site.vmm.add_vm("foreign", "run-0190-1-0");
    site.vmm.add_vm("other", "build of somebody else");
    wait_until("the left-over VM is given back", || {
        !site.vmm.vms().contains(&"left".to_owned())
    })
    .await;
    let vms = site.vmm.vms();
    for kept in [own.as_str(), "later", "foreign", "other"] {
        assert!(vms.iter().any(|vm| vm == kept), "{kept}: {vms:?}");
    }
    wait_until("it is counted", || {
        runner.view.counters().vms_recovered() == 1
    })
    .await;
    runner.stop().await;
}

#[actix_rt::test]
async fn a_vm_that_could_not_be_given_back_is_asked_for_as_stuck() {
    let site = Site::new();
    // The client tries a few times by itself.
    for _ in 0..3 {
        site.vmm.plan("DELETE /vms/vm-1", Misbehaviour::Status(500));
    }
    let runner = site.start().await;
    let run = runner.run(&site, WORKFLOW).await;
    runner.ended(&run).await;
    wait_until("stuck VMs are released", || {
        let requests = site.vmm.requests();
        let stuck = requests.iter().filter(|one| one.path == "/vms/stuck");
        stuck.count() > 0
    })
    .await;
    wait_until("all VMs are back", || site.vmm.vms().is_empty()).await;
    runner.stop().await;
}

#[actix_rt::test]
async fn a_manager_that_cannot_be_asked_is_a_trouble_until_it_can() {
    let site = Site::new();
    for _ in 0..1000 {
        site.vmm.plan("GET /vms", Misbehaviour::Status(503));
    }
    let runner = site.start().await;
    wait_until("the trouble is known", || {
        runner.view.vmm_trouble().is_some()
    })
    .await;
    site.vmm.forget_plans();
    wait_until("the trouble is over", || {
        runner.view.vmm_trouble().is_none()
    })
    .await;
    runner.stop().await;
}

#[actix_rt::test]
async fn f14_a_status_that_somebody_removed_at_the_forge_is_posted_again() {
    let site = Site::new();
    let runner = site.start().await;
    let run = runner.run(&site, WORKFLOW).await;
    let sha = runner.ended(&run).await.sha;
    status(&site, &sha, "CI / a (push)", "success").await;
    site.forge.remove_status(REPOSITORY, &sha, "CI / a (push)");
    status(&site, &sha, "CI / a (push)", "success").await;
    runner.stop().await;
}

#[actix_rt::test]
async fn the_oldest_ended_runs_are_forgotten_with_their_logs() {
    let site = Site::new();
    let runner = site.start_with(|settings| settings.keep_runs = 2).await;
    let mut runs = Vec::new();
    for _ in 0..4 {
        let run = runner.run(&site, WORKFLOW).await;
        runner.ended(&run).await;
        runs.push(run);
    }
    wait_until("two logs are left", || {
        entries(&site.data().join("logs")) == 2
    })
    .await;
    assert!(runner.record(&runs[0]).await.is_none());
    assert!(runner.record(&runs[1]).await.is_none());
    assert!(runner.record(&runs[3]).await.is_some());
    runner.stop().await;
}
