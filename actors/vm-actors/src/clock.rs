//! The manager's clock: runs evenly, whatever happens to the machine's.

use std::sync::Arc;
use std::time::Instant;

use vm_core::UnixMs;

/// What tells the actors the time. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> UnixMs + Send + Sync>);

impl Clock {
    /// The machine's clock as it is now, and the time since, measured apart from it: a clock that
    /// is set ends no lease.
    #[must_use]
    pub fn start() -> Self {
        let (origin, since) = (wall(), Instant::now());
        Self::new(move || origin.plus(since.elapsed()))
    }

    /// A clock that tells what `now` does.
    #[must_use]
    pub fn new(now: impl Fn() -> UnixMs + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> UnixMs {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

/// The machine's clock, for what other machines have dated.
#[must_use]
pub fn wall() -> UnixMs {
    UnixMs(supervision::unix_ms())
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
