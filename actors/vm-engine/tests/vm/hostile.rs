//! A job that is after the agent's way to the host: it finds neither the process nor the port, and
//! has not the rights to find another way. What ordinary jobs do still works.

use std::sync::Arc;

use vm_core::ExecEnd;
use vm_engine::bubblewrap::BubblewrapDriver;
use vm_engine::image::{DiskFormat, Image};
use vm_engine::{Driver as _, Machine, StartRequest};

use crate::support::{Lab, TEST_TIMEOUT, agent, identity, need, run};

/// Takes whatever can be taken of other processes, and says what that was.
const THIEF: &str = r"
import ctypes, os, glob
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    result = libc.syscall(*args)
    return result, ctypes.get_errno()
me = os.getpid()
for pid in sorted(int(name) for name in os.listdir('/proc') if name.isdigit()):
    if pid == me: continue
    fd, _ = call(434, pid, 0)                   # pidfd_open
    for number in range(128):
        got, _ = call(438, fd, number, 0)       # pidfd_getfd
        if got >= 0:
            name = os.readlink('/proc/self/fd/%d' % got)
            if 'vport' in name or 'socket' in name or 'vsock' in name: print('TAKEN', pid, number, name)
    try:
        if any(part in open('/proc/%d/cmdline' % pid).read() for part in ('orrery.vsock',)): print('AGENT', pid)
        os.listdir('/proc/%d/fd' % pid)
        for number in os.listdir('/proc/%d/fd' % pid):
            name = os.readlink('/proc/%d/fd/%s' % (pid, number))
            if 'vport' in name: print('SEEN', pid, name)
    except OSError: pass
if libc.ptrace(16, 1, 0, 0) == 0: print('TRACED 1')
try:
    open('/proc/1/mem', 'rb').read(1); print('READ 1')
except OSError: pass
print('NODES', glob.glob('/dev/vport*') + glob.glob('/dev/mem') + glob.glob('/dev/port'))
";

fn stolen(machine: &dyn Machine) -> String {
    let outcome = run(machine, &format!("python3 - <<'THIEF'\n{THIEF}\nTHIEF"));
    assert_eq!(outcome.end, ExecEnd::Exited { code: 0 }, "{outcome:?}");
    outcome.stdout
}

#[test]
fn t5_a_job_cannot_reach_the_agent_of_its_vm() {
    let lab = Lab::new();
    let machine = lab.start("vm-thief");
    let vm = &*machine;
    assert_eq!(stolen(vm), "NODES []\n");

    // Ways round it: each is refused, and says so by failing.
    for way in [
        // A node of its own for the port, or for memory.
        "IFS=: read major minor < /sys/class/virtio-ports/vport*/dev; mknod /workspace/port c $major $minor",
        "mknod /workspace/mem c 1 1",
        // The devices' file system again.
        "mkdir -p /workspace/dev && mount -t devtmpfs dev /workspace/dev",
        // Taking the port from its driver, to give it back later.
        "echo virtio0 > /sys/bus/virtio/drivers/virtio_console/unbind",
        "mount -o remount,rw /sys",
        "mount -t sysfs sys /workspace",
        // Leaving the control group that kills it.
        "echo $$ > /sys/fs/cgroup/cgroup.procs",
        // Into the namespaces of the agent.
        "nsenter --target 1 --mount --pid true",
        "python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).reboot(0x01234567) != 0)'",
    ] {
        let outcome = run(vm, way);
        assert!(
            matches!(outcome.end, ExecEnd::Exited { code } if code != 0),
            "{way}: {outcome:?}"
        );
    }
    // A program that the kernel starts for a crash has no more rights than the job.
    let crash = run(
        vm,
        "cat > /workspace/h <<'H'\n#!/bin/sh\ngrep CapEff /proc/self/status > /workspace/caps\nH\nchmod +x /workspace/h\n\
         echo '|/workspace/h' > /proc/sys/kernel/core_pattern || exit 0\n\
         (ulimit -c unlimited; sh -c 'kill -SEGV $$') || true\n\
         for i in $(seq 100); do [ -s /workspace/caps ] && break; sleep 0.1; done; cat /workspace/caps 2>/dev/null || true",
    );
    assert!(
        crash.stdout.is_empty() || crash.stdout.contains("CapEff:\t0000000000000000"),
        "{crash:?}"
    );

    // What jobs do.
    let work = run(
        vm,
        "set -x; id -u; touch f && chown 1234:5678 f && chmod 4755 f && stat -c %u:%g f\n\
         dpkg --version >/dev/null && chroot / true\n\
         python3 -c 'import os; os.setgid(65534); os.setuid(65534); print(os.getuid())'\n\
         unshare -Urm sh -c 'mount -t tmpfs none /mnt && echo mounted'\n\
         (sleep 300 & echo $! > /workspace/pid); kill -0 $(cat /workspace/pid)\n\
         echo x > /dev/null; head -c 1 /dev/urandom >/dev/null; test -e /dev/pts/ptmx",
    );
    assert_eq!(work.end, ExecEnd::Exited { code: 0 }, "{work:?}");
    assert_eq!(work.stdout, "0\n1234:5678\n65534\nmounted\n", "{work:?}");
    // What a step left running is there for the next, and orphans are waited for.
    let next = run(
        vm,
        "kill $(cat /workspace/pid); sleep 1; ! grep -l 'State:.Z' /proc/[0-9]*/status",
    );
    assert_eq!(next.end, ExecEnd::Exited { code: 0 }, "{next:?}");
    vm.ping(TEST_TIMEOUT).unwrap();
    machine.kill().unwrap();
    lab.assert_nothing_left();
}

#[test]
fn t5_a_job_in_a_sandbox_cannot_reach_its_agent_either() {
    need("bwrap", "bubblewrap");
    let runtime = tempfile::tempdir().unwrap();
    let driver = BubblewrapDriver {
        program: "bwrap".into(),
        agent: agent(),
        runtime: runtime.path().to_path_buf(),
    };
    let image = Image {
        digest: String::new(),
        disk: "/none".into(),
        format: DiskFormat::Raw,
        virtual_bytes: 0,
    };
    let request = StartRequest {
        id: "vm-box".parse().unwrap(),
        spec: Lab::spec(),
        image: Arc::new(image),
        identity: identity("vm-box"),
        boot_deadline: TEST_TIMEOUT,
        on_event: Box::new(|_| {}),
    };
    let machine = driver
        .start(request)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(stolen(&*machine), "NODES []\n");
}
