//! When learning is due.

use std::time::{Duration, Instant};

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

    pub(super) fn is_due(&self) -> bool {
        self.due.is_some_and(|due| Instant::now() >= due)
    }
}
