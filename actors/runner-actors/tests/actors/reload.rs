//! i18: the list of VM hosts is another one while jobs run.

use runner_actors::{RunRecord, VmHostSettings};
use runner_core::state::{Conclusion, RunState};
use scripted_peers::{Play, ScriptedVmm};

use crate::harness::{Site, wait_until};

const WORKFLOW: &str =
    "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n";

fn playing_slowly(command: &scripted_peers::Command) -> Play {
    if command.script.contains("slow") {
        Play::hang()
    } else {
        Play::exit(0)
    }
}

#[actix_rt::test]
async fn i18_hosts_are_added_and_removed_and_jobs_run_to_their_ends() {
    let site = Site::playing(playing_slowly);
    let east = ScriptedVmm::start(playing_slowly);
    let runner = site.start().await;
    let hosts = runner.view.vm_hosts().clone();
    let slow = runner.run(&site, &WORKFLOW.replace("make", "slow")).await;
    let running = |record: &RunRecord| record.state == RunState::Running;
    let record = runner.reached(&slow, running).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("default"));
    let east_settings = VmHostSettings {
        name: "east".to_owned(),
        ..VmHostSettings::single(east.url().parse().unwrap(), None)
    };
    hosts.renew(std::slice::from_ref(&east_settings)).unwrap();
    let run = runner.run(&site, WORKFLOW).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("east"));
    wait_until("the new one is watched", || hosts.list()[0].facts.is_some()).await;
    // The garbage collector looks at the new one as well.
    east.add_vm("left", &format!("run-{run}-1-0"));
    wait_until("a left-over VM is given back", || east.vms().is_empty()).await;
    let shown = hosts.list();
    let shown: Vec<(&str, usize)> = shown
        .iter()
        .map(|host| (host.name.as_str(), host.jobs))
        .collect();
    assert_eq!(shown, [("east", 0), ("default", 1)]);
    let record = runner.reached(&slow, running).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("default"));
    site.vmm.end_hanging();
    let record = runner.ended(&slow).await;
    assert_eq!(record.jobs[0].conclusion, Some(Conclusion::Success));
    wait_until("its VM is given back", || site.vmm.vms().is_empty()).await;
    wait_until("the host is gone", || hosts.list().len() == 1).await;
    runner.stop().await;
}
