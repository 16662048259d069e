//! Ids of stored runs on their way to the coordinator.
//!
//! ```text
//! RunnerIntake, ScheduleClock, CatchUp, runs ──push──▶ RunQueue ──take──▶ RunCoordinator
//! ```
//! The durable queue is the store; this one saves the coordinator from reading it. It is bounded:
//! ids beyond [`CAPACITY`] are left out, and the coordinator reads them from the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Ids that are held in memory.
const CAPACITY: usize = 16_384;

/// The queue; clones share it.
#[derive(Clone, Default)]
pub(crate) struct RunQueue(Arc<Inner>);

#[derive(Default)]
struct Inner {
    arrivals: Mutex<Arrivals>,
    /// Holds one wake-up at most, also while nobody listens.
    wake: Notify,
    /// Runs that the coordinator has taken and not started.
    taken: AtomicUsize,
}

/// What came since the queue was last emptied.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrivals {
    /// Ids in the order they came.
    pub(crate) runs: Vec<String>,
    /// Ids were left out: the store has them.
    pub(crate) has_overflowed: bool,
}

impl RunQueue {
    /// Adds a stored run.
    pub(crate) fn push(&self, run: String) {
        let is_first = {
            let mut arrivals = self.0.arrivals.lock();
            if arrivals.runs.len() < CAPACITY {
                arrivals.runs.push(run);
            } else {
                arrivals.has_overflowed = true;
            }
            arrivals.runs.len() == 1
        };
        if is_first {
            self.0.wake.notify_one();
        }
    }

    /// Empties the queue.
    pub(crate) fn take(&self) -> Arrivals {
        std::mem::take(&mut self.0.arrivals.lock())
    }

    /// Waits until runs have come.
    pub(crate) async fn arrived(&self) {
        self.0.wake.notified().await;
    }

    /// Says how many taken runs wait to be started.
    pub(crate) fn set_taken(&self, count: usize) {
        self.0.taken.store(count, Ordering::Relaxed);
    }

    /// Stored runs that are not started.
    pub(crate) fn waiting(&self) -> usize {
        let taken = self.0.taken.load(Ordering::Relaxed);
        taken.saturating_add(self.0.arrivals.lock().runs.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[actix_rt::test]
    async fn a_listener_is_woken_once_for_a_batch_and_misses_nothing() {
        let queue = RunQueue::default();
        assert!(queue.arrived().now_or_never().is_none());
        queue.push("a".to_owned());
        queue.push("b".to_owned());
        assert!(queue.arrived().now_or_never().is_some(), "also afterwards");
        assert!(queue.arrived().now_or_never().is_none(), "once");
        assert_eq!(queue.waiting(), 2);
        assert_eq!(queue.take().runs, ["a", "b"]);
        queue.push("c".to_owned());
        assert!(queue.arrived().now_or_never().is_some());
        queue.set_taken(2);
        assert_eq!(queue.waiting(), 3);
    }

    #[test]
    fn ids_beyond_the_capacity_are_left_to_the_store() {
        let queue = RunQueue::default();
        for number in 0..=CAPACITY {
            queue.push(number.to_string());
        }
        let arrivals = queue.take();
        assert_eq!(
            (arrivals.runs.len(), arrivals.has_overflowed),
            (CAPACITY, true)
        );
        assert_eq!(queue.take(), Arrivals::default());
    }
}
