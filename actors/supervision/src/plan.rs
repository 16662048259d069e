//! What a supervisor does next: pure, a function of its children's phases.
//!
//! The supervisor asks again after each step and each event (level-triggered), so no order of
//! failures, stops and delays needs a path of its own.

use std::time::Duration;

use crate::Strategy;

/// Where a child is, as the plan needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// To be started.
    Idle,
    /// To be started at this time.
    BackingOff(Duration),
    /// A life runs.
    Up,
    /// Its life was ordered to stop.
    Stopping,
    /// Stays down; children that depend on it stay down, too.
    Parked,
    /// Over.
    Ended,
}

/// What comes after the stop of a child that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Started again with the sibling it depends on.
    Again,
    /// Nothing.
    End,
}

/// A child as the plan sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) phase: Phase,
    /// Has to stop.
    pub(crate) fate: Option<Fate>,
    /// Started at run time: in no order with its siblings.
    pub(crate) dynamic: bool,
}

impl Slot {
    pub(crate) fn new(dynamic: bool) -> Self {
        Self {
            phase: Phase::Idle,
            fate: None,
            dynamic,
        }
    }

    fn condemned(&self) -> bool {
        self.phase == Phase::Up && self.fate.is_some()
    }

    /// Children started after this one have to wait for it.
    fn holds_up(&self) -> bool {
        !self.dynamic
            && matches!(
                self.phase,
                Phase::Idle | Phase::BackingOff(_) | Phase::Parked
            )
    }

    fn leaving(&self) -> bool {
        self.phase == Phase::Stopping || self.condemned()
    }
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Order the child at this index to stop.
    Stop(usize),
    /// Make a life of the child at this index.
    Start(usize),
    /// Nothing before an event, or before this time.
    Wait(Option<Duration>),
    /// Every child is down and the supervisor is to end.
    Finished,
}

/// The next step at `now`, for children in start order.
pub(crate) fn next(slots: &[Slot], strategy: Strategy, finishing: bool, now: Duration) -> Step {
    let ordered = finishing || strategy == Strategy::RestForOne;
    if let Some(index) = next_stop(slots, ordered) {
        return Step::Stop(index);
    }
    if finishing {
        let down = !slots
            .iter()
            .any(|slot| matches!(slot.phase, Phase::Up | Phase::Stopping));
        return if down {
            Step::Finished
        } else {
            Step::Wait(None)
        };
    }
    next_start(slots, strategy, now).map_or_else(|| Step::Wait(next_due(slots)), Step::Start)
}

/// In reverse start order, one at a time where the order counts; dynamic children all at once.
fn next_stop(slots: &[Slot], ordered: bool) -> Option<usize> {
    let last = |dynamic: bool| {
        slots
            .iter()
            .rposition(|s| s.condemned() && s.dynamic == dynamic)
    };
    let blocked = ordered && slots.iter().any(|slot| slot.phase == Phase::Stopping);
    last(true).or_else(|| if blocked { None } else { last(false) })
}

fn next_start(slots: &[Slot], strategy: Strategy, now: Duration) -> Option<usize> {
    let due = |slot: &Slot| match slot.phase {
        Phase::Idle => true,
        Phase::BackingOff(until) => until <= now,
        _ => false,
    };
    if strategy == Strategy::OneForOne {
        return slots.iter().position(due);
    }
    if slots.iter().any(Slot::leaving) {
        return None;
    }
    let first_held_up = slots.iter().position(Slot::holds_up).unwrap_or(slots.len());
    slots.iter().take(first_held_up + 1).position(due)
}

fn next_due(slots: &[Slot]) -> Option<Duration> {
    let until = |slot: &Slot| match slot.phase {
        Phase::BackingOff(until) => Some(until),
        _ => None,
    };
    slots.iter().filter_map(until).min()
}

/// After a failure of the child at `index`: who has to stop with it.
pub(crate) fn condemn_rest(slots: &mut [Slot], index: usize, strategy: Strategy) {
    if strategy == Strategy::RestForOne {
        for slot in slots.iter_mut().skip(index + 1) {
            condemn(slot, Fate::Again);
        }
    }
}

/// The supervisor is to end: everybody has to stop, nobody is started any more.
pub(crate) fn condemn_all(slots: &mut [Slot]) {
    for slot in slots {
        condemn(slot, Fate::End);
        if matches!(slot.phase, Phase::Idle | Phase::BackingOff(_)) {
            slot.phase = Phase::Ended;
        }
    }
}

