//! What a process is, and how that changes.
//!
//! ```text
//!      Took ──▶ Starting ── TreeStarted ──▶ Leading ── StoreLost, DrainAsked ──▶ HandingOver ─┐
//!  StandingBy ◀────────────────────────────────────────────────────────────────── TreeEnded ──┘
//!      └── StopAsked, at any time ──▶ (tree ends) ──▶ Ended
//! ```
//! A process that has taken the store is a standby to those who ask until it answers as the leader:
//! what it would pass on to itself would come back to the standby that it still is.
//!
//! A process that was asked to hand over does not take the store back at once: somebody else has to
//! have led meanwhile, or a time has to pass.

use std::time::Duration;

use serde::Serialize;

/// What a process is to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplicaRole {
    /// It has the store, decides and starts work.
    Leader,
    /// It takes deliveries in, passes on the rest, and waits.
    Standby,
}

/// How long a process that was drained leaves the store to others.
pub(crate) const DRAIN_BAN_PERIOD: Duration = Duration::from_secs(30);

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleEvent {
    /// The store is this process's, under this epoch.
    Took(u64),
    /// Its actors run, and it answers as the leader.
    TreeStarted,
    /// Another process has the store.
    StoreLost,
    /// Somebody wants it to hand over.
    DrainAsked,
    /// Its actors have ended, and the store is free.
    TreeEnded,
    /// The process is to end.
    StopAsked,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleAction {
    /// Start the actors, then answer as the leader.
    StartTree,
    /// Stop the actors, then free the store; answer as a standby from now on.
    StopTree,
    /// Look for the store again.
    Watch,
    /// Give a store back that was taken too late.
    GiveBack,
    /// End the process.
    End,
    /// Nothing.
    Nothing,
}

/// Where a process is in its changes of role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    StandingBy,
    Starting,
    Leading,
    HandingOver { ends: bool },
    Ended,
}

/// The role of a process as it changes. Times are since any fixed moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoleState {
    phase: Phase,
    /// The newest epoch that was this process's.
    epoch: u64,
    /// It was drained: until then it takes the store only after another has had it.
    barred_until: Option<Duration>,
}

impl Default for RoleState {
    fn default() -> Self {
        Self {
            phase: Phase::StandingBy,
            epoch: 0,
            barred_until: None,
        }
    }
}

impl RoleState {
    /// What it is now.
    #[must_use]
    pub(crate) fn role(&self) -> ReplicaRole {
        match self.phase {
            Phase::Leading => ReplicaRole::Leader,
            _ => ReplicaRole::Standby,
        }
    }

    /// Whether it has the store, and will lead: its actors are starting.
    #[must_use]
    pub(crate) fn is_starting(&self) -> bool {
        self.phase == Phase::Starting
    }

    /// Whether it led until now, and will stand by: its actors are ending.
    #[must_use]
    pub(crate) fn hands_over(&self) -> bool {
        self.phase == Phase::HandingOver { ends: false }
    }

    /// The newest epoch that was its own; 0 before the first.
    #[must_use]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether it may take the store that was last had under `seen`.
    #[must_use]
    pub(crate) fn may_take(&self, seen: u64, now: Duration) -> bool {
        let is_barred = self.barred_until.is_some_and(|until| now < until) && seen <= self.epoch;
        self.phase == Phase::StandingBy && !is_barred
    }

