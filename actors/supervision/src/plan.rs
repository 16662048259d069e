//! What a supervisor does next: pure, a function of its children's phases.
//!
//! The supervisor asks again after each step and each event (level-triggered), so no order of
//! failures, stops and delays needs a path of its own.

use std::time::Duration;

use crate::policy::RestartStrategy;

/// Where a child is, as the plan needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildPhase {
    /// To be started.
    Idle,
    /// To be started at this time.
    BackingOff(Duration),
    /// An incarnation runs.
    Running,
    /// Its incarnation was told to stop.
    Stopping,
    /// Stays down; children that depend on it stay down, too.
    Parked,
    /// It ended and is not restarted.
    Ended,
}

/// What comes after the stop of a child that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterStop {
    /// It is started again with the sibling it depends on.
    Restart,
    /// Nothing.
    End,
}

/// A child as the plan sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChildStatus {
    pub(crate) phase: ChildPhase,
    /// Set when it has to stop.
    pub(crate) after_stop: Option<AfterStop>,
    /// Started at run time: in no order with its siblings.
    pub(crate) dynamic: bool,
}

impl ChildStatus {
    pub(crate) fn new(dynamic: bool) -> Self {
        Self {
            phase: ChildPhase::Idle,
            after_stop: None,
            dynamic,
        }
    }

    fn has_to_stop(&self) -> bool {
        self.phase == ChildPhase::Running && self.after_stop.is_some()
    }

    /// Children started after this one have to wait for it.
    fn blocks_later_children(&self) -> bool {
        !self.dynamic
            && matches!(
                self.phase,
                ChildPhase::Idle | ChildPhase::BackingOff(_) | ChildPhase::Parked
            )
    }

