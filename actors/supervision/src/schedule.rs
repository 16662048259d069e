//! When a tick runs next: pure, the clock is an argument.
//!
//! The clock may be any that tells the time since some origin. It may jump (somebody sets it,
//! daylight saving, a suspended machine); the schedule never trusts a difference it did not expect:
//! a jump ahead makes at most one tick come early, a jump back makes none come twice and delays
//! none by more than one interval.

use std::time::Duration;

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickDecision {
    /// Run the tick, and tell the schedule when it has [ended](TickSchedule::record_end).
    Run,
    /// Ask again after this time, or when somebody wakes the tick. Never more than the interval.
    Wait(Duration),
    /// A run has not ended: ask again when it has.
    Running,
}

/// The schedule of one repeated job: the next run is booked when the previous one ended, so that
/// runs never overlap and never pile up.
#[derive(Debug, Clone)]
pub struct TickSchedule {
    interval: Duration,
    state: State,
    woken: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Booked for this time of the clock.
    Booked {
        due: Duration,
    },
    Running,
}

impl TickSchedule {
    /// A schedule whose first run is due `interval` after `now`.
    pub fn new(interval: Duration, now: Duration) -> Self {
        let due = now.saturating_add(interval);
        Self {
            interval,
            state: State::Booked { due },
            woken: false,
        }
    }

    /// Asks for a run as soon as possible. However often it is called before that run begins, it
    /// is one run; called during a run, it asks for one more.
    pub fn wake(&mut self) {
        self.woken = true;
    }

    /// Another interval. A run that is booked later than that from now comes at the new interval.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// What to do at `now`.
    pub fn next(&mut self, now: Duration) -> TickDecision {
        let State::Booked { due } = self.state else {
            return TickDecision::Running;
        };
        if self.woken || due <= now {
            self.woken = false;
            self.state = State::Running;
            return TickDecision::Run;
        }
        if due - now > self.interval {
            // The clock went back since the run was booked: book again by what it says now.
            self.state = State::Booked {
                due: now.saturating_add(self.interval),
            };
            return TickDecision::Wait(self.interval);
        }
        TickDecision::Wait(due - now)
    }

