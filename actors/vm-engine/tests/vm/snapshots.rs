//! i17: a VM goes back to a snapshot, memory and disk included.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use vm_core::SnapshotName;
use vm_engine::{Machine, MachineError};

use crate::support::{Lab, TEST_TIMEOUT, begin, clone_of, identity, run, script};

fn name(text: &str) -> SnapshotName {
    text.parse().unwrap()
}

fn take(vm: &dyn Machine, text: &str) -> u64 {
    let identity = identity(vm.id().as_str());
    vm.snapshot(&name(text), &identity, TEST_TIMEOUT).unwrap()
}

fn go_back(vm: &dyn Machine, text: &str) {
    let identity = identity(vm.id().as_str());
    vm.restore(&name(text), &identity, TEST_TIMEOUT).unwrap();
}

fn stdout_of(vm: &dyn Machine, text: &str) -> String {
    run(vm, text).stdout.trim().to_owned()
}

fn assert_on_time(vm: &dyn Machine) {
    let host = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let guest: u64 = stdout_of(vm, "date +%s").parse().unwrap();
    assert!(guest.abs_diff(host.as_secs()) <= 30, "{guest} and {host:?}");
}

#[test]
fn i17_a_clone_goes_back_to_its_snapshots_memory_and_disk() {
    let lab = Lab::new();
    let template = lab.template();
    let machine = clone_of(&template, "vm-back");
    let vm = &*machine;
    vm.wake(&identity("vm-back"), TEST_TIMEOUT).unwrap();
    // On the disk, in memory alone, and a process that goes on in the background.
    run(
        vm,
        "echo one >~/disk; echo one >/dev/shm/memory; (while :; do sleep 0.1; done) & ",
    );
    let loops = "grep -lx bash /proc/[0-9]*/comm 2>/dev/null | wc -l";
    let before: u64 = stdout_of(vm, loops).parse().unwrap();
    let bytes = take(vm, "one");
    assert!(bytes > 1 << 20, "memory was written: {bytes}");
    assert!(!vm.is_paused());
    run(vm, "echo two >~/disk; echo two >/dev/shm/memory; sync");
    take(vm, "two");
    run(
        vm,
        "rm ~/disk /dev/shm/memory; pkill -f 'sleep 0.1' || true; dd if=/dev/urandom of=~/large bs=1M count=8 2>/dev/null; sync",
    );

    go_back(vm, "one");
    assert_eq!(stdout_of(vm, "cat ~/disk /dev/shm/memory"), "one\none");
    assert_eq!(
        run(vm, "test -e ~/large").end,
        vm_core::ExecEnd::Exited { code: 1 }
    );
    let after: u64 = stdout_of(vm, loops).parse().unwrap();
    assert_eq!(after, before, "what ran in the background goes on");
    assert_on_time(vm);
    // Forwards as well as back, and more than once.
    go_back(vm, "two");
    assert_eq!(stdout_of(vm, "cat ~/disk /dev/shm/memory"), "two\ntwo");
    run(vm, "echo else >~/disk");
    go_back(vm, "two");
    assert_eq!(stdout_of(vm, "cat ~/disk"), "two");

    // From standing still too.
    vm.pause(TEST_TIMEOUT).unwrap();
    go_back(vm, "one");
    assert!(!vm.is_paused());
    assert_eq!(stdout_of(vm, "cat ~/disk"), "one");
    vm.delete_snapshot(&name("one"), TEST_TIMEOUT).unwrap();
    assert_eq!(
        stdout_of(vm, "cat ~/disk"),
        "one",
        "the disk stays as it is"
    );
    vm.kill().unwrap();
    drop(machine);
    drop(template);
    lab.assert_nothing_left();
}

#[test]
fn i17_there_is_no_snapshot_while_something_runs() {
    let lab = Lab::new();
    let machine = lab.start("vm-busy");
    let vm = &*machine;
    let running = begin(vm, script("echo begun; sleep 1000"));
    let identity = identity("vm-busy");
    let refused = vm
        .snapshot(&name("no"), &identity, TEST_TIMEOUT)
        .unwrap_err();
    assert!(matches!(refused, MachineError::InUse(_)), "{refused}");
    assert!(!vm.is_paused() && vm.ping(TEST_TIMEOUT).is_ok());
    vm.kill_exec(running.ticket, Duration::ZERO).unwrap();
    running.outcome();
    // One that was booted has them as well; what is not there cannot be gone back to.
    run(vm, "echo here >~/file");
    take(vm, "yes");
    run(vm, "rm ~/file");
    go_back(vm, "yes");
    assert_eq!(stdout_of(vm, "cat ~/file"), "here");
    assert!(vm.restore(&name("no"), &identity, TEST_TIMEOUT).is_err());
}
