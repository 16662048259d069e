//! Backoff between attempts: longer each time, and never the last one.

use std::time::Duration;

/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest: what was lacking may be there again.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(300);

/// How long to wait before the next attempt.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    /// Attempts that have failed in a row.
    failures: u32,
}

impl Backoff {
    /// Another attempt has failed: how long to wait now.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        pause.min(MAX_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, MAX_PAUSE};

    #[test]
    fn u1_pauses_double_up_to_the_longest_and_never_end() {
        let mut backoff = Backoff::default();
        let seconds: Vec<u64> = (0..12).map(|_| backoff.next().as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        let mut worn = Backoff { failures: u32::MAX };
        assert_eq!(worn.next(), MAX_PAUSE);
    }
}
