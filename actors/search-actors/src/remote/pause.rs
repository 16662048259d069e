//! How long a server is left alone. Pure: the time is an argument.

use std::time::{Duration, Instant};

/// First pause after a failure; it doubles with each in a row.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Longest pause of our own; a server may ask for more.
const MAX_OWN_PAUSE: Duration = Duration::from_secs(60);
/// The longest a server is believed.
const MAX_SERVER_PAUSE: Duration = Duration::from_secs(3600);

/// Failures in a row and the pause they earned.
#[derive(Debug, Default)]
pub(crate) struct HostBackoff {
    failures: u32,
    until: Option<Instant>,
    reason: String,
}

impl HostBackoff {
    /// Time left in which nothing is asked, and why.
    pub(crate) fn time_left(&self, now: Instant) -> Option<(Duration, &str)> {
        let left = self.until?.checked_duration_since(now)?;
        (!left.is_zero()).then_some((left, self.reason.as_str()))
    }

    /// A failure that may pass; `asked` is what the server wants.
    pub(crate) fn failed(&mut self, now: Instant, asked: Option<Duration>, reason: String) {
        let own = FIRST_RETRY_DELAY
            .saturating_mul(1 << self.failures.min(6))
            .min(MAX_OWN_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now + asked.map_or(own, |asked| asked.max(own).min(MAX_SERVER_PAUSE)));
        self.reason = reason;
    }

    /// An answer; `asked` is for how long the server wants no other question.
    pub(crate) fn record_answer(&mut self, now: Instant, asked: Option<Duration>) {
        self.failures = 0;
        self.until = asked.map(|asked| now + asked.min(MAX_SERVER_PAUSE));
        self.reason = "it asked for a pause".to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_servers_are_obeyed_within_reason() {
        let now = Instant::now();
        let mut pause = HostBackoff::default();
        assert_eq!(pause.time_left(now), None);
        let mut lengths = Vec::new();
        for _ in 0..9 {
            pause.failed(now, None, "x".to_owned());
            lengths.push(pause.time_left(now).unwrap().0.as_secs());
        }
        assert_eq!(lengths, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        pause.failed(now, Some(Duration::from_secs(100)), "y".to_owned());
        assert_eq!(pause.time_left(now), Some((Duration::from_secs(100), "y")));
        pause.failed(now, Some(Duration::from_secs(1_000_000)), "y".to_owned());
        assert_eq!(pause.time_left(now).unwrap().0, MAX_SERVER_PAUSE);
        assert_eq!(pause.time_left(now + MAX_SERVER_PAUSE), None);
        pause.record_answer(now, None);
        assert_eq!(pause.time_left(now), None);
        pause.record_answer(now, Some(Duration::from_secs(10)));
        assert!(pause.time_left(now).is_some());
    }
}
