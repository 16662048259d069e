//! i18: several hosts of VMs: which one a job's VM is asked of, hosts that go away, and hosts that
//! are taken out of use.

use runner_actors::{JobEnd, MachineType, VmHostSettings};
use runner_core::state::{Conclusion, RunState};
use scripted_peers::{Misbehaviour, Play, ScriptedVmm};

use crate::harness::{Runner, Site, status, wait_until};

const WORKFLOW: &str =
    "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n";

/// A site whose VM manager is the host `default`, and another host, `east`, labelled `gpu`.
async fn start(site: &Site, east: &ScriptedVmm) -> Runner {
    let url = east.url();
    site.start_with(|settings| {
        settings.vm_hosts.push(VmHostSettings {
            name: "east".to_owned(),
            url: url.parse().unwrap(),
            token: None,
            labels: vec!["gpu".to_owned()],
        });
        let on_gpu = MachineType {
            host_labels: vec!["GPU".to_owned()],
            ..MachineType::default()
        };
        let on_arm = MachineType {
            host_labels: vec!["arm".to_owned()],
            ..MachineType::default()
        };
        settings.machines.push(("gpu".to_owned(), on_gpu));
        settings.machines.push(("arm".to_owned(), on_arm));
    })
    .await
}

/// Both hosts have said what is free there.
async fn known(runner: &Runner, default: u64, east: u64) {
    wait_until("the hosts are known", || {
        let hosts = runner.view.vm_hosts().list();
        let free = hosts.iter().map(|host| host.facts.as_ref()?.free_mem_mib);
        free.collect::<Vec<_>>() == [Some(default), Some(east)]
    })
    .await;
}

fn playing_slowly(command: &scripted_peers::Command) -> Play {
    if command.script.contains("slow") {
        Play::hang()
    } else {
        Play::exit(0)
    }
}

#[actix_rt::test]
async fn i18_a_job_goes_to_the_host_with_room_and_its_record_says_which() {
    let (site, east) = (Site::new(), ScriptedVmm::start(|_| Play::exit(0)));
    site.vmm.say_room(100, &["default"]);
    east.say_room(4096, &["default"]);
    let runner = start(&site, &east).await;
    known(&runner, 100, 4096).await;
    let run = runner.run(&site, WORKFLOW).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("east"));
    assert_eq!((site.vmm.ordered(), east.ordered()), (0, 1));
    let log = runner.log(&run).await;
    assert!(log.contains("(emulated-vm) on east"), "{log}");
    wait_until("its VM is given back there", || east.vms().is_empty()).await;
    runner.stop().await;
}