    /// The run has ended at `now`: books the next one.
    pub fn record_end(&mut self, now: Duration) {
        self.state = State::Booked {
            due: now.saturating_add(self.interval),
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::{
        collection::vec,
        prelude::{Just, Strategy as Generate, any, prop_assert, prop_oneof, proptest},
    };

    use super::*;

    const INTERVAL: Duration = Duration::from_secs(300);
    const HOUR: u64 = 3600;
    const YEAR: u64 = 365 * 24 * HOUR;
    /// Of the wall clock in the tests: late enough to go back a year.
    const START: u64 = 50 * YEAR;

    /// A machine whose clock can be set, and a schedule that reads it. Sleeping takes the true
    /// time that was asked for, whatever the clock does meanwhile.
    struct Machine {
        /// Seconds that really passed while the machine was awake.
        awake: u64,
        /// What the clock says, in seconds.
        clock: u64,
        schedule: TickSchedule,
        /// The times (awake) at which a run began.
        runs: Vec<u64>,
    }

    impl Machine {
        fn new() -> Self {
            let schedule = TickSchedule::new(INTERVAL, Duration::from_secs(START));
            Self {
                awake: 0,
                clock: START,
                schedule,
                runs: Vec::new(),
            }
        }

        fn pass(&mut self, seconds: u64) {
            self.awake += seconds;
            self.clock += seconds;
        }

        fn now(&self) -> Duration {
            Duration::from_secs(self.clock)
        }

        /// Runs what is due, each run taking no time; the seconds to sleep.
        fn settle(&mut self) -> u64 {
            loop {
                match self.schedule.next(self.now()) {
                    TickDecision::Wait(time) => return time.as_secs(),
                    TickDecision::Run => self.runs.push(self.awake),
                    TickDecision::Running => self.schedule.record_end(self.now()),
                }
            }
        }

        /// Lives for so many true seconds; `jump` is added to the clock in the middle of a sleep.
        fn live(&mut self, seconds: u64, jump: i64) {
            let end = self.awake + seconds;
            let mut jump = Some(jump);
            while self.awake < end {
                let sleep = self.settle().min(end - self.awake);
                if let Some(jump) = jump.take() {
                    self.pass(sleep / 2);
                    self.clock = self.clock.saturating_add_signed(jump);
                    self.pass(sleep - sleep / 2);
                } else {
                    self.pass(sleep);
                }
            }
            self.settle();
        }
    }

    #[test]
    fn another_interval_brings_a_run_forward_or_comes_after_it() {
        let seconds = Duration::from_secs;
        let mut schedule = TickSchedule::new(seconds(300), seconds(0));
        assert_eq!(schedule.next(seconds(10)), TickDecision::Wait(seconds(290)));
        schedule.set_interval(seconds(5));
        assert_eq!(schedule.next(seconds(10)), TickDecision::Wait(seconds(5)));
        assert_eq!(schedule.next(seconds(15)), TickDecision::Run);
        schedule.record_end(seconds(16));
        schedule.set_interval(seconds(300));
        assert_eq!(schedule.next(seconds(16)), TickDecision::Wait(seconds(5)));
        assert_eq!(schedule.next(seconds(21)), TickDecision::Run);
        schedule.record_end(seconds(22));
        assert_eq!(schedule.next(seconds(22)), TickDecision::Wait(seconds(300)));
    }

    #[test]
    fn a_tick_comes_every_interval() {
        let mut machine = Machine::new();
        machine.live(3000, 0);
        assert_eq!(machine.runs, (1..=10).map(|n| n * 300).collect::<Vec<_>>());
    }

    #[test]
    fn f09_a_clock_jump_schedules_nothing_twice_and_at_most_one_catch_up() {
        let hour = i64::try_from(HOUR).unwrap();
        let year = i64::try_from(YEAR).unwrap();
        // Daylight saving is a jump of an hour in local time; a suspend is one ahead, as long as
        // the machine slept.
        let jumps = [
            ("an hour ahead", hour),
            ("an hour back", -hour),
            ("a year ahead", year),
            ("a year back", -year),
            ("daylight saving begins", hour),
            ("daylight saving ends", -hour),
            ("a night suspended", 8 * hour),
            ("a second back", -1),
        ];
        for (name, jump) in jumps {
            let mut machine = Machine::new();
            machine.live(3000, 0);
            let before = machine.runs.len();
            machine.live(3000, jump);
            let after = machine.runs.len() - before;
            // Ten are due in this time; a jump ahead may bring one more, a jump back may cost one.
            assert!((9..=11).contains(&after), "{name}: {after} runs");
            let gaps: Vec<u64> = machine
                .runs
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .collect();
            assert!(
                gaps.iter().all(|gap| *gap > 0),
                "{name}: twice at once, {gaps:?}"
            );
            assert!(
                gaps.iter().all(|gap| *gap <= 600),
                "{name}: a tick was lost, {gaps:?}"
            );
            let early = gaps.iter().filter(|gap| **gap < 300).count();
            assert!(early <= 1, "{name}: {early} catch-up runs, {gaps:?}");
        }
    }

    #[test]
    fn f09_a_jump_during_a_run_neither_repeats_nor_loses_it() {
        for jump in [-i64::try_from(YEAR).unwrap(), i64::try_from(YEAR).unwrap()] {
            let mut machine = Machine::new();
            machine.pass(300);
            assert_eq!(machine.schedule.next(machine.now()), TickDecision::Run);
            machine.clock = machine.clock.saturating_add_signed(jump);
            assert_eq!(machine.schedule.next(machine.now()), TickDecision::Running);
            machine.schedule.record_end(machine.now());
            assert_eq!(
                machine.schedule.next(machine.now()),
                TickDecision::Wait(INTERVAL)
            );
        }
    }

    #[test]
    fn wakes_are_coalesced_and_one_during_a_run_is_not_lost() {
        let now = Duration::from_secs(START);
        let mut schedule = TickSchedule::new(INTERVAL, now);
        for _ in 0..100 {
            schedule.wake();
        }
        assert_eq!(schedule.next(now), TickDecision::Run);
        schedule.wake();
        schedule.wake();
        assert_eq!(schedule.next(now), TickDecision::Running);
        schedule.record_end(now);
        assert_eq!(
            schedule.next(now),
            TickDecision::Run,
            "asked for during the run"
        );
        schedule.record_end(now);
        assert_eq!(schedule.next(now), TickDecision::Wait(INTERVAL));
    }

    #[test]
    fn the_end_of_the_clock_is_no_overflow() {
        let mut schedule = TickSchedule::new(Duration::MAX, Duration::MAX);
        assert_eq!(
            schedule.next(Duration::ZERO),
            TickDecision::Wait(Duration::MAX)
        );
        schedule.record_end(Duration::MAX);
    }

    #[derive(Debug, Clone, Copy)]
    enum Event {
        Jump(u64),
        Pass(u64),
        Wake,
        End,
    }

    fn any_event() -> impl Generate<Value = Event> {
        prop_oneof![
            (START - YEAR..START + YEAR).prop_map(Event::Jump),
            (0..1000_u64).prop_map(Event::Pass),
            Just(Event::Wake),
            Just(Event::End),
        ]
    }

    proptest! {
        /// Whatever happens: no run begins before the previous one ended, and no wait is longer
        /// than the interval.
        #[test]
        fn f09_runs_never_overlap_and_waits_are_bounded(events in vec(any_event(), 1..200)) {
            let mut machine = Machine::new();
            let mut running = false;
            for event in events {
                match event {
                    Event::Jump(clock) => machine.clock = clock,
                    Event::Pass(seconds) => machine.pass(seconds),
                    Event::Wake => machine.schedule.wake(),
                    Event::End if running => {
                        running = false;
                        machine.schedule.record_end(machine.now());
                    }
                    Event::End => {}
                }
                match machine.schedule.next(machine.now()) {
                    TickDecision::Run => {
                        prop_assert!(!running);
                        running = true;
                    }
                    TickDecision::Running => prop_assert!(running),
                    TickDecision::Wait(time) => {
                        prop_assert!(!running);
                        prop_assert!(time <= INTERVAL);
                    }
                }
            }
        }

        /// Whatever one jump: runs in a stretch of true time are as many as intervals fit, one
        /// more at most.
        #[test]
        fn f09_a_jump_adds_at_most_one_run(jump in any::<i32>(), seconds in 300_u64..20_000) {
            let mut machine = Machine::new();
            machine.live(seconds, i64::from(jump));
            let due = seconds / 300;
            let runs = machine.runs.len() as u64;
            prop_assert!(runs <= due + 1, "{} runs, {} due", runs, due);
            prop_assert!(runs + 1 >= due, "{} runs, {} due", runs, due);
        }
    }
}
