//! When learning is due.

use std::time::{Duration, Instant};

/// Words are learnt anew at most this often, and never for more than a twentieth of the time.
pub(super) const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(60);

/// What learning waits for.
pub(super) struct LearningPace {
    /// Words are learnt anew, from what is known of them, no earlier.
    pub(super) next_refresh: Instant,
    /// The last change that was followed.
    pub(super) quiet_since: Instant,
    /// How long learning took last.
    pub(super) took: Duration,
    /// Learning is due then, though nothing changes.
    pub(super) due: Option<Instant>,
}

impl LearningPace {
    pub(super) fn new() -> Self {
        Self {
            next_refresh: Instant::now(),
            quiet_since: Instant::now(),
            took: Duration::ZERO,
            due: None,
        }
    }

    /// What waited for its turn when the former run ended waits again: a restart does not take the
    /// time and memory of learning.
    pub(super) fn resume(&mut self) {
        self.next_refresh = Instant::now() + MIN_REFRESH_INTERVAL;
    }

    pub(super) fn is_due(&self) -> bool {
        self.due.is_some_and(|due| Instant::now() >= due)
    }
}
