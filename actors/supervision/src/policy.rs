//! The restart policy: pure, time is an argument.
//!
//! Count first, then back off: a failure is first counted in a sliding period; past the limit the
//! supervisor gives up (it parks the child or fails itself), else the restart waits for a delay
//! that doubles with each failure in the period. After Erlang/OTP's *maximum restart intensity*
//! (<https://www.erlang.org/doc/system/sup_princ.html>), but counted for each child, so that one
//! failing child does not use up what its siblings are allowed.

use std::{collections::VecDeque, time::Duration};

use serde::Serialize;

use crate::exit::Exit;

/// Which ends are followed by a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// Always restarted, also after a normal end: the services of a program.
    Permanent,
    /// Restarted after a failure, not after a normal end: a job that has to be finished.
    Transient,
    /// Never restarted: a job whose failure is written down by whoever started it.
    Temporary,
}

impl Restart {
    /// Whether an end of this kind is followed by a restart.
    pub fn applies_to(self, exit: &Exit) -> bool {
        match self {
            Self::Permanent => true,
            Self::Transient => exit.is_failure(),
            Self::Temporary => false,
        }
    }
}

/// Which siblings are restarted together with a child that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RestartStrategy {
    /// Only the child that failed.
    #[default]
    OneForOne,
    /// The child and all that were started after it (they depend on it): these are stopped in
    /// reverse order first, and started again in order.
    RestForOne,
}

/// What happens with a child that failed more often than its policy allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PastLimit {
    /// Its supervisor stops the siblings and fails itself: the failure moves up.
    #[default]
    Escalate,
    /// The child stays down until somebody resumes it; its siblings go on.
    Park,
}

/// How many restarts within which time, and how long to wait before each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Restarts allowed within [`period`](Self::period); one failure more and the supervisor
    /// gives up.
    pub intensity: u32,
    /// The sliding period in which failures are counted.
    pub period: Duration,
    /// Delay before the first restart in a period; it doubles with each further one.
    pub first_delay: Duration,
    /// The delay grows no further than this.
    pub max_delay: Duration,
}

impl RestartPolicy {
    /// Workers: 5 restarts in 30 s, after 0.25, 0.5, 1, 2 and 4 s.
    pub const WORKER: Self = Self {
        intensity: 5,
        period: Duration::from_secs(30),
        first_delay: Duration::from_millis(250),
        max_delay: Duration::from_secs(4),
    };

    /// Children of the root: 3 restarts in 300 s.
    pub const ROOT: Self = Self {
        intensity: 3,
        period: Duration::from_secs(300),
        ..Self::WORKER
    };

    /// The delay before the `nth` restart in a period, `nth` counted from 1.
    pub fn delay(&self, nth: u32) -> Duration {
        let doublings = nth.saturating_sub(1).min(31);
        self.first_delay
            .saturating_mul(1 << doublings)
            .min(self.max_delay)
    }
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self::WORKER
    }
}

/// What the policy says about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartDecision {
    /// Start it anew after this time.
    Restart {
        /// Time to wait before that.
        after: Duration,
    },
    /// The limit is passed: park or escalate.
    GiveUp {
        /// Failures within the period, the last one included.
        failures: u32,
    },
}

/// The failures of one child which still count.
#[derive(Debug, Clone, Default)]
pub struct RestartHistory {
    failures: VecDeque<Duration>,
}

impl RestartHistory {
    /// Counts an end that asks for a restart, at `now` (time since any fixed origin, never going
    /// back; a reading before the last one is taken as the last one).
    pub fn decide(&mut self, policy: &RestartPolicy, now: Duration) -> RestartDecision {
        let now = self.failures.back().map_or(now, |last| now.max(*last));
        while self
            .failures
            .front()
            .is_some_and(|at| now - *at >= policy.period)
        {
            self.failures.pop_front();
        }
        self.failures.push_back(now);
        let failures = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
        if failures > policy.intensity {
            RestartDecision::GiveUp { failures }
        } else {
            RestartDecision::Restart {
                after: policy.delay(failures),
            }
        }
    }