fn condemn(slot: &mut Slot, fate: Fate) {
    if matches!(slot.phase, Phase::Up | Phase::Stopping) && slot.fate != Some(Fate::End) {
        slot.fate = Some(fate);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{
        Just, Strategy as Generate, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };

    use super::*;

    const NOW: Duration = Duration::from_secs(10);
    const LATER: Duration = Duration::from_secs(11);

    fn at(phase: Phase) -> Slot {
        Slot {
            phase,
            fate: None,
            dynamic: false,
        }
    }

    /// Name | children | strategy | finishing | next step at `NOW`. A child is a letter: Idle,
    /// backing off until Now or Later, Up, Stopping, Parked, Ended; a capital one has to stop; D is
    /// a dynamic one that is up and has to stop.
    const STEPS: &str = "
        in order                    | ii  | one  |     | start 0
        then the next               | ui  | rest |     | start 1
        all up                      | uu  | rest |     | wait
        no children                 |     | one  |     | wait
        siblings do not wait        | li  | one  |     | start 1
        dependants wait             | li  | rest |     | wait until later
        when due                    | ni  | rest |     | start 0
        parked holds dependants up  | pi  | rest |     | wait
        but no sibling              | pi  | one  |     | start 1
        ended holds nobody up       | ei  | rest |     | start 1
        the last one stops first    | nUU | rest |     | stop 2
        one at a time               | nUS | rest |     | wait until now
        in any order                | US  | one  |     | stop 0
        but the end has an order    | US  | one  | end | wait
        dynamic ones all at once    | UDS | one  | end | stop 1
        all down                    | ep  | one  | end | finished
        nothing starts at the end   | iS  | one  | end | wait
    ";

    fn slot(letter: char) -> Slot {
        let phase = match letter.to_ascii_lowercase() {
            'i' => Phase::Idle,
            'n' => Phase::BackingOff(NOW),
            'l' => Phase::BackingOff(LATER),
            'u' | 'd' => Phase::Up,
            's' => Phase::Stopping,
            'p' => Phase::Parked,
            'e' => Phase::Ended,
            other => panic!("no phase {other}"),
        };
        let fate = letter.is_ascii_uppercase().then_some(Fate::Again);
        Slot {
            phase,
            fate,
            dynamic: letter == 'D',
        }
    }

    fn step(text: &str) -> Step {
        match text.split_once(' ').unwrap_or((text, "")) {
            ("start", index) => Step::Start(index.parse().unwrap()),
            ("stop", index) => Step::Stop(index.parse().unwrap()),
            ("wait", "") => Step::Wait(None),
            ("wait", "until now") => Step::Wait(Some(NOW)),
            ("wait", "until later") => Step::Wait(Some(LATER)),
            ("finished", "") => Step::Finished,
            other => panic!("no step {other:?}"),
        }
    }

    #[test]
    fn a_table_of_steps() {
        for line in STEPS.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let columns: Vec<&str> = line.split('|').map(str::trim).collect();
            let [name, children, strategy, finishing, expected] = columns[..] else {
                panic!("five columns: {line}");
            };
            let slots: Vec<Slot> = children.chars().map(slot).collect();
            let strategy = match strategy {
                "rest" => Strategy::RestForOne,
                _ => Strategy::OneForOne,
            };
            let found = next(&slots, strategy, finishing == "end", NOW);
            assert_eq!(found, step(expected), "{name}");
        }
    }

    #[test]
    fn who_stops_with_a_failed_child() {
        let up = [at(Phase::Up); 3];
        let mut slots = up;
        condemn_rest(&mut slots, 0, Strategy::OneForOne);
        assert_eq!(slots, up);
        condemn_rest(&mut slots, 1, Strategy::RestForOne);
        assert_eq!(slots.map(|slot| slot.fate), [None, None, Some(Fate::Again)]);
        condemn_all(&mut slots);
        assert_eq!(slots.map(|slot| slot.fate), [Some(Fate::End); 3]);
        condemn_rest(&mut slots, 0, Strategy::RestForOne);
        assert_eq!(
            slots.map(|slot| slot.fate),
            [Some(Fate::End); 3],
            "an end is final"
        );
    }

    fn any_slot() -> impl Generate<Value = Slot> {
        let phase = prop_oneof![
            Just(Phase::Idle),
            (0_u64..20).prop_map(|at| Phase::BackingOff(Duration::from_secs(at))),
            Just(Phase::Up),
            Just(Phase::Stopping),
            Just(Phase::Parked),
            Just(Phase::Ended),
        ];
        let fate = prop_oneof![Just(None), Just(Some(Fate::Again)), Just(Some(Fate::End))];
        (phase, fate, any::<bool>()).prop_map(|(phase, fate, dynamic)| Slot {
            phase,
            fate,
            dynamic,
        })
    }

    /// Plays the supervisor: stops and starts take effect at once.
    fn obey(slots: &mut [Slot], step: Step) -> bool {
        match step {
            Step::Stop(index) => slots[index].phase = Phase::Stopping,
            Step::Start(index) => slots[index].phase = Phase::Up,
            Step::Wait(_) | Step::Finished => return false,
        }
        true
    }

    proptest! {
        /// From any state: stops end, in reverse order, with every child down.
        #[test]
        fn the_end_is_always_reached(
            mut slots in proptest::collection::vec(any_slot(), 0..12),
            rest in any::<bool>(),
        ) {
            let strategy = if rest { Strategy::RestForOne } else { Strategy::OneForOne };
            condemn_all(&mut slots);
            let mut stopped = Vec::new();
            for _ in 0..100 {
                let step = next(&slots, strategy, true, NOW);
                if step == Step::Finished {
                    break;
                }
                if let Step::Stop(index) = step && !slots[index].dynamic {
                    stopped.push(index);
                }
                if !obey(&mut slots, step) {
                    for slot in &mut slots {
                        if slot.phase == Phase::Stopping { *slot = at(Phase::Ended); }
                    }
                }
            }
            prop_assert_eq!(next(&slots, strategy, true, NOW), Step::Finished);
            prop_assert!(stopped.is_sorted_by(|a, b| a > b), "{:?}", stopped);
        }

        /// A dependant never starts while a child it depends on is down.
        #[test]
        fn no_dependant_runs_ahead(mut slots in proptest::collection::vec(any_slot(), 0..12)) {
            for _ in 0..100 {
                let step = next(&slots, Strategy::RestForOne, false, NOW);
                if let Step::Start(index) = step {
                    prop_assert!(!slots[..index].iter().any(Slot::holds_up));
                    prop_assert!(!slots.iter().any(Slot::leaving));
                }
                if !obey(&mut slots, step) { break; }
            }
        }
    }
}
