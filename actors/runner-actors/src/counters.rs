//! What the runner counts, for its metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use runner_core::state::RunState;

/// Upper bounds of the durations' buckets, in seconds.
pub const BUCKETS: [u64; 12] = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 21_600];

/// Counters since the runner's start.
#[derive(Debug, Default)]
pub struct RunCounters {
    ended: [AtomicU64; RunState::ALL.len()],
    /// Runs by the first bucket they fit in; the last one is for longer ones.
    took: [AtomicU64; BUCKETS.len() + 1],
    took_ms: AtomicU64,
    accepted: AtomicU64,
    duplicates: AtomicU64,
    refused: AtomicU64,
    vms_recovered: AtomicU64,
}

/// How long runs took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durations {
    /// Runs that took at most so many seconds: one more than [`BUCKETS`], the last one counts all.
    pub cumulative: Vec<u64>,
    /// Milliseconds in all.
    pub sum_ms: u64,
}

impl RunCounters {
    pub(crate) fn run_ended(&self, state: RunState, took_ms: u64) {
        if let Some(at) = RunState::ALL.iter().position(|known| *known == state) {
            self.ended[at].fetch_add(1, Ordering::Relaxed);
        }
        let fits = BUCKETS.iter().position(|most| took_ms <= most * 1000);
        self.took[fits.unwrap_or(BUCKETS.len())].fetch_add(1, Ordering::Relaxed);
        self.took_ms.fetch_add(took_ms, Ordering::Relaxed);
    }

    pub(crate) fn delivery(&self, is_new: bool) {
        let counter = if is_new {
            &self.accepted
        } else {
            &self.duplicates
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn vm_recovered(&self) {
        self.vms_recovered.fetch_add(1, Ordering::Relaxed);
    }

    /// Ended runs, by state.
    pub fn ended(&self) -> impl Iterator<Item = (RunState, u64)> {
        let states = RunState::ALL.iter().zip(&self.ended);
        states
            .filter(|(state, _)| state.is_terminal())
            .map(|(state, count)| (*state, count.load(Ordering::Relaxed)))
    }

    /// How long they took, from their event to their end.
    #[must_use]
    pub fn durations(&self) -> Durations {
        let mut sum = 0;
        let cumulative = self.took.iter().map(|count| {
            sum += count.load(Ordering::Relaxed);
            sum
        });
        Durations {
            cumulative: cumulative.collect(),
            sum_ms: self.took_ms.load(Ordering::Relaxed),
        }
    }

    /// Deliveries: accepted, seen before, refused because too many runs wait.
    #[must_use]
    pub fn deliveries(&self) -> [u64; 3] {
        [&self.accepted, &self.duplicates, &self.refused]
            .map(|counter| counter.load(Ordering::Relaxed))
    }

    /// VMs that were left over and given back by the garbage collector.
    #[must_use]
    pub fn vms_recovered(&self) -> u64 {
        self.vms_recovered.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_cumulative_and_ends_are_counted_by_state() {
        let counters = RunCounters::default();
        counters.run_ended(RunState::Succeeded, 900);
        counters.run_ended(RunState::Succeeded, 61_000);
        counters.run_ended(RunState::Failed, 90_000_000);
        let durations = counters.durations();
        assert_eq!(durations.cumulative[0], 1);
        assert_eq!(durations.cumulative[5], 1, "60 s");
        assert_eq!(durations.cumulative[6], 2);
        assert_eq!(durations.cumulative[BUCKETS.len()], 3);
        assert_eq!(durations.sum_ms, 90_061_900);
        let ended: Vec<u64> = counters.ended().map(|(_, count)| count).collect();
        assert_eq!(ended, [2, 1, 0, 0, 0, 0, 0]);
    }
}
