//! What a spec sets and references read with each message.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

/// Atomics, because a reference may be given out before the spec is complete.
#[derive(Debug)]
pub(crate) struct ChildSettings {
    pub(crate) capacity: AtomicUsize,
    pub(crate) ask_timeout_ms: AtomicU64,
    pub(crate) retry_after_ms: AtomicU64,
}

impl Default for ChildSettings {
    fn default() -> Self {
        Self {
            capacity: AtomicUsize::new(64),
            ask_timeout_ms: AtomicU64::new(5_000),
            retry_after_ms: AtomicU64::new(1_000),
        }
    }
}

impl ChildSettings {
    pub(crate) fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    pub(crate) fn ask_timeout(&self) -> Duration {
        Duration::from_millis(self.ask_timeout_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn retry_after(&self) -> Duration {
        Duration::from_millis(self.retry_after_ms.load(Ordering::Relaxed))
    }
}

/// At least as long as `duration`, so that a timeout is never early.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
