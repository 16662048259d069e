//! The manager's clock: runs evenly, whatever happens to the machine's.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use vm_core::UnixMs;

/// The machine's clock when the manager started, and the time since, measured apart from it: a
/// clock that is set ends no lease.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: UnixMs,
    since: Instant,
}

impl Clock {
    /// Starts at the machine's clock.
    #[must_use]
    pub fn start() -> Self {
        Self {
            origin: wall(),
            since: Instant::now(),
        }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> UnixMs {
        self.origin.plus(self.since.elapsed())
    }
}

/// The machine's clock, for what other machines have dated.
#[must_use]
pub fn wall() -> UnixMs {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_at_the_machine_s_clock_and_goes_on() {
        let before = wall();
        let clock = Clock::start();
        let (first, second) = (clock.now(), clock.now());
        assert!(before <= first && first <= second);
    }
}
