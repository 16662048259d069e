//! When a source that has to be compared again and again is compared: a pure policy over given
//! times. The watch asks at equal intervals; what takes long is done more rarely, so that a large
//! folder on a slow server does not keep a core, and its server, busy for ever.

use std::time::{Duration, Instant};

/// A comparison is followed by a rest of so many times its length: one twentieth of a core at most.
const REST_FACTOR: u32 = 20;

/// The longest rest.
const MAX_REST: Duration = Duration::from_secs(3_600);

/// Why everything is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollTrigger {
    /// Somebody asks for it, or changes were missed: until it is done the index may be behind.
    Asked,
    /// Time has passed: most often nothing has changed, and nothing is said then.
    Polling,
}

/// What a comparison was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ComparisonResult {
    /// How long it took to look at the source, without what was read then.
    pub(super) took: Duration,
    /// Whether the index was written.
    pub(super) has_written: bool,
}

impl ComparisonResult {
    /// Nothing was written.
    pub(super) fn without_writes(took: Duration) -> Self {
        Self {
            took,
            has_written: false,
        }
    }
}

/// When a source may be compared because time has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PollPace {
    not_before: Instant,
    is_asked: bool,
}

impl PollPace {
    /// A comparison that took so long has ended.
    pub(super) fn record_end(took: Duration, now: Instant) -> Self {
        Self {
            not_before: now + took.saturating_mul(REST_FACTOR).min(MAX_REST),
            is_asked: false,
        }
    }

    /// The watch asks for a comparison.
    pub(super) fn request(&mut self) {
        self.is_asked = true;
    }

    /// How long it is to be waited for the comparison that was asked for; none where none was.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        let wait = self.not_before.saturating_duration_since(now);
        self.is_asked.then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_what_takes_long_is_compared_more_rarely() {
        let interval = Duration::from_secs(30);
        // A comparison takes so many milliseconds; the next begins so many seconds after it.
        for (took, next) in [
            (0, 30),
            (1_000, 30),
            (1_500, 30),
            (11_000, 220),
            (60_000, 1_200),
            (3_600_000, 3_600),
        ] {
            let start = Instant::now();
            let mut pace = PollPace::record_end(Duration::from_millis(took), start);
            assert_eq!(pace.wait(start + interval), None, "nobody has asked");
            pace.request();
            let wait = pace.wait(start + interval).expect("it was asked for");
            assert_eq!(interval + wait, Duration::from_secs(next), "{took} ms");
        }
    }
}
