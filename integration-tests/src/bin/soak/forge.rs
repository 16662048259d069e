//! The forge of a run: scripted, in a thread of its own, and unreliable until it is told to behave.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use scripted_peers::{Failure, PlannedFailure, ScriptedForge};

use crate::daemon::pause;
use crate::random::Random;
use crate::world::SoakSite;

/// The lane of the seed that faults are drawn from.
const LANE: u64 = 100;
/// The longest pause between two faults, in milliseconds.
const PAUSE_MS: u64 = 3000;
/// Longer than the products' deadline for one request.
const FREEZE_PERIOD: Duration = Duration::from_secs(32);

/// Starts the forge. It ends with the process.
pub(crate) fn start() -> ScriptedForge {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            let _ = send.send(ScriptedForge::start());
            std::future::pending::<()>().await;
        });
    });
    receive.recv().expect("the forge starts")
}

/// Errors, delays, freezes and cut answers, until the load stops.
pub(crate) fn spawn_faults(world: Arc<SoakSite>, seed: u64) -> JoinHandle<()> {
    let mut random = Random::new(seed, LANE);
    std::thread::spawn(move || {
        while !world.stop_load.load(Ordering::Relaxed) {
            pause(Duration::from_millis(random.below(PAUSE_MS)));
            let failure = match random.below(8) {
                0 => Failure::Status(500, None),
                1 => Failure::Status(502, None),
                2 => Failure::Status(429, Some(1)),
                3 => Failure::DoneBut(500),
                4 => Failure::DoneThenCut,
                5 => Failure::Hang(Duration::from_millis(random.below(5000))),
                6 => Failure::DoneThenHang(Duration::from_millis(random.below(5000))),
                // Rare enough that most of the run is not spent frozen.
                _ if random.below(6) == 0 => Failure::DoneThenHang(FREEZE_PERIOD),
                _ => Failure::Status(503, Some(1)),
            };
            let times = 1 + u32::try_from(random.below(3)).unwrap_or(0);
            let (method, path) = match random.below(3) {
                0 => ("POST", "/statuses"),
                1 => ("POST", "/comments"),
                _ => ("GET", ""),
            };
            world
                .forge
                .plan(PlannedFailure::new(method, path, times, failure));
        }
    })
}
