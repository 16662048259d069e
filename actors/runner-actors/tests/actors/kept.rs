//! i17: VMs of failed jobs that are kept: within a budget, until a deadline, never a stranger's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runner_actors::KeepSettings;
use runner_core::keep::KeepLimits;
use scripted_peers::Play;

use crate::harness::{REPOSITORY, Site, until};

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
    until("the garbage collector has looked", || asked() >= before + 2).await;
    assert_eq!(site.vmm.vms(), std::slice::from_ref(&vm));
    assert_eq!(runner.view.kept().list(None)[0].left_ms, 1);

    NOW.fetch_add(1, Ordering::SeqCst);
    until("it is given back", || site.vmm.vms().is_empty()).await;
    assert!(runner.view.kept().list(None).is_empty());
    let log = runner.log(&run).await;
    assert!(log.contains("its time is over"), "{log}");
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
    until("it is given back", || site.vmm.vms().is_empty()).await;
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
    until("it is given back", || site.vmm.vms().is_empty()).await;
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
        keep: true,
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
