//! Whether the leader is gone, from what the database says of it.
//!
//! | lock | released | silent | step |
//! |---|---|---|---|
//! | free | yes | any | take |
//! | free | no | for less than the grace | wait: it may be reconnecting |
//! | free | no | longer | take |
//! | held | any | for no longer than the lease | wait: it is well |
//! | held | any | longer, and the database works on what it asked, not too long | wait: it is slow |
//! | held | any | longer | end its session, then look again |

use std::time::Duration;

/// What is seen of the holder of a store, all by the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HolderSigns {
    /// Its session, which has the lock, lives.
    pub is_locked: bool,
    /// It gave the store free, or there was none yet.
    pub is_released: bool,
    /// How long ago it said that it is well.
    pub silent: Duration,
    /// For how long the database has worked on what its session asked, if it does: until then the
    /// holder can say nothing.
    pub worked_for: Option<Duration>,
}

/// For how long a holder keeps the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaseTerms {
    /// Without a sign of life, while its session lives.
    pub lease: Duration,
    /// Without a session: a database that was restarted has ended it, and the holder comes back.
    pub grace: Duration,
    /// Without a sign of life, while the database works on what its session asked. A session whose
    /// process was killed may be at work as well, and take-overs are promised within 10 s.
    pub stall: Duration,
}

impl Default for LeaseTerms {
    /// 5 s and 3 s: a holder says that it is well every quarter of a lease of 8 s, or every 2 s.
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(5),
            grace: Duration::from_secs(3),
            stall: Duration::from_secs(8),
        }
    }
}

/// What to do about the holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakeoverStep {
    /// Nothing.
    Wait,
    /// End its session: nothing it had under way can happen any more then.
    EndSession,
    /// Take the store.
    Take,
}

/// What to do about a holder that shows these signs.
#[must_use]
pub(crate) fn next_step(signs: &HolderSigns, terms: &LeaseTerms) -> TakeoverStep {
    match signs.is_locked {
        true if signs.silent > terms.lease && !is_at_work(signs, terms) => TakeoverStep::EndSession,
        true => TakeoverStep::Wait,
        false if may_take(signs, terms) => TakeoverStep::Take,
        false => TakeoverStep::Wait,
    }
}

/// Whether the holder waits for the database, and not the database for the holder. Another would
/// wait as long, and work under way would be lost.
fn is_at_work(signs: &HolderSigns, terms: &LeaseTerms) -> bool {
    signs
        .worked_for
        .is_some_and(|worked_for| worked_for <= terms.stall)
}

/// Whether a store may be taken whose lock this process has got.
#[must_use]
pub(crate) fn may_take(signs: &HolderSigns, terms: &LeaseTerms) -> bool {
    signs.is_released || signs.silent > terms.grace
}

/// The shortest and the longest time between two attempts to take a store that is not to be had.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(5)];

/// How long it is not tried again after so many attempts in a row that failed.
#[must_use]
pub(crate) fn pause_after(attempts: u32) -> Duration {
    let [shortest, longest] = PAUSES;
    let doubled = 1u32.checked_shl(attempts.saturating_sub(1));
    (shortest * doubled.unwrap_or(u32::MAX).min(1000)).min(longest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn signs(is_locked: bool, is_released: bool, silent_ms: u64) -> HolderSigns {
        HolderSigns {
            is_locked,
            is_released,
            silent: Duration::from_millis(silent_ms),
            worked_for: None,
        }
    }

    #[test]
    fn i18_the_step_follows_from_lock_release_and_silence() {
        use TakeoverStep::{EndSession, Take, Wait};
        for (locked, released, silent, expected) in [
            (false, true, 0, Take),
            (false, true, 99_000, Take),
            (false, false, 0, Wait),
            (false, false, 3_000, Wait),
            (false, false, 3_001, Take),
            (true, false, 0, Wait),
            (true, false, 5_000, Wait),
            (true, false, 5_001, EndSession),
            (true, true, 1_000, Wait),
            (true, true, 5_001, EndSession),
        ] {
            let found = next_step(&signs(locked, released, silent), &LeaseTerms::default());
            assert_eq!(found, expected, "{locked} {released} {silent}");
        }
    }

    #[test]
    fn i18_a_holder_that_waits_for_a_slow_database_is_well() {
        use TakeoverStep::{EndSession, Take, Wait};
        for (locked, silent, worked_for, expected) in [
            (true, 7_000, Some(6_900), Wait),
            (true, 7_000, Some(0), Wait),
            (true, 8_000, Some(8_000), Wait),
            // Nobody knows whether it is there.
            (true, 8_001, Some(8_001), EndSession),
            // The database waits for it.
            (true, 7_000, None, EndSession),
            (false, 7_000, None, Take),
        ] {
            let signs = HolderSigns {
                worked_for: worked_for.map(Duration::from_millis),
                ..signs(locked, false, silent)
            };
            let found = next_step(&signs, &LeaseTerms::default());
            assert_eq!(found, expected, "{locked} {silent} {worked_for:?}");
        }
    }

    #[test]
    fn i18_a_store_that_is_not_to_be_had_is_tried_less_and_less_often() {
        let pauses = [1, 2, 3, 5, 6, 7, 40, u32::MAX].map(|n| pause_after(n).as_millis());
        assert_eq!(pauses, [250, 500, 1000, 4000, 5000, 5000, 5000, 5000]);
    }

    proptest! {
        /// A holder that says within every lease that it is well keeps the store, unless it gave
        /// it free.
        #[test]
        fn i18_a_holder_that_is_well_is_never_taken_from(silent in 0u64..3_000, locked: bool) {
            let step = next_step(&signs(locked, false, silent), &LeaseTerms::default());
            prop_assert_eq!(step, TakeoverStep::Wait);
        }

        /// Whatever happened to a holder, a store that nobody renews is taken in the end: first the
        /// session is ended, then the store is free.
        #[test]
        fn i18_a_silent_holder_is_always_followed(silent in 5_001u64..1_000_000, released: bool) {
            let terms = LeaseTerms::default();
            let step = next_step(&signs(true, released, silent), &terms);
            prop_assert_eq!(step, TakeoverStep::EndSession);
            let step = next_step(&signs(false, released, silent), &terms);
            prop_assert_eq!(step, TakeoverStep::Take);
        }

        /// More silence never makes a step back.
        #[test]
        fn i18_silence_only_helps(one in 0u64..20_000, more in 0u64..20_000, locked: bool, released: bool) {
            let terms = LeaseTerms::default();
            let rank = |silent| match next_step(&signs(locked, released, silent), &terms) {
                TakeoverStep::Wait => 0,
                TakeoverStep::EndSession | TakeoverStep::Take => 1,
            };
            prop_assert!(rank(one + more) >= rank(one));
        }
    }
}
