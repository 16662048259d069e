//! What a job counts so that nothing of its steps meets: steps that run beside each other count
//! together.

use std::cell::Cell;

/// The counts of a job.
#[derive(Debug, Default)]
pub(super) struct JobCounters(Cell<JobCounts>);

/// What was counted so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct JobCounts {
    /// Processes: their files' directory.
    pub(super) processes: u32,
    /// Steps that ran, those of composite actions too.
    pub(super) steps: u32,
    /// Actions that were planned when their step ran.
    deferred: usize,
    /// Steps that were containers.
    containers: usize,
}

impl JobCounters {
    pub(super) fn now(&self) -> JobCounts {
        self.0.get()
    }

    /// Goes on from these counts.
    pub(super) fn set(&self, counts: JobCounts) {
        self.0.set(counts);
    }

    fn change(&self, change: impl FnOnce(&mut JobCounts)) -> JobCounts {
        let mut counts = self.0.get();
        change(&mut counts);
        self.0.set(counts);
        counts
    }

    /// The number of one more process, from 1.
    pub(super) fn next_process(&self) -> u32 {
        self.change(|counts| counts.processes += 1).processes
    }

    /// The number of one more action that is planned when its step runs, from 1.
    pub(super) fn next_deferred(&self) -> usize {
        self.change(|counts| counts.deferred += 1).deferred
    }

    /// The number of one more step that is a container, from 0.
    pub(super) fn next_container(&self) -> usize {
        self.change(|counts| counts.containers += 1).containers - 1
    }

    /// One more step ran.
    pub(super) fn count_step(&self) {
        self.change(|counts| counts.steps += 1);
    }

    /// That was no work of its own.
    pub(super) fn uncount_step(&self) {
        self.change(|counts| counts.steps -= 1);
    }
}
