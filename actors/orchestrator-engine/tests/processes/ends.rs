//! How runs end, and what is told about it.

use std::fs;
use std::time::{Duration, Instant};

use orchestrator_engine::process::{
    AgentInput, EndCause, ProcessEnd, ProcessLimits, ProcessSpec, Resource, RunningAgent,
    StartError, StopCause,
};

use crate::support::{ProcessTestBed, alive, limits, wait_for_output};

#[test]
fn an_agent_that_ends_by_itself_gives_its_exit_code_and_all_of_its_output() {
    let test_bed = ProcessTestBed::best();
    let (ended, text) = test_bed.run("echo one; echo two >&2; echo three; exit 7", limits());
    assert_eq!(
        (ended.cause, ended.end),
        (EndCause::Exited, ProcessEnd::Code(7))
    );
    assert_eq!(
        text, "one\ntwo\nthree\n",
        "both streams, in the order they were written"
    );
    assert_eq!((ended.survivors, ended.unkillable.len()), (0, 0));
    assert!(ended.output.complete && ended.log_error.is_none());
    let (ended, _) = test_bed.run("kill -9 $$", limits());
    assert_eq!(
        (ended.cause, ended.end),
        (EndCause::Exited, ProcessEnd::Signal(9))
    );
}

#[test]
fn the_environment_is_the_allow_list_and_the_run() {
    let (_, text) = ProcessTestBed::best().run("env | cut -d= -f1 | sort | tr '\\n' ' '", limits());
    assert_eq!(text, "ORCH_AGENT ORCH_PROJECT ORCH_RUN_ID PATH PWD ");
}

#[test]
fn a_session_a_group_and_no_terminal_of_its_own() {
    let script = "read -r line < /proc/$$/stat; set -- ${line##*) }; echo $$ $3 $4; (: < /dev/tty) 2> /dev/null || echo none";
    let (_, text) = ProcessTestBed::best().run(script, limits());
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(
        words[0] == words[1] && words[1] == words[2] && words[3] == "none",
        "{text:?}"
    );
}

#[test]
fn a_prompt_is_read_to_its_end_and_need_not_be_read() {
    let test_bed = ProcessTestBed::best();
    let prompt = "é$(id)`x`\n".repeat(50_000);
    for (script, expected) in [
        ("wc -c", prompt.len().to_string()),
        ("exec <&-; echo done", "done".to_owned()),
    ] {
        let mut prepared = test_bed.shell(script, limits());
        prepared.spec.input = AgentInput::Text(prompt.clone().into_bytes());
        let log = prepared.log_folder.clone();
        assert_eq!(test_bed.start(prepared).run().end, ProcessEnd::Code(0));
        assert_eq!(crate::support::text(&log).trim(), expected);
    }
    let (_, text) = test_bed.run("cat; echo end", limits());
    assert_eq!(text, "end\n", "without a prompt the input is at its end");
}

#[test]
fn the_wall_clock_ends_a_run() {
    let limits = ProcessLimits {
        wall: Duration::from_millis(400),
        ..limits()
    };
    let (ended, text) = ProcessTestBed::best().run("echo begun; sleep TOKEN", limits);
    assert_eq!(
        (ended.cause, ended.end),
        (EndCause::WallClock, ProcessEnd::Signal(15))
    );
    assert_eq!(text, "begun\n");
}

#[test]
fn o15_silence_ends_a_run_whatever_it_waits_for() {
    let stall = ProcessLimits {
        stall: Some(Duration::from_millis(400)),
        ..limits()
    };
    let test_bed = ProcessTestBed::best();
    for script in [
        "exec >&- 2>&-; sleep TOKEN",
        "echo 'password: '; sleep TOKEN",
        "(: < /dev/tty) || sleep TOKEN",
        "kill -STOP $$",
    ] {
        let (ended, _) = test_bed.run(script, stall.clone());
        assert_eq!(ended.cause, EndCause::Stalled, "{script}");
    }
    let busy = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done";
    let (ended, _) = test_bed.run(busy, stall);
    assert_eq!(ended.cause, EndCause::Exited, "output keeps it alive");
}

#[test]
fn a_stop_ends_it_at_once_and_the_first_cause_counts() {
    let test_bed = ProcessTestBed::best();
    let prepared = test_bed.shell(
        "trap 'echo bye; exit 3' TERM; echo ready; sleep TOKEN & wait",
        limits(),
    );
    let (log, token) = (prepared.log_folder.clone(), prepared.token.clone());
    let agent = test_bed.start(prepared);
    let stopper = agent.stopper();
    let thread = std::thread::spawn(move || agent.run());
    wait_for_output(&log, "ready");
    assert!(stopper.stop(StopCause::Superseded));
    assert!(!stopper.stop(StopCause::Cancelled), "it is ending already");
    let ended = thread.join().unwrap();
    assert_eq!(ended.cause, EndCause::Stopped(StopCause::Superseded));
    assert_eq!(
        ended.end,
        ProcessEnd::Code(3),
        "it had the time to say goodbye"
    );
    assert!(crate::support::text(&log).ends_with("bye\n"));
    assert_eq!(alive(&token), [""; 0]);
    assert!(!stopper.stop(StopCause::Cancelled), "it has ended");
}

