//! The guest's clock: set when the VM runs, and compared with the host's.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use vm_core::clock::{ClockSample, Rate, is_set, offset, rate};
use vm_core::guest::{ChannelUse, ToGuest};

use super::GuestLink;
use super::answer::GuestReply;
use crate::error::MachineError;
use crate::identity::Identity;

/// How often the clock is set until it is right: an answer that took long leaves it behind.
const SETTINGS: u32 = 3;
/// The time between the two readings of a glance. A clock that is wrong by a factor is seen in it.
const READING_INTERVAL: Duration = Duration::from_millis(25);

impl GuestLink {
    /// Sets clock, randomness and host name, and looks whether the clock goes right as far as that
    /// is seen in a moment.
    pub(crate) fn identify(
        &self,
        identity: &Identity,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let start = Instant::now();
        let left = || deadline.saturating_sub(start.elapsed());
        let requests = [
            ToGuest::Reseed(identity.seed[..].into()),
            ToGuest::Hostname(identity.hostname.clone()),
        ];
        // Both are under way before the first answer is awaited.
        let asked: Vec<_> = requests
            .iter()
            .map(|request| self.start_request(ChannelUse::Request, request, left()))
            .collect::<Result<_, _>>()?;
        let first = self.set_clock(deadline)?;
        for (channel, answer) in asked {
            self.await_answer(channel, &answer, left())?;
        }
        std::thread::park_timeout(READING_INTERVAL.saturating_sub(elapsed_since(&first)));
        match rate(&first, &self.clock(left())?) {
            Rate::Wrong { least, most } => Err(wrong_rate(least, most)),
            Rate::Right | Rate::Unsure => Ok(()),
        }
    }

    /// Sets the wall clock, and again until it is right.
    fn set_clock(&self, deadline: Duration) -> Result<ClockSample, MachineError> {
        let mut times = 1;
        loop {
            // Read as late as possible: what is older than a moment is wrong.
            self.ask(ChannelUse::Request, &ToGuest::SetClock(wall_ns()), deadline)?;
            let sample = self.clock(deadline)?;
            if is_set(&sample) {
                return Ok(sample);
            }
            if times == SETTINGS {
                let off = offset(&sample).as_millis();
                return Err(MachineError::Clock(format!(
                    "it is {off} ms off after it was set {SETTINGS} times"
                )));
            }
            times += 1;
        }
    }

    /// Asks what the guest's clocks say.
    fn clock(&self, deadline: Duration) -> Result<ClockSample, MachineError> {
        let (asked_ns, wall_ns) = (steady_ns(), wall_ns());
        let word = self.ask(ChannelUse::Clock, &ToGuest::Clock, deadline)?;
        let answered_ns = steady_ns();
        match word {
            GuestReply::Clock(guest) => Ok(ClockSample {
                asked_ns,
                answered_ns,
                wall_ns,
                guest,
            }),
            // The agent's answer was checked to be of this kind.
            GuestReply::Done(_) => Err(MachineError::Clock("it was not said".to_owned())),
        }
    }

    /// Compares the rate of the guest's clock with the host's until it is certain, for `patience`
    /// at most.
    pub(crate) fn check_rate(&self, patience: Duration) -> Result<(), MachineError> {
        let start = Instant::now();
        let first = self.clock(patience)?;
        let mut pause = 4 * READING_INTERVAL;
        loop {
            std::thread::park_timeout(pause);
            let next = self.clock(patience)?;
            match rate(&first, &next) {
                Rate::Right => return Ok(()),
                Rate::Wrong { least, most } => return Err(wrong_rate(least, most)),
                Rate::Unsure if start.elapsed() >= patience => {
                    let took = next.round_trip().as_millis();
                    return Err(MachineError::Clock(format!(
                        "it cannot be compared with the host's: an answer takes {took} ms"
                    )));
                }
                Rate::Unsure => pause = (2 * pause).min(Duration::from_secs(1)),
            }
        }
    }
}

fn elapsed_since(sample: &ClockSample) -> Duration {
    Duration::from_nanos(steady_ns().saturating_sub(sample.answered_ns))
}

fn wrong_rate(least: f64, most: f64) -> MachineError {
    MachineError::Clock(if most.is_finite() {
        format!("it goes {least:.2} to {most:.2} times as fast as the host's")
    } else {
        format!("it goes at least {least:.2} times as fast as the host's")
    })
}

/// Nanoseconds since the first call.
fn steady_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let since = ORIGIN.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The host's wall clock.
fn wall_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
