//! When a call is worth repeating, and after how long. Pure: the time and the chance are arguments.

use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime};

use crate::http::HttpError;

/// How often a call is repeated, and after which delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most attempts, the first among them; 0 and 1 both mean no repetition.
    pub attempts: u32,
    /// The delay after the first attempt; it doubles with each.
    pub first: Duration,
    /// The longest delay, also for what `Retry-After` asks for.
    pub longest: Duration,
}

impl Default for RetryPolicy {
    /// 4 attempts, 0.25 s doubling, 30 s at most.
    fn default() -> Self {
        Self {
            attempts: 4,
            first: Duration::from_millis(250),
            longest: Duration::from_secs(30),
        }
    }
}

/// What an error means for another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It may go away by itself; the peer may have asked for a delay.
    Worth {
        /// What `Retry-After` said.
        after: Option<Duration>,
    },
    /// It will be the same again.
    Useless,
}

/// What to do after an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Try again after this delay.
    Again(Duration),
    /// Leave it.
    GiveUp,
}

impl Retry {
    /// Judges an error. Connect errors, broken connections, time-outs, 408, 425, 429 and 5xx (but
    /// 501 and 505) may pass; the rest is the request's own fault, or the peer's for good.
    #[must_use]
    pub fn for_error(error: &HttpError) -> Self {
        match error {
            HttpError::Unavailable { .. } | HttpError::TimedOut { .. } => {
                Self::Worth { after: None }
            }
            HttpError::Status {
                status: 408 | 425 | 429 | 500 | 502..=504 | 506..=599,
                retry_after,
                ..
            } => Self::Worth {
                after: *retry_after,
            },
            // Rate limits of GitHub come as 403 with this header.
            HttpError::Status {
                status: 403,
                retry_after: Some(after),
                ..
            } => Self::Worth {
                after: Some(*after),
            },
            // Cut short: whether it stays so is up to the network.
            HttpError::BadBody { .. } => Self::Worth { after: None },
            _ => Self::Useless,
        }
    }
}

impl RetryPolicy {
    /// What to do after attempt number `attempt` (from 1) ended in an error judged as `retry`.
    /// `chance` from 0 to 1 spreads the delay between half and whole, so that many callers do not
    /// come back together.
    #[must_use]
    pub fn verdict(&self, attempt: u32, retry: Retry, chance: f64) -> RetryDecision {
        let Retry::Worth { after } = retry else {
            return RetryDecision::GiveUp;
        };
        if attempt >= self.attempts {
            return RetryDecision::GiveUp;
        }
        let own = self.delay(attempt, chance);
        match after {
            // A peer that asks for more than we are ready to wait is left alone.
            Some(after) if after > self.longest => RetryDecision::GiveUp,
            Some(after) => RetryDecision::Again(after.max(own)),
            None => RetryDecision::Again(own),
        }
    }

    /// The delay after attempt number `attempt` (from 1), spread by `chance` from 0 to 1.
    #[must_use]
    pub fn delay(&self, attempt: u32, chance: f64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        let whole = self.first.saturating_mul(1 << doublings).min(self.longest);
        whole.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }
}

