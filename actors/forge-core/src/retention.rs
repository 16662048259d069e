//! The time that ages are measured by, where something is forgotten for its age.
//!
//! A wall clock can jump ahead: a wrong date on the host, a virtual machine that was suspended.
//! Whatever is forgotten then is gone when the clock is put right. So this time follows the wall
//! clock at a limited pace, measured by the monotonic clock: a jump of a year takes two weeks to
//! have its effect, and a machine that was off for a month has caught up after a day.

use std::time::Duration;

/// How much faster than the monotonic clock it may go forward.
const PACE: u32 = 24;

/// The time to measure ages by, in milliseconds since the Unix epoch.
///
/// `last` is what this gave before, or the time of the newest record of a former incarnation;
/// `None` where there is neither. `elapsed` is what has passed since then on the monotonic clock,
/// zero where that is not known. It is never after `now`.
#[must_use]
pub fn trusted(last: Option<u64>, elapsed: Duration, now: u64) -> u64 {
    let step = elapsed.saturating_mul(PACE).as_millis();
    let step = u64::try_from(step).unwrap_or(u64::MAX);
    last.map_or(now, |last| now.min(last.saturating_add(step)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const DAY: u64 = 86_400_000;

    #[test]
    fn u8_a_clock_that_jumps_ahead_ages_nothing_at_once() {
        let now = 400 * DAY;
        let table = [
            // The first look of a new store.
            (None, Duration::ZERO, now),
            // As the clocks go.
            (Some(now - 3_600_000), HOUR, now),
            // A jump of a year, just after a start, and an hour later: a day.
            (Some(now - 365 * DAY), Duration::ZERO, now - 365 * DAY),
            (Some(now - 365 * DAY), HOUR, now - 364 * DAY),
            // Put back: what is in the future does not stay there.
            (Some(now + 365 * DAY), HOUR, now),
            (Some(u64::MAX), Duration::MAX, now),
        ];
        for (last, elapsed, expected) in table {
            assert_eq!(
                trusted(last, elapsed, now),
                expected,
                "{last:?} {elapsed:?}"
            );
        }
    }
}
