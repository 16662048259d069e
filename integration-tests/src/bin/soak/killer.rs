//! One thread a program: SIGKILL at a random point of its incarnation, then a start.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::daemon::{Daemon, pause};
use crate::random::Random;
use crate::world::SoakSite;

/// How a killer ended.
#[derive(Debug)]
pub(crate) struct Killed {
    pub(crate) name: &'static str,
    pub(crate) kills: u32,
    pub(crate) failed_starts: Vec<String>,
}

/// Which program is killed how often, of a hundred, and the longest time that it lives once it
/// answers.
const SHARES: [(u32, Duration); 4] = [
    // The orchestrator and the runner hold the most that could be lost.
    (40, Duration::from_millis(1500)),
    (35, Duration::from_millis(2500)),
    // Machines are emulated: seconds until the first one is ready.
    (8, Duration::from_millis(25_000)),
    (17, Duration::from_millis(4000)),
];
/// Every so many kills one falls into the start.
const EARLY: u64 = 4;
/// The longest such incarnation.
const EARLY_INCARNATION_MS: u64 = 400;

/// Starts a killer for each program.
pub(crate) fn spawn(
    world: &Arc<SoakSite>,
    kills: u32,
    seed: u64,
    deadline: Instant,
) -> Vec<JoinHandle<Killed>> {
    let mut threads = Vec::new();
    for (lane, (share, longest)) in SHARES.into_iter().enumerate() {
        let world = Arc::clone(world);
        // Rounded up, so that the sum is never less than what was asked for.
        let kills = (kills * share).div_ceil(100);
        let random = Random::new(seed, lane as u64);
        threads.push(std::thread::spawn(move || {
            kill_often(world.daemons()[lane], kills, longest, random, deadline)
        }));
    }
    threads
}

fn kill_often(
    daemon: &Daemon,
    kills: u32,
    longest: Duration,
    mut random: Random,
    deadline: Instant,
) -> Killed {
    let mut done = Killed {
        name: daemon.name,
        kills: 0,
        failed_starts: Vec::new(),
    };
    while done.kills < kills && Instant::now() < deadline {
        let early = random.below(EARLY) == 0;
        if early {
            pause(Duration::from_millis(random.below(EARLY_INCARNATION_MS)));
        } else {
            if let Err(error) = daemon.wait_ready() {
                done.failed_starts.push(format!("{error:#}"));
            }
            let longest = u64::try_from(longest.as_millis())
                .unwrap_or(u64::MAX)
                .max(1);
            pause(Duration::from_millis(random.below(longest)));
        }
        daemon.kill();
        done.kills += 1;
        if let Err(error) = daemon.spawn() {
            done.failed_starts.push(format!("{error:#}"));
        }
    }
    if let Err(error) = daemon.wait_ready() {
        done.failed_starts.push(format!("{error:#}"));
    }
    done
}