/// Four VMs of a processor each fill a host with the usual capacity, and leave half its memory.
#[actix_rt::test]
async fn i18_a_job_passes_a_host_whose_processors_are_taken() {
    let (site, east) = (Site::new(), ScriptedVmm::start(|_| Play::exit(0)));
    site.vmm.say_room(4096, &["default"]);
    site.vmm.say_processors(0);
    east.say_room(1024, &["default"]);
    east.say_processors(1);
    let runner = start(&site, &east).await;
    known(&runner, 4096, 1024).await;
    let shown = runner.view.vm_hosts().list()[0].to_string();
    assert!(shown.contains("0 of 8 processors free"), "{shown}");
    let run = runner.run(&site, WORKFLOW).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("east"));
    assert_eq!((site.vmm.ordered(), east.ordered()), (0, 1));
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_labels_and_images_decide_and_what_nobody_has_is_said_of_each_host() {
    let (site, east) = (Site::new(), ScriptedVmm::start(|_| Play::exit(0)));
    site.vmm.say_room(8192, &["default"]);
    east.say_room(1024, &["default"]);
    let runner = start(&site, &east).await;
    known(&runner, 8192, 1024).await;
    let run = runner
        .run(&site, &WORKFLOW.replace("runs-on: x", "runs-on: gpu"))
        .await;
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("east"));
    let run = runner
        .run(&site, &WORKFLOW.replace("runs-on: x", "runs-on: arm"))
        .await;
    let record = runner.ended(&run).await;
    let reason = record.jobs[0].reason.clone().unwrap();
    assert_eq!(
        reason,
        "no VM: default: it has no label arm; east: it has no label arm"
    );
    assert_eq!(record.jobs[0].end, JobEnd::Usual);
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_a_host_that_refuses_or_fails_does_not_stop_a_job_that_another_can_run() {
    let (site, east) = (Site::new(), ScriptedVmm::start(|_| Play::exit(0)));
    let runner = start(&site, &east).await;
    for failure in [409, 403, 422, 500, 503] {
        wait_until("the first host is asked first", || {
            runner.view.vm_hosts().list()[0].trouble.is_none()
        })
        .await;
        site.vmm.plan("POST /vms", Misbehaviour::Status(failure));
        let run = runner.run(&site, WORKFLOW).await;
        let record = runner.ended(&run).await;
        let host = record.jobs[0].vm_host.as_deref();
        assert_eq!(host, Some("east"), "{failure}: {record:#?}");
    }
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_a_host_that_vanishes_costs_its_jobs_and_never_a_status() {
    let site = Site::playing(playing_slowly);
    let east = ScriptedVmm::start(playing_slowly);
    site.vmm.say_room(0, &["default"]);
    east.say_room(4096, &["default"]);
    let runner = start(&site, &east).await;
    known(&runner, 0, 4096).await;
    let run = runner.run(&site, &WORKFLOW.replace("make", "slow")).await;
    let record = runner
        .reached(&run, |record| record.state == RunState::Running)
        .await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("east"));
    // Before that nothing has happened, and the job would run again.
    wait_until("its step runs", || east.commands().len() == 1).await;
    site.vmm.say_room(4096, &["default"]);
    drop(east);
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].end, JobEnd::Lost, "{record:#?}");
    status(&site, &record.sha, "CI / a (push)", "failure").await;
    wait_until("it is known", || {
        runner.view.vm_hosts().list()[1].trouble.is_some()
    })
    .await;
    assert_eq!(runner.view.vmm_trouble(), None, "the other gives VMs");
    let run = runner.run(&site, WORKFLOW).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].conclusion, Some(Conclusion::Success));
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("default"));
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_a_cordoned_host_gets_no_jobs_also_after_a_restart() {
    let (site, east) = (Site::new(), ScriptedVmm::start(|_| Play::exit(0)));
    site.vmm.say_room(8192, &["default"]);
    east.say_room(1024, &["default"]);
    let runner = start(&site, &east).await;
    let hosts = runner.view.vm_hosts().clone();
    hosts.cordon(0, "grace").await.unwrap();
    hosts.cordon(0, "somebody else").await.unwrap();
    assert_eq!(hosts.show(0).cordon.unwrap().by, "grace");
    let run = runner.run(&site, WORKFLOW).await;
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("east"));
    runner.stop().await;

    let runner = start(&site, &east).await;
    let hosts = runner.view.vm_hosts().clone();
    assert_eq!(hosts.show(0).cordon.unwrap().by, "grace");
    hosts.cordon(1, "grace").await.unwrap();
    let run = runner.run(&site, WORKFLOW).await;
    let begun = std::time::Instant::now();
    loop {
        let log = runner.log(&run).await;
        if log.contains("default: it is cordoned; east: it is cordoned") {
            break;
        }
        assert!(begun.elapsed() < crate::harness::TIMEOUT, "{log}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    hosts.uncordon(0, "grace").await.unwrap();
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("default"));
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_jobs_wait_for_room_on_any_host_and_are_spread() {
    let site = Site::playing(playing_slowly);
    let east = ScriptedVmm::start(playing_slowly);
    // Room for two VMs of 256 MiB each.
    site.vmm.say_room(512, &["default"]);
    east.say_room(512, &["default"]);
    let runner = start(&site, &east).await;
    known(&runner, 512, 512).await;
    let workflow = "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    strategy: {matrix: {n: [1, 2]}}\n    steps: [{run: slow}]\n";
    let run = runner.run(&site, workflow).await;
    let all = |record: &runner_actors::RunRecord| {
        record.jobs.len() == 2 && record.jobs.iter().all(|job| job.vm.is_some())
    };
    let record = runner.reached(&run, all).await;
    let mut hosts: Vec<_> = record.jobs.iter().map(|job| job.vm_host.clone()).collect();
    hosts.sort();
    assert_eq!(hosts, [Some("default".to_owned()), Some("east".to_owned())]);
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_a_vm_whose_answer_never_came_is_given_back_while_the_job_runs_elsewhere() {
    let site = Site::playing(playing_slowly);
    let east = ScriptedVmm::start(playing_slowly);
    let runner = start(&site, &east).await;
    let run = runner.run(&site, &WORKFLOW.replace("make", "slow")).await;
    let record = runner
        .reached(&run, |record| record.state == RunState::Running)
        .await;
    let on_east = record.jobs[0].vm_host.as_deref() == Some("east");
    let (used, other) = if on_east {
        (&east, &site.vmm)
    } else {
        (&site.vmm, &east)
    };
    other.add_vm("in-vain", &format!("run-{run}-1-0"));
    wait_until("the VM that nobody uses is given back", || {
        other.vms().is_empty()
    })
    .await;
    assert_eq!(used.vms().len(), 1);
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_a_host_that_says_nothing_holds_no_job_that_another_can_run() {
    let site = Site::new();
    site.vmm.say_room(0, &["default"]);
    // The system takes connections, and nobody answers on them: a host that is paused.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let runner = site
        .start_with(|settings| {
            settings.vm_hosts.push(VmHostSettings {
                name: "silent".to_owned(),
                url: url.parse().unwrap(),
                token: None,
                labels: Vec::new(),
            });
        })
        .await;
    wait_until("the host is found silent", || {
        runner.view.vm_hosts().list()[1].trouble.is_some()
    })
    .await;
    let run = runner.run(&site, WORKFLOW).await;
    let waiting = |log: &str| log.contains("no answer within");
    let begun = std::time::Instant::now();
    while !waiting(&runner.log(&run).await) {
        assert!(begun.elapsed() < crate::harness::TIMEOUT, "it is asked");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    site.vmm.say_room(4096, &["default"]);
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("default"));
    runner.stop().await;
}

#[actix_rt::test]
async fn i18_a_host_that_falls_silent_while_it_is_asked_for_a_vm_holds_no_job() {
    let (site, east) = (Site::new(), ScriptedVmm::start(|_| Play::exit(0)));
    site.vmm.say_room(4096, &["default"]);
    east.say_room(8192, &["default"]);
    let runner = start(&site, &east).await;
    known(&runner, 4096, 8192).await;
    east.plan("POST /vms", Misbehaviour::Hang);
    let run = runner.run(&site, WORKFLOW).await;
    wait_until("the host with more room is asked", || {
        let asked = |request: &scripted_peers::Recorded| {
            (request.method.as_str(), request.path.as_str()) == ("POST", "/vms")
        };
        east.requests().iter().any(asked)
    })
    .await;
    east.plan("GET /health", Misbehaviour::Hang);
    let record = runner.ended(&run).await;
    assert_eq!(record.jobs[0].vm_host.as_deref(), Some("default"));
    runner.stop().await;
}

/// It is asked three times, each time for half a minute.
#[actix_rt::test]
async fn i18_a_host_that_says_nothing_holds_up_no_garbage_collection() {
    let site = Site::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let runner = site
        .start_with(|settings| {
            let host = VmHostSettings {
                name: "silent".to_owned(),
                ..VmHostSettings::single(url.parse().unwrap(), None)
            };
            settings.vm_hosts.insert(0, host);
        })
        .await;
    wait_until("the host is found silent", || {
        runner.view.vm_hosts().list()[0].trouble.is_some()
    })
    .await;
    let begun = std::time::Instant::now();
    let run = runner.run(&site, WORKFLOW).await;
    let sha = runner.ended(&run).await.sha;
    status(&site, &sha, "CI / a (push)", "success").await;
    site.forge
        .remove_status(crate::harness::REPOSITORY, &sha, "CI / a (push)");
    site.vmm.add_vm("left", &format!("run-{run}-1-0"));
    wait_until("the left-over VM is given back", || {
        !site.vmm.vms().contains(&"left".to_owned())
    })
    .await;
    status(&site, &sha, "CI / a (push)", "success").await;
    // A round with the host in it would have taken a minute and a half.
    assert!(begun.elapsed() < std::time::Duration::from_secs(80));
    runner.stop().await;
}
