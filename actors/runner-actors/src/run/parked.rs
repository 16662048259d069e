//! Runs that wait and have no actor meanwhile: what they hold.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::calls::CallGroups;
use super::group_line::{GroupLine, TurnWatch};
use crate::groups::{GroupRejection, GroupTicket};
use crate::run_queue::RunQueue;

/// Runs that have their place in a concurrency group while they wait; clones share it.
#[derive(Clone, Default)]
pub(crate) struct ParkedRuns(Arc<Mutex<HashMap<String, ParkedRun>>>);

/// What the jobs and calls of a run have of their concurrency groups.
#[derive(Default)]
pub(super) struct HeldPlaces {
    /// The places of its jobs in the lines of their groups.
    pub(super) line: GroupLine,
    /// The groups of its called workflows, and their places before them.
    pub(super) calls: CallGroups,
}

impl HeldPlaces {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.line.is_empty() && self.calls.is_empty()
    }
}

/// What a run holds.
pub(crate) struct ParkedRun {
    /// Its turn in the group, once it has it.
    pub(crate) ticket: Option<GroupTicket>,
    /// Who waits for that, where it is what the run waits for.
    waits: Option<TurnWatch>,
    /// What its jobs have of their own groups, and its calls of theirs.
    pub(super) places: HeldPlaces,
    /// Why it shall end, once a newer run of its group wants its place.
    pub(crate) cancel: watch::Sender<Option<String>>,
}

impl ParkedRun {
    /// Of a run that waits for something else than its own turn, which it has where it has a group.
    pub(super) fn new(
        ticket: Option<GroupTicket>,
        places: HeldPlaces,
        cancel: watch::Sender<Option<String>>,
    ) -> Self {
        Self {
            ticket,
            waits: None,
            places,
            cancel,
        }
    }

    /// Whether it was told to end, or has what it waits for in its group, or in one of a job or
    /// call.
    fn is_due(&self) -> bool {
        let has_turn = self.waits.is_some() && self.ticket.is_some();
        let has_place = self.places.line.is_due() || self.places.calls.is_due();
        has_turn || has_place || self.cancel.borrow().is_some()
    }
}

impl ParkedRuns {
    pub(crate) fn put(&self, run: &str, parked: ParkedRun) {
        let former = self.0.lock().insert(run.to_owned(), parked);
        // Its ticket goes when nothing is locked.
        drop(former);
    }

    /// Of a run that waits for its turn, or for the reason why it never has it: it is put into the
    /// queue then.
    pub(crate) fn put_waiting(
        &self,
        run: &str,
        turn: impl Future<Output = Result<GroupTicket, GroupRejection>> + 'static,
        cancel: watch::Sender<Option<String>>,
        queue: RunQueue,
    ) {
        let (parked, id) = (self.clone(), run.to_owned());
        let waits = TurnWatch::spawn(async move {
            let turn = turn.await;
            parked.record_turn(&id, turn);
            parked.wake(&id, &queue);
        });
        let parked = ParkedRun {
            ticket: None,
            waits: Some(waits),
            places: HeldPlaces::default(),
            cancel,
        };
        self.put(run, parked);
    }

    fn record_turn(&self, run: &str, turn: Result<GroupTicket, GroupRejection>) {
        let unused = match (self.0.lock().get_mut(run), turn) {
            (Some(parked), Ok(ticket)) => parked.ticket.replace(ticket),
            (Some(parked), Err(reason)) => {
                parked.cancel.send_replace(Some(reason.to_string()));
                None
            }
            (None, turn) => turn.ok(),
        };
        // As above.
        drop(unused);
    }

    pub(crate) fn take(&self, run: &str) -> Option<ParkedRun> {
        self.0.lock().remove(run)
    }

    /// Whether a run that waits is to be started again: it was told to end, or has its turn.
    pub(crate) fn is_due(&self, run: &str) -> bool {
        self.0.lock().get(run).is_some_and(ParkedRun::is_due)
    }

    /// Has a run that waits look at what it was told.
    pub(crate) fn wake(&self, run: &str, queue: &RunQueue) {
        if self.0.lock().contains_key(run) {
            queue.push(run.to_owned());
        }
    }
}
