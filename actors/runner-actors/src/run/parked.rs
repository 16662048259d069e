//! Runs that wait and have no actor meanwhile: what they hold.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::groups::GroupTicket;
use crate::run_queue::RunQueue;

/// Runs that hold their concurrency group while they wait; clones share it.
#[derive(Clone, Default)]
pub(crate) struct ParkedRuns(Arc<Mutex<HashMap<String, ParkedRun>>>);

/// What a run holds.
pub(crate) struct ParkedRun {
    pub(crate) ticket: GroupTicket,
    /// Why it shall end, once a newer run of its group wants its place.
    pub(crate) cancel: watch::Sender<Option<String>>,
}

impl ParkedRuns {
    pub(crate) fn put(&self, run: &str, parked: ParkedRun) {
        let former = self.0.lock().insert(run.to_owned(), parked);
        // Its ticket goes when nothing is locked.
        drop(former);
    }

    pub(crate) fn take(&self, run: &str) -> Option<ParkedRun> {
        self.0.lock().remove(run)
    }

    /// Whether a run that waits was told to end.
    pub(crate) fn must_end(&self, run: &str) -> bool {
        let parked = self.0.lock();
        let told = parked
            .get(run)
            .map(|parked| parked.cancel.borrow().is_some());
        told.unwrap_or(false)
    }

    /// Has a run that waits look at what it was told.
    pub(crate) fn wake(&self, run: &str, queue: &RunQueue) {
        if self.0.lock().contains_key(run) {
            queue.push(run.to_owned());
        }
    }
}
