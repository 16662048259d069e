//! How often a child is asked whether its event loop still turns.

use std::time::Duration;

/// How a supervisor finds out that a child hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pings {
    /// Time between two pings.
    pub interval: Duration,
    /// The child hangs when this many in a row are unanswered.
    pub misses: u32,
}

impl Pings {
    /// A ping every 5 s, three misses.
    pub const DEFAULT: Self = Self {
        interval: Duration::from_secs(5),
        misses: 3,
    };

    /// Never so short that the monitor does nothing else.
    pub(crate) fn safe_interval(self) -> Duration {
        self.interval.max(Duration::from_millis(1))
    }
}
