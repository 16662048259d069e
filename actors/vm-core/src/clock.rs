//! Whether a guest's clock goes as the host's does: a decision about readings of both.
//!
//! A guest that measures its processor's rate while the host is busy can get it wrong by any
//! factor, and all clones of a template inherit that. What is known of a reading is only that it
//! was made between the question and the answer, so a rate is known as two bounds: they come closer
//! the longer one waits.

use std::time::Duration;

use crate::guest::ClockReading;

/// A guest's clocks, and when the host asked and was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSample {
    /// When it was asked: nanoseconds on the host's steady clock.
    pub asked_ns: u64,
    /// When the answer came, on the same clock.
    pub answered_ns: u64,
    /// The host's wall clock when it was asked: nanoseconds since 1970.
    pub wall_ns: u64,
    /// What the guest said.
    pub guest: ClockReading,
}

impl ClockSample {
    /// How long the answer took.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        Duration::from_nanos(self.answered_ns.saturating_sub(self.asked_ns))
    }
}

/// How much faster or slower than the host's clock a guest's may be: far more than any real
/// processor's is off, far less than a calibration that went wrong.
pub const RATE_TOLERANCE: f64 = 0.1;

/// How far a guest's wall clock may be from the host's after it was set.
pub const OFFSET_TOLERANCE: Duration = Duration::from_millis(500);

/// What two samples say about the rate of a guest's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// It lies within [`RATE_TOLERANCE`], for certain.
    Right,
    /// It does not, for certain: the guest's seconds per second of the host, at least and at most.
    Wrong {
        /// At least.
        least: f64,
        /// At most.
        most: f64,
    },
    /// The answers took too long for the time between them: wait, and ask again.
    Unsure,
}

/// Compares the guest's steady clock between two samples with the host's.
#[must_use]
pub fn rate(first: &ClockSample, second: &ClockSample) -> Rate {
    // One that goes backwards has stood still, at best.
    let guest = second.guest.steady_ns.saturating_sub(first.guest.steady_ns) as f64;
    // The longest and the shortest time that can have passed between the two readings.
    let longest = second.answered_ns as f64 - first.asked_ns as f64;
    let shortest = second.asked_ns as f64 - first.answered_ns as f64;
    if longest <= 0.0 {
        return Rate::Unsure;
    }
    let least = guest / longest;
    let most = if shortest > 0.0 {
        guest / shortest
    } else {
        f64::INFINITY
    };
    if least > 1.0 + RATE_TOLERANCE || most < 1.0 - RATE_TOLERANCE {
        Rate::Wrong { least, most }
    } else if least >= 1.0 - RATE_TOLERANCE && most <= 1.0 + RATE_TOLERANCE {
        Rate::Right
    } else {
        Rate::Unsure
    }
}

/// How far the guest's wall clock is from the host's, beyond what the time of the answer explains:
/// zero when it may be right.
#[must_use]
pub fn offset(sample: &ClockSample) -> Duration {
    let earliest = sample.wall_ns;
    let took = u64::try_from(sample.round_trip().as_nanos()).unwrap_or(u64::MAX);
    let latest = sample.wall_ns.saturating_add(took);
    let guest = sample.guest.wall_ns;
    Duration::from_nanos(earliest.saturating_sub(guest) + guest.saturating_sub(latest))
}

/// Whether the guest's wall clock is near enough to the host's.
#[must_use]
pub fn is_set(sample: &ClockSample) -> bool {
    offset(sample) <= OFFSET_TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Asked at, answered at, the guest's steady clock; all in milliseconds.
    fn sample((asked, answered, steady): (u64, u64, u64)) -> ClockSample {
        ClockSample {
            asked_ns: asked * MS,
            answered_ns: answered * MS,
            wall_ns: (1_000_000 + asked) * MS,
            guest: ClockReading {
                wall_ns: (1_000_000 + asked) * MS,
                steady_ns: steady * MS,
            },
        }
    }

    #[test]
    fn u9_a_rate_is_right_wrong_or_not_known_yet() {
        let at = (0, 2, 500);
        for (second, wanted) in [
            // 200 ms later, prompt answers.
            ((200, 202, 700), "right"),
            ((200, 202, 1780), "wrong"),
            ((200, 202, 530), "wrong"),
            ((200, 202, 500), "wrong"),
            // The clock went backwards, or stands.
            ((200, 202, 100), "wrong"),
            // Within the tolerance, and beside it.
            ((1000, 1002, 1560), "right"),
            ((1000, 1002, 1700), "wrong"),
            // A slow answer says less, but 6.4 times is seen all the same.
            ((20, 60, 540), "unsure"),
            ((200, 300, 2000), "wrong"),
            ((2000, 2100, 2550), "right"),
            // The samples overlap, or are the wrong way round.
            ((1, 3, 501), "unsure"),
            ((0, 0, 500), "unsure"),
        ] {
            let found = match rate(&sample(at), &sample(second)) {
                Rate::Right => "right",
                Rate::Wrong { least, most } => {
                    assert!(least <= most, "{second:?}");
                    "wrong"
                }
                Rate::Unsure => "unsure",
            };
            assert_eq!(found, wanted, "{second:?}");
        }
    }

    #[test]
    fn u9_an_offset_is_what_the_answer_s_time_does_not_explain() {
        // The guest's clock against the host's when asked, the answer's time, what is left.
        for (guest, took, wanted) in [
            (0_i64, 2_u64, 0_u64),
            (2, 2, 0),
            (-17_000, 2, 17_000),
            (2_000, 2, 1_998),
            (400, 500, 0),
            (600, 500, 100),
        ] {
            let mut it = sample((0, took, 0));
            it.guest.wall_ns = it.wall_ns.checked_add_signed(guest * MS as i64).unwrap();
            let left = offset(&it);
            assert_eq!(left, Duration::from_millis(wanted), "{guest} {took}");
            assert_eq!(is_set(&it), wanted <= 500);
        }
    }
}
