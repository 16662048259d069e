//! i17: VMs of failed jobs that are kept: within a budget, until a deadline, never a stranger's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_clients::vmm::TerminalSize;
use runner_actors::{KeepSettings, VmHostSettings};
use runner_core::retention::{KeepLimits, SnapshotLimits};
use scripted_peers::{Misbehaviour, Play, ScriptedVmm};

use crate::harness::{REPOSITORY, Site, wait_until};

const WORKFLOW: &str =
    "on: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}, {run: 'fails'}]\n";
const MINUTE: u64 = 60_000;

/// Commands fail that say so.
fn site() -> Site {
    Site::playing(|command| {
        if command.script.contains("fails") {
            Play::exit(3)
        } else {
            Play::exit(0)
        }
    })
}

fn keep(vms: usize, now_ms: fn() -> u64) -> KeepSettings {
    KeepSettings {
        failed: true,
        limits: KeepLimits {
            vms,
            memory_mib: 4096,
        },
        time: Duration::from_millis(30 * MINUTE),
        now_ms,
        every: Duration::from_millis(20),
        ..KeepSettings::default()
    }
}

#[actix_rt::test]
async fn i17_a_kept_vm_is_given_back_at_its_deadline_and_not_before() {
    static NOW: AtomicU64 = AtomicU64::new(1_000_000 * MINUTE);
    let site = site();
    let runner = site
        .start_with(|settings| settings.keep = keep(2, || NOW.load(Ordering::SeqCst)))
        .await;
    let run = runner.run(&site, WORKFLOW).await;
    let record = runner.ended(&run).await;
    let vm = record.jobs[0].vm.clone().unwrap();
    let kept = runner.view.kept().list(Some(&run));
    assert_eq!((kept.len(), kept[0].vm.as_str()), (1, vm.as_str()));
    assert_eq!((kept[0].job.as_str(), kept[0].left_ms), ("a", 30 * MINUTE));
    let log = runner.log(&run).await;
    assert!(
        log.contains(&format!("its VM {vm} is kept for 30m")),
        "{log}"
    );

    NOW.fetch_add(30 * MINUTE - 1, Ordering::SeqCst);
    // Several looks of the watcher and of the garbage collector, which finds a VM of an ended job.
    let asked = || {
        let requests = site.vmm.requests();
        let lists = requests
            .iter()
            .filter(|one| one.path == "/vms" && one.method == "GET");
        lists.count()
    };
    let before = asked();
    wait_until("the garbage collector has looked", || asked() >= before + 2).await;
    assert_eq!(site.vmm.vms(), std::slice::from_ref(&vm));
    assert_eq!(runner.view.kept().list(None)[0].left_ms, 1);

    NOW.fetch_add(1, Ordering::SeqCst);
    wait_until("it is given back", || site.vmm.vms().is_empty()).await;
    assert!(runner.view.kept().list(None).is_empty());
    let log = runner.log(&run).await;
    assert!(log.contains("its time is over"), "{log}");
    runner.stop().await;
}

