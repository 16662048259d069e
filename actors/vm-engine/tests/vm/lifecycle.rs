//! The lifecycle of VMs: templates and clones, ends that were wanted and ends that were not.

use std::time::{Duration, Instant};

use vm_core::{ExecEnd, FailureReason};
use vm_engine::qemu::Canary;
use vm_engine::{MachineError, MachineEvent, end_orphans};

use crate::support::{
    CollectedOutput, Lab, TEST_TIMEOUT, begin, clone_of, identity, run, script, warm_clone_of,
};

/// Clones are the same machine with a clock, randomness and a name of their own, and see nothing of
/// each other.
#[test]
fn r14_clones_share_nothing() {
    let lab = Lab::new();
    let template = lab.template();
    // One as it is made on demand, one as it waits in a pool.
    let clones = [
        clone_of(&template, "vm-a"),
        warm_clone_of(&template, "vm-b"),
    ];
    for clone in &clones {
        assert!(clone.is_paused());
        // Waiting in the pool for a while must not show in the clock.
        clone
            .wake(&identity(clone.id().as_str()), TEST_TIMEOUT)
            .unwrap();
        assert!(!clone.is_paused());
    }
    let told: Vec<String> = clones
        .iter()
        .map(|clone| run(&**clone, "hostname; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \\n'; echo; cat /proc/sys/kernel/random/uuid").stdout)
        .collect();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (a, b) = (lines(&told[0]), lines(&told[1]));
    assert_eq!((a[0].as_str(), b[0].as_str()), ("vm-a", "vm-b"));
    assert_ne!(a[1], b[1], "randomness");
    assert_ne!(a[2], b[2], "randomness");
    for clone in &clones {
        let guest: u64 = run(&**clone, "date +%s").stdout.trim().parse().unwrap();
        let host = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap()
            .as_secs();
        assert!(host.abs_diff(guest) < 60, "guest {guest}, host {host}");
    }
    run(&*clones[0], "echo secret > /workspace/file; sync");
    assert_eq!(run(&*clones[1], "ls /workspace").stdout, "");

    // A clone lives on when its template is dropped; its files go with the last of them.
    drop(template);
    assert_eq!(
        run(
            &*clones[1],
            "cat /etc/debian_version >/dev/null; git --version >/dev/null && echo fine"
        )
        .stdout,
        "fine\n"
    );
    let third = &clones[0];
    third.kill().unwrap();
    assert!(matches!(
        third.ping(TEST_TIMEOUT),
        Err(MachineError::Terminated(_))
    ));
    drop(clones);
    lab.assert_nothing_left();
}

/// A monitor that is killed from outside is noticed, told once, and what ran in it is lost.
#[test]
fn a_killed_monitor_is_noticed() {
    let lab = Lab::new();
    let (machine, events) = lab.start_telling("vm-killed");
    let running = begin(&*machine, script("echo here; sleep 1000"));
    assert!(matches!(
        running.news.recv_timeout(TEST_TIMEOUT).unwrap(),
        CollectedOutput::Output(..)
    ));
    let pid = i32::try_from(machine.process().pid).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();

    let MachineEvent::Terminated { reason, detail } = events.recv_timeout(TEST_TIMEOUT).unwrap();
    assert_eq!(reason, FailureReason::ProcessGone);
    assert!(detail.contains("signal: 9"), "{detail}");
    assert!(matches!(running.outcome().end, ExecEnd::Lost { .. }));
    assert!(matches!(
        machine.ping(TEST_TIMEOUT),
        Err(MachineError::Terminated(_))
    ));
    assert!(
        machine
            .exec(
                script("true"),
                Box::new(crate::support::Collect {
                    sender: std::sync::mpsc::channel().0,
                    flow: vm_engine::OutputFlow::Continue
                })
            )
            .is_err()
    );
    machine.kill().unwrap();
    assert!(events.try_recv().is_err(), "told once");
    lab.assert_nothing_left();
}

/// An end that was wanted is no event, and leaves nothing; nor does a reboot of the guest, which is
/// an end as well.
#[test]
fn ends_from_both_sides() {
    let lab = Lab::new();
    let (machine, events) = lab.start_telling("vm-wanted");
    let begun = Instant::now();
    machine.kill().unwrap();
    machine.kill().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30));
    drop(machine);
    lab.assert_nothing_left();
    assert!(events.try_recv().is_err());

    let (machine, events) = lab.start_telling("vm-reboot");
    let running = begin(
        &*machine,
        script(
            "echo b > /proc/sysrq-trigger; kill -9 -1; reboot -f; python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x01234567)'; sleep 1000",
        ),
    );
    let MachineEvent::Terminated { reason, .. } = events.recv_timeout(TEST_TIMEOUT).unwrap();
    assert_eq!(reason, FailureReason::ProcessGone);
    assert!(matches!(
        running.outcome().end,
        ExecEnd::Lost { .. } | ExecEnd::Signalled { .. } | ExecEnd::Exited { .. }
    ));
    drop(machine);
    lab.assert_nothing_left();
}

/// What a previous incarnation of the manager left is found and ended.
#[test]
fn leftovers_of_a_previous_incarnation_are_ended() {
    let lab = Lab::new();
    let machine = lab.start("vm-left");
    let record = machine.process();
    let folder = record.folder.clone();
    // As if the manager had been killed: nobody drops the machine.
    std::mem::forget(machine);
    let leftovers = end_orphans(lab.runtime()).unwrap();
    assert_eq!(leftovers.len(), 1);
    assert_eq!(
        (&leftovers[0].folder, leftovers[0].killed),
        (&folder, Some(record.pid))
    );
    lab.assert_nothing_left();
}

/// Opening the device proves nothing: only a VM that has booted does. The outcome holds until the
/// host boots again, and the canary leaves nothing.
#[test]
fn the_canary_decides_about_kvm() {
    let lab = Lab::new();
    let folder = tempfile::tempdir().unwrap();
    let mut canary = Canary::new(folder.path().join("kvm.json"));
    canary.device = folder.path().join("no-such-device");
    let none = canary.report(&lab.config, &lab.image);
    assert!(
        !none.device && !none.usable && none.reason.contains("does not exist"),
        "{none:?}"
    );

    canary.device = "/dev/kvm".into();
    let report = canary.report(&lab.config, &lab.image);
    assert_eq!(
        report.device,
        canary.device.exists(),
        "the former outcome was of another device"
    );
    assert!(
        !report.reason.is_empty() && (report.device || !report.usable),
        "{report:?}"
    );
    lab.assert_nothing_left();

    // What only kept it from being tried can be mended at any time, and is not remembered.
    let cache = folder.path().join("untried.json");
    let untried = Canary {
        cache: cache.clone(),
        ..canary.clone()
    };
    let mut config = lab.config.clone();
    config.program = "/no/such/qemu".into();
    assert!(!untried.report(&config, &lab.image).usable);
    assert!(!cache.exists());

    // The second time nothing is booted: a program that does not exist would be noticed.
    let mut report_again = report;
    report_again.reason = "read from the cache".to_owned();
    std::fs::write(&canary.cache, serde_json::to_vec(&report_again).unwrap()).unwrap();
    assert_eq!(canary.report(&lab.config, &lab.image), report_again);
    // Of another boot of the host it says nothing.
    report_again.boot_id = "another".to_owned();
    std::fs::write(&canary.cache, serde_json::to_vec(&report_again).unwrap()).unwrap();
    assert_ne!(
        canary.report(&lab.config, &lab.image).reason,
        "read from the cache"
    );
}