    /// Forgets every failure: somebody resumed a parked child by hand.
    pub fn clear(&mut self) {
        self.failures.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{
        Strategy as Generate, prop_assert, prop_assert_eq, prop_assume, proptest,
    };

    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn restart(millis: u64) -> RestartDecision {
        RestartDecision::Restart { after: ms(millis) }
    }

    #[test]
    fn which_ends_are_followed_by_a_new_life() {
        let failures = [
            Exit::Failed("x".into()),
            Exit::Panicked("x".into()),
            Exit::Aborted,
            Exit::Hung { missed: 3 },
        ];
        for exit in failures {
            assert!(Restart::Permanent.applies_to(&exit));
            assert!(Restart::Transient.applies_to(&exit));
            assert!(!Restart::Temporary.applies_to(&exit));
        }
        assert!(Restart::Permanent.applies_to(&Exit::Normal));
        assert!(!Restart::Transient.applies_to(&Exit::Normal));
        assert!(!Restart::Temporary.applies_to(&Exit::Normal));
    }

    #[test]
    fn a_table_of_failures_and_decisions() {
        type Case = (&'static str, RestartPolicy, Vec<(u64, RestartDecision)>);
        let give_up = |failures| RestartDecision::GiveUp { failures };
        let cases: [Case; 5] = [
            (
                "a worker that fails at once: five restarts, doubling, then no more",
                RestartPolicy::WORKER,
                vec![
                    (0, restart(250)),
                    (250, restart(500)),
                    (750, restart(1000)),
                    (1750, restart(2000)),
                    (3750, restart(4000)),
                    (7750, give_up(6)),
                ],
            ),
            (
                "a failure now and then starts from the first delay",
                RestartPolicy::WORKER,
                vec![
                    (0, restart(250)),
                    (30_000, restart(250)),
                    (60_000, restart(250)),
                ],
            ),
            (
                "the period slides: old failures leave one by one",
                RestartPolicy::WORKER,
                vec![
                    (0, restart(250)),
                    (20_000, restart(500)),
                    (31_000, restart(500)),
                ],
            ),
            (
                "children of the root: three in 300 s",
                RestartPolicy::ROOT,
                vec![
                    (0, restart(250)),
                    (100_000, restart(500)),
                    (200_000, restart(1000)),
                    (299_999, give_up(4)),
                ],
            ),
            (
                "no restart allowed at all",
                RestartPolicy {
                    intensity: 0,
                    ..RestartPolicy::WORKER
                },
                vec![(0, give_up(1))],
            ),
        ];
        for (name, policy, steps) in cases {
            let mut history = RestartHistory::default();
            for (at, expected) in steps {
                assert_eq!(
                    history.decide(&policy, ms(at)),
                    expected,
                    "{name}, at {at} ms"
                );
            }
        }
    }

    #[test]
    fn the_delay_stops_growing_and_never_overflows() {
        let policy = RestartPolicy {
            max_delay: ms(3000),
            ..RestartPolicy::WORKER
        };
        assert_eq!(policy.delay(0), ms(250));
        assert_eq!(policy.delay(4), ms(2000));
        assert_eq!(policy.delay(5), ms(3000));
        assert_eq!(policy.delay(u32::MAX), ms(3000));
        let endless = RestartPolicy {
            first_delay: Duration::MAX,
            max_delay: Duration::MAX,
            ..policy
        };
        assert_eq!(endless.delay(9), Duration::MAX);
    }

    #[test]
    fn resuming_by_hand_forgets_the_past() {
        let mut history = RestartHistory::default();
        for _ in 0..6 {
            history.decide(&RestartPolicy::WORKER, ms(0));
        }
        history.clear();
        assert_eq!(history.decide(&RestartPolicy::WORKER, ms(1)), restart(250));
    }

    fn any_policy() -> impl Generate<Value = RestartPolicy> {
        (0_u32..8, 1_u64..60_000, 0_u64..2_000, 0_u64..20_000).prop_map(
            |(intensity, period, first, max)| RestartPolicy {
                intensity,
                period: ms(period),
                first_delay: ms(first),
                max_delay: ms(max),
            },
        )
    }

    proptest! {
        /// Whatever the failures: no period holds more restarts than the intensity.
        #[test]
        fn no_period_has_more_restarts_than_the_intensity(
            policy in any_policy(),
            gaps in proptest::collection::vec(0_u64..20_000, 1..80),
        ) {
            let mut history = RestartHistory::default();
            let mut now = 0;
            let mut restarts: Vec<u64> = Vec::new();
            for gap in gaps {
                now += gap;
                if let RestartDecision::Restart { after } = history.decide(&policy, ms(now)) {
                    prop_assert!(after <= policy.max_delay.max(policy.first_delay));
                    restarts.push(now);
                }
            }
            let period = u64::try_from(policy.period.as_millis()).unwrap();
            for start in &restarts {
                let within = restarts.iter().filter(|at| (*start..start + period).contains(at));
                prop_assert!(within.count() <= policy.intensity as usize);
            }
        }

        /// Failures further apart than the period are restarted for ever.
        #[test]
        fn rare_failures_never_give_up(policy in any_policy(), n in 1_u64..50) {
            prop_assume!(policy.intensity > 0);
            let mut history = RestartHistory::default();
            for i in 0..n {
                let decision = history.decide(&policy, policy.period * u32::try_from(i).unwrap());
                prop_assert_eq!(decision, RestartDecision::Restart { after: policy.delay(1) });
            }
        }

        /// A clock that goes back neither panics nor forgives failures.
        #[test]
        fn a_clock_going_back_is_no_amnesty(times in proptest::collection::vec(0_u64..5_000, 7..40)) {
            let mut history = RestartHistory::default();
            let decisions: Vec<_> =
                times.iter().map(|at| history.decide(&RestartPolicy::WORKER, ms(*at))).collect();
            let gave_up = |d: &RestartDecision| matches!(d, RestartDecision::GiveUp { .. });
            prop_assert!(decisions[5..].iter().all(gave_up));
        }
    }
}
