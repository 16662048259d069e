//! What a crash of the daemon leaves behind.

use std::process::{Command, Stdio};

use orchestrator_engine::process::{Confinement, PreviousRun, ProcessKey, end_previous_run};

use crate::support::{ProcessTestBed, alive, limits, wait_for_output};

/// Starts a run and forgets it, as a daemon does that is killed.
fn abandoned(test_bed: &ProcessTestBed) -> (String, ProcessKey, String) {
    let prepared = test_bed.shell(
        "setsid sleep TOKEN & (sleep TOKEN &) ; echo ready; sleep TOKEN",
        limits(),
    );
    let (run, token, log) = (
        prepared.spec.run.to_string(),
        prepared.token.clone(),
        prepared.log_folder.clone(),
    );
    let agent = test_bed.start(prepared);
    let mark = agent.key().clone();
    // Nobody reads its output any more, but it lives.
    let thread = std::thread::spawn(move || agent.run());
    wait_for_output(&log, "ready");
    drop(thread);
    (run, mark, token)
}

#[test]
fn processes_of_a_previous_incarnation_are_found_and_ended() {
    for test_bed in [ProcessTestBed::best(), ProcessTestBed::scan()] {
        let (run, mark, token) = abandoned(&test_bed);
        assert!(mark.is_alive());
        let ended = end_previous_run(&test_bed.confinement, &run, Some(&mark));
        assert!(matches!(ended, PreviousRun::Ended(3..)), "{ended:?}");
        assert_eq!(alive(&token), [""; 0]);
        assert!(!mark.is_alive());
        assert_eq!(
            end_previous_run(&test_bed.confinement, &run, Some(&mark)),
            PreviousRun::Gone
        );
    }
}

#[test]
fn a_process_that_got_the_same_id_is_left_alone() {
    let mut other = Command::new("sleep")
        .arg("1000")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mark = ProcessKey::from_pid(other.id()).unwrap();
    for wrong in [
        ProcessKey {
            started: mark.started - 1,
            ..mark.clone()
        },
        ProcessKey {
            boot: "another boot".into(),
            ..mark
        },
    ] {
        assert!(!wrong.is_alive());
        let ended = end_previous_run(
            &Confinement::detect("test-reuse"),
            "run-unknown",
            Some(&wrong),
        );
        assert_eq!(ended, PreviousRun::Gone);
        assert_eq!(other.try_wait().unwrap(), None, "it must live on");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

/// Processes that leave session and parent and end at once would stay in the process table for
/// ever.
#[test]
fn o13_orphans_leave_no_zombies() {
    orchestrator_engine::process::adopt_orphans().unwrap();
    for test_bed in [ProcessTestBed::best(), ProcessTestBed::scan()] {
        let script = "for i in 1 2 3 4 5 6 7 8; do setsid true & (setsid sh -c 'exit 3' &); (setsid sleep 0.1 &); done; echo TOKEN";
        let prepared = test_bed.shell(script, limits());
        test_bed.start(prepared).run();
        let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let children = threads.map(|thread| {
            std::fs::read_to_string(thread.path().join("children")).unwrap_or_default()
        });
        let children: String = children.collect::<Vec<_>>().join(" ");
        let zombies: Vec<String> = children
            .split_whitespace()
            .filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok())
            .filter(|stat| stat.contains(") Z "))
            .collect();
        assert_eq!(zombies, [""; 0]);
    }
}
