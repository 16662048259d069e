//! What a crash of the daemon leaves behind, and what another daemon's runs look like.

use std::process::{Command, Stdio};

use orchestrator_engine::process::{Confinement, Leftover, ProcessMark, end_leftover};

use crate::support::{Yard, alive, limits, wait_for_output};

/// Starts a run and forgets it, as a daemon does that is killed.
fn abandoned(yard: &Yard) -> (String, ProcessMark, String) {
    let prepared = yard.shell(
        "setsid sleep TOKEN & (sleep TOKEN &) ; echo ready; sleep TOKEN",
        limits(),
    );
    let (run, token, log) = (
        prepared.spec.run.to_string(),
        prepared.token.clone(),
        prepared.log_folder.clone(),
    );
    let agent = yard.start(prepared);
    let mark = agent.mark().clone();
    // Nobody reads its output any more, but it lives.
    let thread = std::thread::spawn(move || agent.run());
    wait_for_output(&log, "ready");
    drop(thread);
    (run, mark, token)
}

#[test]
fn leftovers_of_a_former_life_are_found_and_ended() {
    for yard in [Yard::best(), Yard::scan()] {
        let (run, mark, token) = abandoned(&yard);
        assert!(mark.is_alive());
        let ended = end_leftover(&yard.confinement, &run, Some(&mark));
        assert!(matches!(ended, Leftover::Ended(3..)), "{ended:?}");
        assert_eq!(alive(&token), [""; 0]);
        assert!(!mark.is_alive());
        assert_eq!(
            end_leftover(&yard.confinement, &run, Some(&mark)),
            Leftover::Gone
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
    let mark = ProcessMark::of(other.id()).unwrap();
    for wrong in [
        ProcessMark {
            started: mark.started - 1,
            ..mark.clone()
        },
        ProcessMark {
            boot: "another boot".into(),
            ..mark
        },
    ] {
        assert!(!wrong.is_alive());
        let ended = end_leftover(
            &Confinement::detect("test-reuse"),
            "run-unknown",
            Some(&wrong),
        );
        assert_eq!(ended, Leftover::Gone);
        assert_eq!(other.try_wait().unwrap(), None, "it must live on");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn o17_another_daemon_s_runs_are_left_alone() {
    let mine = Yard::best();
    let (run, mark, token) = abandoned(&mine);
    let other = Confinement::detect("test-another-daemon");
    assert_eq!(other.end_all_leftovers(), 0);
    assert!(mark.is_alive() && !alive(&token).is_empty());
    end_leftover(&mine.confinement, &run, Some(&mark));
    assert_eq!(alive(&token), [""; 0]);
}

#[test]
fn every_leftover_with_a_cgroup_is_ended_at_start() {
    let confinement = Confinement::detect("test-start");
    if !confinement.is_complete() {
        println!("this host has no writable cgroup v2");
        return;
    }
    let yard = Yard {
        confinement: confinement.clone(),
        ..Yard::best()
    };
    let (_, _, token) = abandoned(&yard);
    assert!(confinement.end_all_leftovers() >= 3);
    assert_eq!(alive(&token), [""; 0]);
    assert_eq!(confinement.end_all_leftovers(), 0);
}

/// Processes that leave session and parent and end at once would stay in the process table for ever.
#[test]
fn o13_orphans_leave_no_zombies() {
    orchestrator_engine::process::adopt_orphans().unwrap();
    for yard in [Yard::best(), Yard::scan()] {
        let script = "for i in 1 2 3 4 5 6 7 8; do setsid true & (setsid sh -c 'exit 3' &); (setsid sleep 0.1 &); done; echo TOKEN";
        let prepared = yard.shell(script, limits());
        yard.start(prepared).run();
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
