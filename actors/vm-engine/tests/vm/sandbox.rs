//! The bubblewrap driver: a job in namespaces, told apart from a VM everywhere.

use std::sync::Arc;

use vm_core::{ExecEnd, Isolation};
use vm_engine::bubblewrap::BubblewrapDriver;
use vm_engine::image::{DiskFormat, Image};
use vm_engine::{Driver as _, StartRequest};

use crate::support::{Lab, TEST_TIMEOUT, agent, begin, identity, need, run, script};

#[test]
fn a_sandbox_runs_jobs_and_is_no_vm() {
    need("bwrap", "bubblewrap");
    let runtime = tempfile::tempdir().unwrap();
    let driver = BubblewrapDriver {
        program: "bwrap".into(),
        agent: agent(),
        runtime: runtime.path().to_path_buf(),
    };
    assert_eq!(driver.isolation(), Isolation::NamespaceSandbox);
    assert!(
        driver.isolation().satisfies(Isolation::default()).is_err(),
        "never taken for a VM"
    );
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
    machine.wake(&identity("vm-box"), TEST_TIMEOUT).unwrap();
    let secret = runtime.path().join("secret");
    std::fs::write(&secret, "host").unwrap();
    let outcome = run(
        &*machine,
        &format!(
            "set +e; hostname; pwd; cat {} /etc/shadow 2>/dev/null; ls /proc | grep -c '^[0-9]'",
            secret.display()
        ),
    );
    let lines: Vec<_> = outcome.stdout.lines().collect();
    assert_eq!(&lines[..2], ["vm-box", "/workspace"], "{outcome:?}");
    assert!(
        !outcome.stdout.contains("host") && !outcome.stdout.contains("root:"),
        "{outcome:?}"
    );
    assert!(
        lines.last().unwrap().parse::<u32>().unwrap() < 8,
        "only its own processes: {outcome:?}"
    );
    assert_eq!(
        run(&*machine, "echo x > /usr/x").end,
        ExecEnd::Exited { code: 1 }
    );
    let running = begin(&*machine, script("setsid sleep 1000 & sleep 1000"));
    let pid = machine.process().pid;
    machine.kill().unwrap();
    assert!(matches!(running.outcome().end, ExecEnd::Lost { .. }));
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    assert!(!runtime.path().join("vm-box").exists());
}
