//! What runs in a VM: exit codes, output, limits, files.

use std::io::Write as _;
use std::time::{Duration, Instant};

use vm_core::guest::FailureKind;
use vm_core::{ExecEnd, ExecProgram, ExecSpec};
use vm_engine::{MachineError, OutputFlow};

use crate::support::{Collect, CollectedOutput, Lab, TEST_TIMEOUT, begin, run, script};

/// One VM for many small questions: booting is what takes time.
#[test]
fn jobs_in_one_vm() {
    let lab = Lab::new();
    let machine = lab.start("vm-jobs");
    let vm = &*machine;

    // Exit codes are what the program said.
    for code in [0, 1, 7, 255] {
        assert_eq!(
            run(vm, &format!("exit {code}")).end,
            ExecEnd::Exited { code }
        );
    }
    assert_eq!(run(vm, "kill -9 $$").end, ExecEnd::Signalled { signal: 9 });
    assert_eq!(
        run(vm, "false | true").end,
        ExecEnd::Exited { code: 1 },
        "pipefail"
    );

    // Streams are apart; the environment is small; the folder is the workspace.
    let outcome = run(
        vm,
        "echo out; echo err >&2; pwd; hostname; id -u; echo ${SECRET-none}",
    );
    assert_eq!(outcome.stdout, "out\n/workspace\nvm-jobs\n0\nnone\n");
    assert_eq!(outcome.stderr, "err\n");

    // i17: as many open files as on GitHub's machines, and more for those who ask.
    let limits = run(vm, "ulimit -Sn; ulimit -Hn; ulimit -n 200000; ulimit -Sn");
    assert_eq!(limits.stdout, "65536\n1048576\n200000\n");

    // r03: what strangers write stays an argument.
    let hostile = "$(id >/pwned) `id` ; \" ' \n\\";
    let argv = ["printf", "%s", hostile].map(str::to_owned).to_vec();
    let spec = ExecSpec {
        program: ExecProgram::Argv(argv),
        ..script("")
    };
    assert_eq!(begin(vm, spec).outcome().stdout, hostile);
    assert_eq!(run(vm, "test ! -e /pwned").end, ExecEnd::Exited { code: 0 });

    // x2: what cannot start says why, and has no exit code.
    let missing = ExecSpec {
        program: ExecProgram::Argv(vec!["no-such-program".to_owned()]),
        ..script("")
    };
    let ExecEnd::NotStarted { reason } = begin(vm, missing).outcome().end else {
        panic!("it cannot have run")
    };
    assert!(reason.contains("no-such-program"), "{reason}");
    let nowhere = ExecSpec {
        cwd: "/nowhere".to_owned(),
        ..script("true")
    };
    let ExecEnd::NotStarted { reason } = begin(vm, nowhere).outcome().end else {
        panic!("it cannot have run")
    };
    assert!(reason.contains("/nowhere"), "{reason}");

    // x9: its own name resolves.
    let name = run(
        vm,
        "python3 -c 'import socket; print(socket.gethostbyname(socket.gethostname()))'",
    );
    assert_eq!(name.stdout, "127.0.1.1\n", "{name:?}");
    // x10: what is not there is not the beginning of a tar.
    let mut nothing = Vec::new();
    let missing = vm.get_tar("/workspace/not-there", &mut nothing, TEST_TIMEOUT);
    assert!(
        matches!(&missing, Err(MachineError::Guest(failure)) if failure.kind == FailureKind::NotFound),
        "{missing:?}"
    );
    assert!(nothing.is_empty(), "{} bytes", nothing.len());

    // Tools that were promised.
    let tools = run(
        vm,
        "git --version && python3 -c 'print(6*7)' && test -s /etc/ssl/certs/ca-certificates.crt",
    );
    assert_eq!(tools.end, ExecEnd::Exited { code: 0 }, "{tools:?}");
    assert!(tools.stdout.contains("42"));

    // No network but its own.
    assert_eq!(run(vm, "ls /sys/class/net").stdout, "lo\n");
    let local = "python3 - <<'P'\nimport socket\ns=socket.socket();s.bind(('127.0.0.1',0));s.listen()\nc=socket.create_connection(s.getsockname());print('up')\nP";
    assert_eq!(run(vm, local).stdout, "up\n");

    // A server left running does not hold the step up, and outlives it.
    let begun = Instant::now();
    let server = run(vm, "sleep 300 & echo $!").stdout;
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(
        run(vm, &format!("kill {server}")).end,
        ExecEnd::Exited { code: 0 }
    );

    // The disk has the size that was asked for.
    let size: u64 = run(vm, "df --output=size -m / | tail -1")
        .stdout
        .trim()
        .parse()
        .unwrap();
    assert!((900..=1024).contains(&size), "{size} MiB");

    machine.kill().unwrap();
    lab.assert_nothing_left();
}

