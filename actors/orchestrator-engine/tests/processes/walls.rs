//! T4: a real hostile agent against each wall that this host allows.

use std::process::{Command, Stdio};
use std::time::Duration;

use orchestrator_engine::process::{
    Confinement, EndCause, PreviousRun, ProcessEnd, ProcessLimits, Sandbox, StartError, StopCause,
    View, end_previous_run,
};

use crate::support::{ProcessTestBed, alive, limits, text, wait_for_output, wait_for_sleeps};

const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Every level with a process table of its own that works here.
fn walls() -> Vec<Sandbox> {
    let best = Sandbox::detect(PATH);
    let plain = Sandbox::PidNamespace {
        program: "/usr/bin/unshare".into(),
        user: !rustix::process::geteuid().is_root(),
    };
    match best.level() {
        "sandbox" => vec![best, plain],
        "pid_namespace" => vec![best],
        _ => {
            println!("this host allows no namespaces: {:?}", best.shortfall());
            Vec::new()
        }
    }
}

fn test_bed(sandbox: &Sandbox) -> ProcessTestBed {
    ProcessTestBed {
        sandbox: sandbox.clone(),
        ..ProcessTestBed::scan()
    }
}

/// The environment of every process that can be seen.
const READS_ENVIRONMENTS: &str =
    "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a PLANTED || echo nothing";

#[test]
fn t4_an_agent_reads_no_other_process_s_environment() {
    let mut daemon = Command::new("sleep")
        .arg("600")
        .env("PLANTED", "forge-token-0123456789")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let open = ProcessTestBed::scan().run(READS_ENVIRONMENTS, limits()).1;
    let seen: Vec<String> = walls()
        .iter()
        .map(|wall| test_bed(wall).run(READS_ENVIRONMENTS, limits()).1)
        .collect();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(
        open.contains("forge-token"),
        "the attack works without a wall: {open}"
    );
    for text in seen {
        assert_eq!(text.trim(), "nothing");
    }
}

/// Double fork, a session of its own and an empty environment, in the ways that survived ten of
/// ten.
const SURVIVES: &str = "(env -i setsid sh -c 'trap \"\" TERM; sleep TOKEN & exec sleep TOKEN' >/dev/null 2>&1 &)\n\
    (setsid env -i sh -c '(setsid sleep TOKEN >/dev/null 2>&1 &)' &)\n\
    env -i setsid setsid sh -c 'while :; do sleep 0.TOKEN; done' >/dev/null 2>&1 &\n";

#[test]
fn t4_nothing_survives_an_agent_without_a_cgroup() {
    for wall in walls() {
        for round in 0..10 {
            let test_bed = test_bed(&wall);
            let script = format!("{SURVIVES}echo ready; [ {round} -gt 4 ] || exit 0; sleep TOKEN");
            let prepared = test_bed.shell(&script, limits());
            let (log, token) = (prepared.log_folder.clone(), prepared.token.clone());
            let agent = test_bed.start(prepared);
            let stopper = agent.stopper();
            let watched = std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    wait_for_output(&log, "ready");
                    stopper.stop(StopCause::Cancelled);
                });
                // On the thread that started it: the sandbox ends with that.
                let ended = agent.run();
                thread.join().unwrap();
                ended
            });
            assert_eq!(alive(&token), [""; 0], "{} round {round}", wall.level());
            assert_eq!(watched.unkillable, [0; 0]);
        }
    }
}

/// Forty processes that carry another run's id are not that run's.
#[test]
fn t4_copied_run_ids_end_nobody_else() {
    let mut levels = walls();
    levels.push(Sandbox::off());
    for wall in levels {
        let test_bed = test_bed(&wall);
        let few = ProcessLimits {
            processes: Some(20),
            ..limits()
        };
        let victim = test_bed.shell(
            "echo ready; until [ -e ../go ]; do sleep 0.02; done; sleep 1",
            few,
        );
        let (run, log) = (victim.spec.run.to_string(), victim.log_folder.clone());
        let script = format!(
            "i=0; while [ $i -lt 20 ]; do ORCH_RUN_ID={run} sleep TOKEN & \
             (ORCH_RUN_ID={run} setsid sleep TOKEN >/dev/null 2>&1 &) ; i=$((i+1)); done; echo ready; sleep TOKEN"
        );
        let hostile = test_bed.shell(&script, limits());
        let (hostile_log, token) = (hostile.log_folder.clone(), hostile.token.clone());
        let (sender, stopper) = std::sync::mpsc::channel();
        let ended = std::thread::scope(|scope| {
            let victim = scope.spawn(|| test_bed.start(victim).run());
            wait_for_output(&log, "ready");
            let hostile = scope.spawn(|| {
                let agent = test_bed.start(hostile);
                sender.send(agent.stopper()).unwrap();
                agent.run()
            });
            wait_for_output(&hostile_log, "ready");
            // One that is started only after the victim's run was ended is nobody's without a wall.
            wait_for_sleeps(&token, 41);
            std::fs::write(test_bed.folder.path().join("go"), "").unwrap();
            let ended = victim.join().unwrap();
            stopper.recv().unwrap().stop(StopCause::Cancelled);
            hostile.join().unwrap();
            ended
        });
        assert_eq!(
            (ended.cause, ended.end),
            (EndCause::Exited, ProcessEnd::Code(0)),
            "{}",
            wall.level()
        );
        // Those that carry the victim's id were ended with it, where nothing better is known of
        // them.
        assert_eq!(alive(&token), [""; 0], "{}", wall.level());
    }
}