/// What a `Retry-After` value says, counted from `now`: seconds, or a date (RFC 9110, section
/// 10.2.3). A date that has passed is no delay.
#[must_use]
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?;
    let date = SystemTime::from(date.timestamp());
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// A chance from 0 to 1, from the randomness that keys the standard library's hash maps.
#[must_use]
pub fn jitter() -> f64 {
    let hash = std::hash::RandomState::new().build_hasher().finish();
    f64::from((hash >> 32) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::CallPhase;

    fn status(status: u16, retry_after: Option<u64>) -> HttpError {
        HttpError::Status {
            url: "http://x/".into(),
            status,
            retry_after: retry_after.map(Duration::from_secs),
            body: String::new(),
        }
    }

    #[test]
    fn what_may_pass_is_worth_another_attempt() {
        let url = || "http://x/".to_owned();
        let unavailable = HttpError::Unavailable {
            url: url(),
            reason: "connection refused".into(),
            sent: false,
        };
        let timed_out = HttpError::TimedOut {
            url: url(),
            after: Duration::from_secs(1),
            phase: CallPhase::Waiting,
        };
        let cut = HttpError::BadBody {
            url: url(),
            reason: "cut short".into(),
        };
        for error in [unavailable, timed_out, cut] {
            assert_eq!(
                Retry::for_error(&error),
                Retry::Worth { after: None },
                "{error}"
            );
        }
        for code in [408, 425, 429, 500, 502, 503, 504, 507, 520, 529, 599] {
            let worth = Retry::Worth { after: None };
            assert_eq!(Retry::for_error(&status(code, None)), worth, "{code}");
        }
        let after = Some(Duration::from_secs(7));
        assert_eq!(
            Retry::for_error(&status(429, Some(7))),
            Retry::Worth { after }
        );
        assert_eq!(
            Retry::for_error(&status(403, Some(7))),
            Retry::Worth { after }
        );
        for code in [
            301, 304, 400, 401, 403, 404, 409, 410, 413, 415, 422, 501, 505,
        ] {
            assert_eq!(
                Retry::for_error(&status(code, None)),
                Retry::Useless,
                "{code}"
            );
        }
        let refused = HttpError::Refused {
            url: url(),
            address: [127, 0, 0, 1].into(),
        };
        assert_eq!(Retry::for_error(&refused), Retry::Useless);
        let large = HttpError::TooLarge {
            url: url(),
            limit: 1,
        };
        assert_eq!(Retry::for_error(&large), Retry::Useless);
    }

    #[test]
    fn delays_double_up_to_the_longest_and_are_spread() {
        let policy = RetryPolicy {
            attempts: 10,
            first: Duration::from_millis(100),
            longest: Duration::from_secs(1),
        };
        let millis = |attempt, chance| policy.delay(attempt, chance).as_millis();
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 40, u32::MAX].map(|attempt| millis(attempt, 1.0)),
            [100, 200, 400, 800, 1000, 1000, 1000, 1000]
        );
        assert_eq!(
            [0.0, 0.5, 2.0].map(|chance| millis(1, chance)),
            [50, 75, 100]
        );
    }

    #[test]
    fn a_verdict_counts_attempts_and_heeds_the_peer() {
        let policy = RetryPolicy {
            attempts: 3,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(10),
        };
        let worth = |after: Option<u64>| Retry::Worth {
            after: after.map(Duration::from_secs),
        };
        let again = |seconds| RetryDecision::Again(Duration::from_secs(seconds));
        let table = [
            (1, worth(None), again(1)),
            (2, worth(None), again(2)),
            (3, worth(None), RetryDecision::GiveUp),
            (1, worth(Some(5)), again(5)),
            (2, worth(Some(0)), again(2)),
            (1, worth(Some(10)), again(10)),
            (1, worth(Some(11)), RetryDecision::GiveUp),
            (1, Retry::Useless, RetryDecision::GiveUp),
        ];
        for (attempt, retry, expected) in table {
            let verdict = policy.verdict(attempt, retry, 1.0);
            assert_eq!(verdict, expected, "{attempt} {retry:?}");
        }
        let never = RetryPolicy {
            attempts: 1,
            ..policy
        };
        assert_eq!(never.verdict(1, worth(None), 1.0), RetryDecision::GiveUp);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let table = [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
            ("99999999999999999999999", None),
        ];
        for (value, expected) in table {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(retry_after(value, now), expected, "{value}");
        }
    }

    #[test]
    fn jitter_is_a_chance() {
        let all: Vec<f64> = (0..50).map(|_| jitter()).collect();
        assert!(all.iter().all(|chance| (0.0..=1.0).contains(chance)));
        assert!(all.iter().any(|chance| *chance != all[0]));
    }
}