    fn is_leaving(&self) -> bool {
        self.phase == ChildPhase::Stopping || self.has_to_stop()
    }
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestartStep {
    /// Stop the child at this index.
    Stop(usize),
    /// Start the child at this index.
    Start(usize),
    /// Nothing before an event, or before this time.
    Wait(Option<Duration>),
    /// Every child is down and the supervisor is to end.
    Finished,
}

/// The next step at `now`, for children in start order.
pub(crate) fn next(
    children: &[ChildStatus],
    strategy: RestartStrategy,
    finishing: bool,
    now: Duration,
) -> RestartStep {
    let ordered = finishing || strategy == RestartStrategy::RestForOne;
    if let Some(index) = next_stop(children, ordered) {
        return RestartStep::Stop(index);
    }
    if finishing {
        let down = !children
            .iter()
            .any(|child| matches!(child.phase, ChildPhase::Running | ChildPhase::Stopping));
        return if down {
            RestartStep::Finished
        } else {
            RestartStep::Wait(None)
        };
    }
    next_start(children, strategy, now)
        .map_or_else(|| RestartStep::Wait(next_due(children)), RestartStep::Start)
}

/// In reverse start order, one at a time where the order counts; dynamic children all at once.
fn next_stop(children: &[ChildStatus], ordered: bool) -> Option<usize> {
    let last = |dynamic: bool| {
        children
            .iter()
            .rposition(|s| s.has_to_stop() && s.dynamic == dynamic)
    };
    let blocked = ordered
        && children
            .iter()
            .any(|child| child.phase == ChildPhase::Stopping);
    last(true).or_else(|| if blocked { None } else { last(false) })
}

fn next_start(children: &[ChildStatus], strategy: RestartStrategy, now: Duration) -> Option<usize> {
    let due = |child: &ChildStatus| match child.phase {
        ChildPhase::Idle => true,
        ChildPhase::BackingOff(until) => until <= now,
        _ => false,
    };
    if strategy == RestartStrategy::OneForOne {
        return children.iter().position(due);
    }
    if children.iter().any(ChildStatus::is_leaving) {
        return None;
    }
    let first_held_up = children
        .iter()
        .position(ChildStatus::blocks_later_children)
        .unwrap_or(children.len());
    children.iter().take(first_held_up + 1).position(due)
}

fn next_due(children: &[ChildStatus]) -> Option<Duration> {
    let until = |child: &ChildStatus| match child.phase {
        ChildPhase::BackingOff(until) => Some(until),
        _ => None,
    };
    children.iter().filter_map(until).min()
}

/// After a failure of the child at `index`: who has to stop with it.
pub(crate) fn mark_rest(children: &mut [ChildStatus], index: usize, strategy: RestartStrategy) {
    if strategy == RestartStrategy::RestForOne {
        for child in children.iter_mut().skip(index + 1) {
            mark(child, AfterStop::Restart);
        }
    }
}

/// The supervisor is to end: everybody has to stop, nobody is started any more.
pub(crate) fn mark_all(children: &mut [ChildStatus]) {
    for child in children {
        mark(child, AfterStop::End);
        if matches!(child.phase, ChildPhase::Idle | ChildPhase::BackingOff(_)) {
            child.phase = ChildPhase::Ended;
        }
    }
}

fn mark(child: &mut ChildStatus, after_stop: AfterStop) {
    if matches!(child.phase, ChildPhase::Running | ChildPhase::Stopping)
        && child.after_stop != Some(AfterStop::End)
    {
        child.after_stop = Some(after_stop);
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

    fn at(phase: ChildPhase) -> ChildStatus {
        ChildStatus {
            phase,
            after_stop: None,
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

    fn child(letter: char) -> ChildStatus {
        let phase = match letter.to_ascii_lowercase() {
            'i' => ChildPhase::Idle,
            'n' => ChildPhase::BackingOff(NOW),
            'l' => ChildPhase::BackingOff(LATER),
            'u' | 'd' => ChildPhase::Running,
            's' => ChildPhase::Stopping,
            'p' => ChildPhase::Parked,
            'e' => ChildPhase::Ended,
            other => panic!("no phase {other}"),
        };
        let after_stop = letter.is_ascii_uppercase().then_some(AfterStop::Restart);
        ChildStatus {
            phase,
            after_stop,
            dynamic: letter == 'D',
        }
    }

    fn step(text: &str) -> RestartStep {
        match text.split_once(' ').unwrap_or((text, "")) {
            ("start", index) => RestartStep::Start(index.parse().unwrap()),
            ("stop", index) => RestartStep::Stop(index.parse().unwrap()),
            ("wait", "") => RestartStep::Wait(None),
            ("wait", "until now") => RestartStep::Wait(Some(NOW)),
            ("wait", "until later") => RestartStep::Wait(Some(LATER)),
            ("finished", "") => RestartStep::Finished,
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
            let children: Vec<ChildStatus> = children.chars().map(child).collect();
            let strategy = match strategy {
                "rest" => RestartStrategy::RestForOne,
                _ => RestartStrategy::OneForOne,
            };
            let found = next(&children, strategy, finishing == "end", NOW);
            assert_eq!(found, step(expected), "{name}");
        }
    }

    #[test]
    fn who_stops_with_a_failed_child() {
        let up = [at(ChildPhase::Running); 3];
        let mut children = up;
        mark_rest(&mut children, 0, RestartStrategy::OneForOne);
        assert_eq!(children, up);
        mark_rest(&mut children, 1, RestartStrategy::RestForOne);
        assert_eq!(
            children.map(|child| child.after_stop),
            [None, None, Some(AfterStop::Restart)]
        );
        mark_all(&mut children);
        assert_eq!(
            children.map(|child| child.after_stop),
            [Some(AfterStop::End); 3]
        );
        mark_rest(&mut children, 0, RestartStrategy::RestForOne);
        assert_eq!(
            children.map(|child| child.after_stop),
            [Some(AfterStop::End); 3],
            "an end is final"
        );
    }

    fn any_child() -> impl Generate<Value = ChildStatus> {
        let phase = prop_oneof![
            Just(ChildPhase::Idle),
            (0_u64..20).prop_map(|at| ChildPhase::BackingOff(Duration::from_secs(at))),
            Just(ChildPhase::Running),
            Just(ChildPhase::Stopping),
            Just(ChildPhase::Parked),
            Just(ChildPhase::Ended),
        ];
        let after_stop = prop_oneof![
            Just(None),
            Just(Some(AfterStop::Restart)),
            Just(Some(AfterStop::End))
        ];
        (phase, after_stop, any::<bool>()).prop_map(|(phase, after_stop, dynamic)| ChildStatus {
            phase,
            after_stop,
            dynamic,
        })
    }

    /// Plays the supervisor: stops and starts take effect at once.
    fn obey(children: &mut [ChildStatus], step: RestartStep) -> bool {
        match step {
            RestartStep::Stop(index) => children[index].phase = ChildPhase::Stopping,
            RestartStep::Start(index) => children[index].phase = ChildPhase::Running,
            RestartStep::Wait(_) | RestartStep::Finished => return false,
        }
        true
    }

    proptest! {
        /// From any state: stops end, in reverse order, with every child down.
        #[test]
        fn the_end_is_always_reached(
            mut children in proptest::collection::vec(any_child(), 0..12),
            rest in any::<bool>(),
        ) {
            let strategy = if rest { RestartStrategy::RestForOne } else { RestartStrategy::OneForOne };
            mark_all(&mut children);
            let mut stopped = Vec::new();
            for _ in 0..100 {
                let step = next(&children, strategy, true, NOW);
                if step == RestartStep::Finished {
                    break;
                }
                if let RestartStep::Stop(index) = step && !children[index].dynamic {
                    stopped.push(index);
                }
                if !obey(&mut children, step) {
                    for child in &mut children {
                        if child.phase == ChildPhase::Stopping { *child = at(ChildPhase::Ended); }
                    }
                }
            }
            prop_assert_eq!(next(&children, strategy, true, NOW), RestartStep::Finished);
            prop_assert!(stopped.is_sorted_by(|a, b| a > b), "{:?}", stopped);
        }

        /// A dependant never starts while a child it depends on is down.
        #[test]
        fn no_dependant_runs_ahead(mut children in proptest::collection::vec(any_child(), 0..12)) {
            for _ in 0..100 {
                let step = next(&children, RestartStrategy::RestForOne, false, NOW);
                if let RestartStep::Start(index) = step {
                    prop_assert!(!children[..index].iter().any(ChildStatus::blocks_later_children));
                    prop_assert!(!children.iter().any(ChildStatus::is_leaving));
                }
                if !obey(&mut children, step) { break; }
            }
        }
    }
}