/// A flood costs its own job time and nobody memory; a sink that holds stops it.
#[test]
fn r10_output_is_bounded() {
    let lab = Lab::new();
    let machine = lab.start("vm-flood");
    let vm = &*machine;

    let flood = run(vm, "head -c 30000000 /dev/zero");
    assert_eq!(
        (flood.bytes, flood.end),
        (30_000_000, ExecEnd::Exited { code: 0 })
    );

    // Held: no more than the window comes, however much is written.
    let (sender, news) = std::sync::mpsc::channel();
    let spec = script("head -c 3000000 /dev/zero; echo done >&2");
    let ticket = vm
        .exec(
            spec,
            Box::new(Collect {
                sender,
                flow: OutputFlow::Hold,
            }),
        )
        .unwrap();
    let mut bytes = 0;
    while bytes < vm_core::guest::WINDOW as usize {
        match news.recv_timeout(TEST_TIMEOUT).unwrap() {
            CollectedOutput::Output(_, piece) => bytes += piece.len(),
            CollectedOutput::Ended(end) => panic!("it cannot have ended: {end:?}"),
        }
    }
    // The guest answers others meanwhile, and sends nothing more of this.
    vm.ping(TEST_TIMEOUT).unwrap();
    assert_eq!(run(vm, "echo ok").stdout, "ok\n");
    assert!(news.try_recv().is_err(), "nothing comes beyond the window");
    assert_eq!(bytes, vm_core::guest::WINDOW as usize);
    // Let go again and again, it comes to its end.
    let end = loop {
        vm.resume_output(ticket).unwrap();
        match news.recv_timeout(TEST_TIMEOUT).unwrap() {
            CollectedOutput::Output(_, piece) => bytes += piece.len(),
            CollectedOutput::Ended(end) => break end,
        }
    };
    assert_eq!((bytes, end), (3_000_005, ExecEnd::Exited { code: 0 }));
    machine.kill().unwrap();
    lab.assert_nothing_left();
}

/// What never ends, multiplies, hides, or fills the disk is ended, and the next job runs.
#[test]
fn r11_what_never_ends_is_killed() {
    let lab = Lab::new();
    let machine = lab.start("vm-hostile");
    let vm = &*machine;

    let timeout = Some(Duration::from_secs(3));
    let endless = begin(
        vm,
        ExecSpec {
            timeout,
            ..script("trap '' TERM; while :; do :; done")
        },
    )
    .outcome();
    assert_eq!(endless.end, ExecEnd::TimedOut);

    let running = begin(vm, script("echo here; sleep 1000"));
    assert!(matches!(
        running.news.recv_timeout(TEST_TIMEOUT).unwrap(),
        CollectedOutput::Output(..)
    ));
    vm.kill_exec(running.ticket, Duration::ZERO).unwrap();
    assert_eq!(running.outcome().end, ExecEnd::Killed);

    // Sessions of their own, double forks: all are in the control group.
    let hidden = "setsid sh -c 'sleep 7777 & sleep 7777' & (sleep 7777 &) ; sleep 7777";
    let running = begin(
        vm,
        ExecSpec {
            timeout,
            ..script(hidden)
        },
    );
    assert_eq!(running.outcome().end, ExecEnd::TimedOut);
    let left = run(
        vm,
        "grep -l '77[7]7' /proc/[0-9]*/cmdline 2>/dev/null | grep -v self | wc -l",
    );
    assert_eq!(left.stdout.trim(), "0", "{left:?}");

    let bomb = "f() { f | f & }; f; sleep 1000";
    assert_eq!(
        begin(
            vm,
            ExecSpec {
                timeout,
                ..script(bomb)
            }
        )
        .outcome()
        .end,
        ExecEnd::TimedOut
    );
    assert_eq!(run(vm, "echo alive").stdout, "alive\n");

    // Memory: the job is killed, not the agent.
    let hog = begin(
        vm,
        script("python3 -c 'x = bytearray(900 << 20); x[::4096] = b\"1\" * len(x[::4096])'"),
    )
    .outcome();
    assert_ne!(hog.end, ExecEnd::Exited { code: 0 }, "{hog:?}");
    assert_eq!(run(vm, "echo alive").stdout, "alive\n");

    let full = run(
        vm,
        "fallocate -l $(($(df --output=avail -B1 / | tail -1) - 30000000)) /workspace/most; head -c 60000000 /dev/zero > /workspace/full",
    );
    assert_eq!(full.end, ExecEnd::Exited { code: 1 });
    assert!(full.stderr.contains("No space left"), "{}", full.stderr);
    assert_eq!(
        run(vm, "rm /workspace/full /workspace/most; echo alive").stdout,
        "alive\n"
    );
    machine.kill().unwrap();
    lab.assert_nothing_left();
}