#[test]
fn t4_a_sandbox_hides_what_is_the_orchestrators_own() {
    let best = Sandbox::detect(PATH);
    if best.level() != "sandbox" {
        println!("bubblewrap does not work here: {:?}", best.shortfall());
        return;
    }
    let test_bed = test_bed(&best);
    let root = test_bed.folder.path().canonicalize().unwrap();
    let data = root.join("data");
    let other = data.join("worktrees/other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("work"), "PLANTED").unwrap();
    std::fs::write(data.join("store.redb"), "PLANTED").unwrap();
    let tokens = root.join("agent_tokens.json");
    std::fs::write(&tokens, "PLANTED").unwrap();
    let own = data.join("worktrees/own");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("mine"), "my own file").unwrap();
    let script = "cat ../../../agent_tokens.json; cat ../other/work ../../store.redb; grep -rs PLANTED ../../..; \
        umount ../../.. ../.. 2>/dev/null; mount -t proc proc /proc 2>/dev/null; cat ../../store.redb; \
        cat mine; echo new > made; ls ..";
    let mut prepared = test_bed.shell(script, limits());
    prepared.spec.folder = own.clone();
    prepared.spec.view = View {
        hidden: vec![data.clone(), tokens],
        writable: vec![own.clone()],
        readable: Vec::new(),
    };
    let log = prepared.log_folder.clone();
    test_bed.start(prepared).run();
    let said = text(&log);
    assert!(!said.contains("PLANTED"), "{said}");
    assert!(said.contains("my own file"), "{said}");
    assert_eq!(std::fs::read_to_string(own.join("made")).unwrap(), "new\n");
    assert!(data.join("store.redb").exists(), "nothing of it is touched");
}

#[test]
fn t4_leftovers_of_a_killed_daemon_are_ended_by_the_first_process() {
    for wall in walls() {
        let test_bed = test_bed(&wall);
        let prepared = test_bed.shell(&format!("{SURVIVES}echo ready; sleep TOKEN"), limits());
        let (run, log, token) = (
            prepared.spec.run.to_string(),
            prepared.log_folder.clone(),
            prepared.token.clone(),
        );
        let (sender, mark) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let agent = test_bed.start(prepared);
                sender.send(agent.key().clone()).unwrap();
                agent.run()
            });
            wait_for_output(&log, "ready");
            let mark = mark.recv().unwrap();
            let ended = end_previous_run(&Confinement::Scan, &run, Some(&mark));
            assert!(
                matches!(ended, PreviousRun::Ended(_)),
                "{}: {ended:?}",
                wall.level()
            );
        });
        assert_eq!(alive(&token), [""; 0], "{}", wall.level());
    }
}

/// What does not start says so as it does without a wall, and leaves nothing.
#[test]
fn t4_a_program_that_is_not_there_is_said_before_there_is_a_sandbox() {
    for wall in walls() {
        let test_bed = test_bed(&wall);
        let mut prepared = test_bed.shell("true", limits());
        prepared.spec.program = "/nonexistent/agent".into();
        let spec = prepared.spec;
        let failed = orchestrator_engine::process::RunningAgent::start(
            spec,
            &test_bed.confinement,
            prepared.log,
        );
        assert!(
            matches!(failed, Err(StartError::Program { .. })),
            "{failed:?}"
        );
        // Exit codes and time limits are those of the agent.
        let (ended, _) = test_bed.run("exit 3", limits());
        assert_eq!((ended.end, ended.not_run), (ProcessEnd::Code(3), false));
        let short = ProcessLimits {
            wall: Duration::from_millis(300),
            ..limits()
        };
        let (ended, said) = test_bed.run(
            "trap 'echo asked; exit 7' TERM; while :; do sleep 0.02; done",
            short,
        );
        assert_eq!(ended.cause, EndCause::WallClock);
        assert!(said.contains("asked"), "SIGTERM reaches the agent: {said}");
    }
}
