//! F10: agents that do not want to end. Each round: gone at grace + 2 s, and nothing survives. The
//! bound is kept by a machine that has the time (`HOSTILE_ROUNDS=1000` with nothing beside it); in
//! the test run, which shares its processors with everything else, an end only has to come.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use orchestrator_engine::process::{Confinement, ProcessLimits, StopCause};

use crate::support::{ProcessTestBed, alive, limits, wait_for_output};

/// What each agent does once it has written `ready`. None ends by itself within the test.
const AGENTS: [(&str, &str); 8] = [
    (
        "ignores SIGTERM",
        "trap '' TERM HUP INT; echo ready; while :; do sleep 0.TOKEN; done",
    ),
    (
        "setsid daemon",
        "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.TOKEN; done' & echo ready; sleep TOKEN",
    ),
    (
        "double fork",
        "( (sleep TOKEN &) & ) ; ( (setsid sleep TOKEN &) & ); echo ready; sleep TOKEN",
    ),
    (
        "leaves and ends",
        "setsid sleep TOKEN > /dev/null 2>&1 & setsid sleep TOKEN & echo ready; exit 0",
    ),
    ("memory hog", "echo ready; tail /dev/zero & sleep TOKEN"),
    (
        "flood without newline",
        "echo ready; trap '' TERM; cat /dev/zero & cat /dev/zero",
    ),
    (
        "closed stdout",
        "echo ready; exec >&- 2>&-; trap '' TERM; while :; do sleep 0.TOKEN; done",
    ),
    (
        "waits on stdin and stops",
        "echo ready; cat; setsid sleep TOKEN & kill -STOP $$",
    ),
];

/// Without parent, session, group and environment: only a cgroup holds it.
const WITHOUT_A_TRACE: (&str, &str) = (
    "no trace",
    "(env -i setsid sh -c 'sleep TOKEN & exec sleep TOKEN' &) ; echo ready; sleep TOKEN",
);

fn round(test_bed: &ProcessTestBed, name: &str, script: &str) -> Result<(), String> {
    let limits = ProcessLimits {
        memory: Some(256 << 20),
        ..limits()
    };
    let most = match asked_for() {
        Some(_) => limits.grace + Duration::from_secs(2),
        None => limits.grace + Duration::from_secs(30),
    };
    let prepared = test_bed.shell(script, limits);
    let (log, token) = (prepared.log_folder.clone(), prepared.token.clone());
    let agent = test_bed.start(prepared);
    let stopper = agent.stopper();
    let thread = std::thread::spawn(move || agent.run());
    wait_for_output(&log, "ready");
    let asked = Instant::now();
    stopper.stop(StopCause::Cancelled);
    let ended = thread.join().map_err(|_| format!("{name}: panicked"))?;
    let (took, left) = (asked.elapsed(), alive(&token));
    if !left.is_empty() || !ended.unkillable.is_empty() || took > most {
        return Err(format!("{name}: took {took:?}, left {left:?}, {ended:?}"));
    }
    Ok(())
}

/// `rounds` rounds over all agents, four at a time: runs share a machine in real life too.
fn rounds(test_bed: &ProcessTestBed, agents: &[(&str, &str)], rounds: usize) {
    let next = Mutex::new((0..rounds).map(|round| agents[round % agents.len()]));
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((name, script)) = next.lock().unwrap().next() else {
                        return;
                    };
                    failed
                        .lock()
                        .unwrap()
                        .extend(round(test_bed, name, script).err());
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} of {rounds} rounds: {}",
        failed.len(),
        failed.join("\n")
    );
}

/// More on request: `HOSTILE_ROUNDS=1000`.
fn asked_for() -> Option<usize> {
    std::env::var("HOSTILE_ROUNDS").ok()?.parse().ok()
}

fn wanted(usual: usize) -> usize {
    asked_for().unwrap_or(usual)
}

#[test]
fn f10_hostile_agents_are_gone_with_a_cgroup() {
    let test_bed = ProcessTestBed::best();
    if !matches!(test_bed.confinement, Confinement::Cgroup(_)) {
        println!("this host has no writable cgroup v2: the rounds are run by the scan only");
        return;
    }
    let mut agents = AGENTS.to_vec();
    agents.push(WITHOUT_A_TRACE);
    rounds(&test_bed, &agents, wanted(72));
}

#[test]
fn f10_hostile_agents_are_gone_without_a_cgroup() {
    rounds(&ProcessTestBed::scan(), &AGENTS, wanted(48));
}

#[test]
fn o13_a_daemon_left_behind_is_ended_and_counted() {
    for test_bed in [ProcessTestBed::best(), ProcessTestBed::scan()] {
        let prepared = test_bed.shell(
            "setsid sh -c 'sleep TOKEN & (sleep TOKEN &)' > /dev/null 2>&1; echo done",
            limits(),
        );
        let token = prepared.token.clone();
        let ended = test_bed.start(prepared).run();
        assert_eq!(alive(&token), [""; 0]);
        assert!(ended.survivors >= 2, "{ended:?}");
        assert!(ended.took < Duration::from_secs(10));
    }
}