#[test]
fn tar_there_and_back() {
    let lab = Lab::new();
    let machine = lab.start("vm-tar");
    let vm = &*machine;

    let mut tar = tar::Builder::new(Vec::new());
    let mut add = |name: &str, mode: u32, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(mode);
        tar.append_data(&mut header, name, content).unwrap();
    };
    let big: Vec<u8> = (0..3_000_000_u32)
        .map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    add("src/run.sh", 0o755, b"#!/bin/sh\necho ran\n");
    add("big", 0o644, &big);
    add(&format!("{}/deep", "d".repeat(150)), 0o600, b"long");
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    tar.append_link(&mut link, "link", "src/run.sh").unwrap();
    let tar = tar.into_inner().unwrap();

    let summary = vm
        .put_tar("/workspace", &mut tar.as_slice(), TEST_TIMEOUT)
        .unwrap();
    assert_eq!((summary.entries, summary.bytes), (4, 19 + 3_000_000 + 4));
    assert_eq!(
        run(vm, "./link && ./src/run.sh && stat -c %a src/run.sh").stdout,
        "ran\nran\n755\n"
    );

    let mut out = Vec::new();
    let back = vm.get_tar("/workspace", &mut out, TEST_TIMEOUT).unwrap();
    assert_eq!(back.bytes, summary.bytes);
    let mut archive = tar::Archive::new(out.as_slice());
    let mut found = false;
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().ends_with("big") {
            let mut content = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
            assert!(content == big, "the content is the same");
            found = true;
        }
    }
    assert!(found);
    let mut one = Vec::new();
    vm.get_tar("/workspace/src/run.sh", &mut one, TEST_TIMEOUT)
        .unwrap();
    assert_eq!(
        tar::Archive::new(one.as_slice()).entries().unwrap().count(),
        1
    );

    // What is missing, cut, or would leave its folder is refused, and the VM goes on.
    let refused = |error: MachineError| match error {
        MachineError::Guest(failure) => failure.kind,
        other => panic!("the agent should have refused: {other}"),
    };
    assert_eq!(
        refused(
            vm.get_tar("/nowhere", &mut Vec::new(), TEST_TIMEOUT)
                .unwrap_err()
        ),
        FailureKind::NotFound
    );
    let cut = &tar[..2_000_000];
    assert_eq!(
        refused(
            vm.put_tar("/workspace/cut", &mut &*cut, TEST_TIMEOUT)
                .unwrap_err()
        ),
        FailureKind::BadTar
    );
    for name in ["../../etc/evil", "/etc/evil"] {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(4);
        header.set_cksum();
        let mut evil = header.as_bytes().to_vec();
        evil.write_all(&[b'x'; 512]).unwrap();
        evil.write_all(&[0; 1024]).unwrap();
        assert_eq!(
            refused(
                vm.put_tar("/workspace/x", &mut evil.as_slice(), TEST_TIMEOUT)
                    .unwrap_err()
            ),
            FailureKind::Forbidden,
            "{name}"
        );
    }
    assert_eq!(run(vm, "test ! -e /etc/evil && echo fine").stdout, "fine\n");

    let most = "fallocate -l $(($(df --output=avail -B1 / | tail -1) - 30000000)) /workspace/most";
    assert_eq!(run(vm, most).end, ExecEnd::Exited { code: 0 });
    // More than the disk holds, from a reader that never ends.
    let mut endless = tar::Header::new_gnu();
    endless.set_path("endless").unwrap();
    endless.set_size(3_000_000_000);
    endless.set_cksum();
    let mut reader = std::io::Read::chain(&endless.as_bytes()[..], std::io::repeat(7));
    assert_eq!(
        refused(
            vm.put_tar("/workspace/full", &mut reader, TEST_TIMEOUT)
                .unwrap_err()
        ),
        FailureKind::DiskFull
    );
    machine.kill().unwrap();
    lab.assert_nothing_left();
}