#[test]
fn a_stop_before_the_run_is_watched_is_not_lost() {
    let test_bed = ProcessTestBed::best();
    let agent = test_bed.start(test_bed.shell("sleep TOKEN", limits()));
    assert!(agent.stopper().stop(StopCause::Cancelled));
    assert_eq!(agent.run().cause, EndCause::Stopped(StopCause::Cancelled));
}

#[test]
fn o14_a_fork_bomb_and_a_memory_hog_are_ended_and_named() {
    let test_bed = ProcessTestBed::best();
    let few = ProcessLimits {
        processes: Some(40),
        ..limits()
    };
    // Where the kernel does not count them, a bomb has all numbers of processes of the machine
    // before anybody looks, and tests beside this one can start nothing.
    let counted = fs::read_to_string("/sys/fs/cgroup/cgroup.controllers");
    let bomb = match counted.is_ok_and(|all| all.split_whitespace().any(|one| one == "pids")) {
        true => "bomb() { bomb | bomb & sleep TOKEN; }; bomb",
        false => "for i in $(seq 400); do sleep TOKEN & done; wait",
    };
    let (ended, _) = test_bed.run(bomb, few);
    assert_eq!(ended.cause, EndCause::Exhausted(Resource::Processes));
    assert_eq!(ended.unkillable, [0; 0]);
    let little = ProcessLimits {
        memory: Some(64 << 20),
        ..limits()
    };
    let (ended, _) = test_bed.run("tail /dev/zero", little);
    assert_eq!(ended.cause, EndCause::Exhausted(Resource::Memory));
    assert_eq!(ended.end, ProcessEnd::Signal(9));
}

#[test]
fn o14_a_folder_filled_with_files_or_bytes_ends_the_run() {
    let test_bed = ProcessTestBed::best();
    let files = ProcessLimits {
        folder_files: Some(1000),
        ..limits()
    };
    let many = "mkdir d; i=0; while :; do : > d/$i; i=$((i+1)); done";
    let (ended, _) = test_bed.run(many, files);
    assert_eq!(ended.cause, EndCause::Exhausted(Resource::FolderFiles));
    let bytes = ProcessLimits {
        folder_bytes: Some(4 << 20),
        ..limits()
    };
    let (ended, _) = test_bed.run("head -c 16M /dev/zero > big; sleep TOKEN", bytes);
    assert_eq!(ended.cause, EndCause::Exhausted(Resource::FolderBytes));
    let file = ProcessLimits {
        file_size: Some(1 << 20),
        ..limits()
    };
    let (ended, _) = test_bed.run("head -c 16M /dev/zero > big", file);
    assert_eq!(
        ended.cause,
        EndCause::Exited,
        "one file is cut off by the kernel"
    );
    assert_ne!(ended.end, ProcessEnd::Code(0));
}

#[test]
fn what_cannot_be_started_is_an_error_and_leaves_nothing() {
    let test_bed = ProcessTestBed::best();
    for (program, folder) in [
        ("/no/such/program", None),
        ("/etc/passwd", None),
        ("/bin/sh", Some("/no/such/folder")),
    ] {
        let mut prepared = test_bed.shell("true", limits());
        prepared.spec.program = program.into();
        prepared.spec.folder = folder.map_or(prepared.spec.folder, Into::into);
        let again = ProcessSpec {
            program: "/bin/true".into(),
            folder: "/".into(),
            ..prepared.spec.clone()
        };
        let refused = RunningAgent::start(prepared.spec, &test_bed.confinement, prepared.log);
        assert!(
            matches!(refused, Err(StartError::Program { .. })),
            "{program}"
        );
        let log = test_bed.shell("true", limits()).log;
        let agent = RunningAgent::start(again, &test_bed.confinement, log).unwrap();
        assert_eq!(
            agent.run().end,
            ProcessEnd::Code(0),
            "the same run can be started afterwards"
        );
    }
}

#[test]
fn o12_an_agent_that_ignores_sigterm_is_gone_after_the_grace_time() {
    let test_bed = ProcessTestBed::best();
    let prepared = test_bed.shell(
        "trap '' TERM; echo ready; while :; do sleep 0.05; done",
        limits(),
    );
    let log = prepared.log_folder.clone();
    let agent = test_bed.start(prepared);
    let stopper = agent.stopper();
    let thread = std::thread::spawn(move || agent.run());
    wait_for_output(&log, "ready");
    let asked = Instant::now();
    stopper.stop(StopCause::Cancelled);
    let ended = thread.join().unwrap();
    assert_eq!(ended.end, ProcessEnd::Signal(9));
    // The contract of the attack case: 12 s with the default grace of 5 s.
    assert!(asked.elapsed() >= limits().grace && asked.elapsed() < Duration::from_secs(12));
}