    /// Goes on by an event, and says what to do.
    pub(crate) fn apply(&mut self, event: RoleEvent, now: Duration) -> RoleAction {
        let (phase, action) = match (self.phase, event) {
            (Phase::StandingBy, RoleEvent::Took(epoch)) => {
                self.epoch = epoch;
                self.barred_until = None;
                (Phase::Starting, RoleAction::StartTree)
            }
            (phase, RoleEvent::Took(_)) => (phase, RoleAction::GiveBack),
            (Phase::Starting, RoleEvent::TreeStarted) => (Phase::Leading, RoleAction::Nothing),
            (Phase::Starting | Phase::Leading, RoleEvent::StoreLost) => {
                (Phase::HandingOver { ends: false }, RoleAction::StopTree)
            }
            (Phase::Starting | Phase::Leading, RoleEvent::DrainAsked) => {
                self.barred_until = Some(now + DRAIN_BAN_PERIOD);
                (Phase::HandingOver { ends: false }, RoleAction::StopTree)
            }
            (Phase::Starting | Phase::Leading, RoleEvent::StopAsked) => {
                (Phase::HandingOver { ends: true }, RoleAction::StopTree)
            }
            (Phase::HandingOver { .. }, RoleEvent::StopAsked) => {
                (Phase::HandingOver { ends: true }, RoleAction::Nothing)
            }
            (Phase::HandingOver { ends: true }, RoleEvent::TreeEnded)
            | (Phase::StandingBy, RoleEvent::StopAsked) => (Phase::Ended, RoleAction::End),
            (
                Phase::HandingOver { ends: false } | Phase::Starting | Phase::Leading,
                RoleEvent::TreeEnded,
            ) => (Phase::StandingBy, RoleAction::Watch),
            (phase, _) => (phase, RoleAction::Nothing),
        };
        self.phase = phase;
        action
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn after(events: &[RoleEvent]) -> (RoleState, RoleAction) {
        let mut state = RoleState::default();
        let mut action = RoleAction::Nothing;
        for event in events {
            action = state.apply(*event, NOW);
        }
        (state, action)
    }

    #[test]
    fn i18_a_process_leads_hands_over_and_stands_by_again() {
        use ReplicaRole::{Leader, Standby};
        use RoleEvent::{DrainAsked, StopAsked, StoreLost, Took, TreeEnded, TreeStarted};
        for (events, role, action) in [
            (&[Took(1)][..], Standby, RoleAction::StartTree),
            (&[Took(1), TreeStarted], Leader, RoleAction::Nothing),
            (&[TreeStarted], Standby, RoleAction::Nothing),
            (
                &[Took(1), TreeStarted, Took(3)],
                Leader,
                RoleAction::GiveBack,
            ),
            (
                &[Took(1), TreeStarted, StoreLost],
                Standby,
                RoleAction::StopTree,
            ),
            (
                &[Took(1), TreeStarted, DrainAsked],
                Standby,
                RoleAction::StopTree,
            ),
            (
                &[Took(1), DrainAsked, TreeStarted],
                Standby,
                RoleAction::Nothing,
            ),
            (
                &[Took(1), TreeStarted, StopAsked],
                Standby,
                RoleAction::StopTree,
            ),
            (&[Took(1), StoreLost], Standby, RoleAction::StopTree),
            (&[Took(1), DrainAsked], Standby, RoleAction::StopTree),
            (&[Took(1), StoreLost, TreeEnded], Standby, RoleAction::Watch),
            (
                &[Took(1), StoreLost, Took(3)],
                Standby,
                RoleAction::GiveBack,
            ),
            (&[Took(1), StopAsked, TreeEnded], Standby, RoleAction::End),
            (
                &[Took(1), StoreLost, StopAsked, TreeEnded],
                Standby,
                RoleAction::End,
            ),
            (&[StopAsked], Standby, RoleAction::End),
            (&[StopAsked, Took(2)], Standby, RoleAction::GiveBack),
            (&[StoreLost], Standby, RoleAction::Nothing),
        ] {
            let (state, last) = after(events);
            assert_eq!((state.role(), last), (role, action), "{events:?}");
            let is_told = |what: &RoleEvent| events.contains(what);
            let hands_over = (is_told(&StoreLost) || is_told(&DrainAsked)) && is_told(&Took(1));
            let ends = is_told(&StopAsked) || is_told(&TreeEnded);
            assert_eq!(state.hands_over(), hands_over && !ends, "{events:?}");
            let is_starting = events == [Took(1)];
            assert_eq!(state.is_starting(), is_starting, "{events:?}");
        }
    }

    #[test]
    fn i18_who_was_drained_waits_for_another_or_for_its_time() {
        use RoleEvent::{DrainAsked, Took, TreeEnded};
        let (state, _) = after(&[Took(7), DrainAsked, TreeEnded]);
        assert!(!state.may_take(7, NOW), "nobody else has had it");
        assert!(state.may_take(8, NOW), "another has led meanwhile");
        assert!(
            state.may_take(7, NOW + DRAIN_BAN_PERIOD),
            "nobody else comes"
        );
        let (lost, _) = after(&[Took(7), RoleEvent::StoreLost, TreeEnded]);
        assert!(lost.may_take(7, NOW), "only a drain bars");
    }

    proptest! {
        /// Whatever happens in whatever order, the actors run only while it starts or leads, are
        /// started only once at a time, and nothing follows the end.
        #[test]
        fn i18_actors_run_exactly_while_it_leads(steps in prop::collection::vec(0u8..6, 0..40)) {
            let (mut state, mut runs, mut ended) = (RoleState::default(), false, false);
            for (n, step) in steps.into_iter().enumerate() {
                let event = match step {
                    0 => RoleEvent::Took(n as u64 + 1),
                    1 => RoleEvent::StoreLost,
                    2 => RoleEvent::DrainAsked,
                    3 => RoleEvent::TreeEnded,
                    4 => RoleEvent::TreeStarted,
                    _ => RoleEvent::StopAsked,
                };
                let action = state.apply(event, NOW);
                match action {
                    RoleAction::StartTree => {
                        prop_assert!(!runs && !ended);
                        runs = true;
                    }
                    RoleAction::StopTree => {
                        prop_assert!(runs);
                        runs = false;
                    }
                    RoleAction::Watch => runs = false,
                    RoleAction::End => {
                        prop_assert!(!runs && !ended);
                        ended = true;
                    }
                    RoleAction::GiveBack | RoleAction::Nothing => {}
                }
                let leads = state.role() == ReplicaRole::Leader;
                prop_assert!(!(leads && state.is_starting()));
                prop_assert_eq!(leads || state.is_starting(), runs);
                prop_assert!(event != RoleEvent::TreeStarted || !state.is_starting());
                prop_assert!(!(ended && state.may_take(u64::MAX, NOW)));
            }
        }
    }
}