/// The other one has the name, and may have a VM of the same id.
#[actix_rt::test]
async fn i18_a_kept_vm_is_given_back_where_it_is_once_its_host_has_another_address() {
    let (site, moved) = (site(), ScriptedVmm::start(|_| Play::exit(0)));
    let runner = site
        .start_with(|settings| settings.keep = keep(1, || 1_000_000 * MINUTE))
        .await;
    let run = runner.run(&site, WORKFLOW).await;
    let record = runner.ended(&run).await;
    let (vm, host) = (record.jobs[0].vm.clone(), record.jobs[0].vm_host.clone());
    let vm = vm.unwrap();
    let elsewhere = VmHostSettings {
        name: host.unwrap(),
        ..VmHostSettings::single(moved.url().parse().unwrap(), None)
    };
    runner.view.vm_hosts().renew(&[elsewhere]).unwrap();
    moved.add_vm(&vm, "somebody");
    let kept = runner.view.kept();
    kept.release(&run, None, "ada").await.unwrap();
    wait_until("it is given back", || site.vmm.vms().is_empty()).await;
    assert_eq!(moved.vms(), [vm], "the other one is not asked");
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_the_budget_refuses_and_a_restart_gives_back() {
    let site = site();
    let now = || 1_000_000 * MINUTE;
    let runner = site
        .start_with(|settings| settings.keep = keep(1, now))
        .await;
    let first = runner.run(&site, WORKFLOW).await;
    runner.ended(&first).await;
    let second = runner
        .run(&site, &WORKFLOW.replace("make", "make two"))
        .await;
    runner.ended(&second).await;
    let kept = runner.view.kept().list(None);
    assert_eq!((kept.len(), kept[0].run.as_str()), (1, first.as_str()));
    let log = runner.log(&second).await;
    let why = "its VM is not kept: 1 VMs are kept already, as many as `keep.vms` allows";
    assert!(log.contains(why), "{log}");
    assert_eq!(site.vmm.vms().len(), 1, "the second was given back");

    // Nobody knows of it any more: it is left over.
    runner.stop().await;
    let runner = site
        .start_with(|settings| settings.keep = keep(1, now))
        .await;
    wait_until("it is given back", || site.vmm.vms().is_empty()).await;
    runner.stop().await;
}

#[actix_rt::test]
async fn i17_neither_a_strangers_vm_is_kept_nor_one_that_nobody_asked_for() {
    let site = site();
    let now = || 1_000_000 * MINUTE;
    let runner = site
        .start_with(|settings| settings.keep = keep(2, now))
        .await;
    let sha = site.commit(WORKFLOW);
    let mut event = site.push(REPOSITORY, "main", &sha);
    event.untrusted = true;
    event.before = Some(sha.clone());
    let run = runner.start_event(event).await;
    runner.ended(&run).await;
    let log = runner.log(&run).await;
    assert!(
        log.contains("a pull request from a fork that nobody has approved"),
        "{log}"
    );
    assert!(runner.view.kept().list(None).is_empty());
    wait_until("it is given back", || site.vmm.vms().is_empty()).await;
    runner.stop().await;

    let runner = site
        .start_with(|settings| {
            settings.keep = KeepSettings {
                failed: false,
                ..keep(2, now)
            };
        })
        .await;
    let run = runner.run(&site, WORKFLOW).await;
    runner.ended(&run).await;
    assert!(runner.view.kept().list(None).is_empty());
    assert!(!runner.log(&run).await.contains("kept"));
    // Run again with `keep`, it is.
    let again = runner_actors::messages::RepeatRun {
        run,
        failed_only: true,
        job: None,
        keep: true,
        snapshots: false,
        from_step: None,
    };
    let again = runner
        .coordinator
        .ask(again)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    runner.ended(&again).await;
    assert_eq!(runner.view.kept().list(Some(&again)).len(), 1);
    let released = runner.view.kept().release(&again, None, "ada").await;
    assert!(released.is_ok());
    assert!(runner.log(&again).await.contains("released by ada"));
    assert!(site.vmm.vms().is_empty());
    let gone = runner.view.kept().release(&again, None, "ada").await;
    let text = gone.unwrap_err().to_string();
    assert!(text.contains("no VM of the run"), "{text}");
    runner.stop().await;
}

const THREE_STEPS: &str = "on: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make one}, {run: make two}, {run: 'fails'}]\n";

/// Again, from a step on.
fn from_step(run: &str, step: u32) -> runner_actors::messages::RepeatRun {
    runner_actors::messages::RepeatRun {
        run: run.to_owned(),
        failed_only: false,
        job: None,
        keep: false,
        snapshots: false,
        from_step: Some(runner_actors::messages::FromStep { job: None, step }),
    }
}

/// Requests of the runner for something of snapshots, by the end of their path.
fn snapshot_requests(site: &Site, method: &str, ending: &str) -> usize {
    let requests = site.vmm.requests();
    let of_snapshots = requests.iter().filter(|one| {
        one.method == method && one.path.contains("/snapshots") && one.path.ends_with(ending)
    });
    of_snapshots.count()
}

#[actix_rt::test]
async fn i17_a_re_run_takes_the_kept_vm_over_and_nobody_collects_it_meanwhile() {
    let site = site();
    let keep = || KeepSettings {
        snapshots: true,
        snapshot_limits: SnapshotLimits {
            most: 2,
            bytes: 1 << 30,
        },
        ..keep(1, || 1_000_000 * MINUTE)
    };
    let runner = site.start_with(|settings| settings.keep = keep()).await;
    let run = runner.run(&site, THREE_STEPS).await;
    runner.ended(&run).await;
    let kept = runner.view.kept().list(None);
    let steps: Vec<u32> = kept[0].snapshots.iter().map(|it| it.step).collect();
    assert_eq!(steps, [2, 3], "the oldest was given up");
    assert_eq!(snapshot_requests(&site, "POST", "/snapshots"), 3);
    assert_eq!(snapshot_requests(&site, "DELETE", ""), 1);
    for (step, why) in [(1, "before the steps 2, 3"), (9, "before the steps 2, 3")] {
        let refused = runner.coordinator.ask(from_step(&run, step)).await;
        let refused = refused.unwrap().unwrap().unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }

    let before = site.vmm.commands().len();
    let again = runner.coordinator.ask(from_step(&run, 2)).await;
    let again = again.unwrap().unwrap().unwrap();
    let record = runner.ended(&again).await;
    let commands = site.vmm.commands();
    let scripts: Vec<&str> = commands[before..]
        .iter()
        .map(|it| it.script.trim())
        .collect();
    let done = |text: &str| scripts.iter().any(|script| script.contains(text));
    assert!(
        done("make two") && done("fails") && !done("make one"),
        "{scripts:?}"
    );
    assert_eq!(record.jobs[0].vm.as_deref(), Some(kept[0].vm.as_str()));
    assert_eq!(snapshot_requests(&site, "POST", "/restore"), 1);
    assert_eq!(record.jobs[0].steps[0].name, "Run make one");
    // What was later than the step is gone, and taken again; the VM is kept for the new run.
    let kept = runner.view.kept().list(None);
    assert_eq!(kept[0].run, again);
    let steps: Vec<u32> = kept[0].snapshots.iter().map(|it| it.step).collect();
    assert_eq!(steps, [2, 3]);
    let refused = runner.coordinator.ask(from_step(&run, 2)).await;
    let refused = refused.unwrap().unwrap().unwrap_err().to_string();
    assert!(refused.contains("no VM of the run"), "{refused}");

    // One that is gone is no reason not to run.
    site.vmm.plan(
        &format!("POST /vms/{}/snapshots", kept[0].vm),
        Misbehaviour::Status(404),
    );
    let third = runner.coordinator.ask(from_step(&again, 3)).await;
    let third = third.unwrap().unwrap().unwrap();
    let record = runner.ended(&third).await;
    assert_ne!(record.jobs[0].vm.as_deref(), Some(kept[0].vm.as_str()));
    let log = runner.log(&third).await;
    assert!(
        log.contains("cannot go on before step 3, and begins at its first step"),
        "{log}"
    );
    runner.stop().await;
}

/// A shell in the VM of the job of a run.
fn shell(run: &str, before_step: Option<u32>) -> runner_actors::ShellRequest {
    runner_actors::ShellRequest {
        run: run.to_owned(),
        job: None,
        before_step,
        size: TerminalSize::USUAL,
        by: "ada".to_owned(),
    }
}

/// How often something was asked of a VM.
fn asked(site: &Site, vm: &str, what: &str) -> usize {
    let path = format!("/vms/{vm}/{what}");
    let requests = site.vmm.requests();
    requests.iter().filter(|one| one.path == path).count()
}

#[actix_rt::test]
async fn i14_a_vm_that_hangs_holds_up_no_shell_in_another() {
    let site = site();
    let runner = site
        .start_with(|settings| settings.keep = keep(2, || 1_000_000 * MINUTE))
        .await;
    let first = runner.run(&site, WORKFLOW).await;
    runner.ended(&first).await;
    let second = runner
        .run(&site, &WORKFLOW.replace("make", "make two"))
        .await;
    runner.ended(&second).await;
    let kept = runner.view.kept().clone();
    let vm = |run: &str| kept.list(Some(run))[0].vm.clone();
    let (hanging, other) = (vm(&first), vm(&second));
    let resume = format!("POST /vms/{hanging}/resume");
    site.vmm.plan(&resume, Misbehaviour::Hang);
    let opening = {
        let (kept, first) = (kept.clone(), first.clone());
        actix_rt::spawn(async move { kept.open(shell(&first, None)).await.map(drop) })
    };
    wait_until("the first is asked to go on", || {
        asked(&site, &hanging, "resume") == 1
    })
    .await;
    // The scripted manager has no terminals: it is tried, and the VM stands still again.
    let pauses = asked(&site, &other, "pause");
    assert!(kept.open(shell(&second, None)).await.is_err());
    assert_eq!(asked(&site, &other, "resume"), 1);
    assert_eq!(asked(&site, &other, "pause"), pauses + 1);
    assert!(!opening.is_finished());
    opening.abort();
    runner.stop().await;
}

#[actix_rt::test]
async fn i14_whoever_leaves_while_a_shell_opens_leaves_no_vm_running() {
    let site = site();
    let runner = site
        .start_with(|settings| settings.keep = keep(1, || 1_000_000 * MINUTE))
        .await;
    let run = runner.run(&site, WORKFLOW).await;
    runner.ended(&run).await;
    let kept = runner.view.kept().clone();
    let vm = kept.list(None)[0].vm.clone();
    let pauses = asked(&site, &vm, "pause");
    // Asked again after a moment, in which the asker leaves.
    for _ in 0..2 {
        let resume = format!("POST /vms/{vm}/resume");
        site.vmm.plan(&resume, Misbehaviour::Status(500));
    }
    let opening = actix_rt::spawn(async move { kept.open(shell(&run, None)).await.map(drop) });
    wait_until("it is asked to go on", || asked(&site, &vm, "resume") > 0).await;
    opening.abort();
    wait_until("it stands still again", || {
        asked(&site, &vm, "pause") > pauses
    })
    .await;
    assert_eq!(runner.view.kept().list(None)[0].shells, 0);
    runner.stop().await;
}
