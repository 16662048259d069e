//! The places of a run's jobs in the lines of their concurrency groups.

use std::collections::HashMap;
use std::sync::Arc;

use actix_rt::task::JoinHandle;
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::groups::{GroupRejection, GroupTicket};

/// A copy, whichever incarnation of its run asks: the key of its job, and its number.
pub(super) type CopyKey = (String, usize);

type QueuePosition = Result<GroupTicket, GroupRejection>;

/// A task that waits for a turn; dropped, the place in the group's line is given up.
pub(super) struct TurnWatch(JoinHandle<()>);

impl TurnWatch {
    pub(super) fn spawn(waits: impl Future<Output = ()> + 'static) -> Self {
        Self(actix_rt::spawn(waits))
    }
}

impl Drop for TurnWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The places of a run's copies in the lines of their groups. They outlive its actor.
#[derive(Default)]
pub(super) struct GroupLine {
    changed: Arc<Notify>,
    places: HashMap<CopyKey, GroupPlace>,
}

struct GroupPlace {
    /// Ends the copy, where a newer one of the group wants that.
    cancel: Arc<watch::Sender<bool>>,
    /// Its turn, once it has come.
    turn: Arc<Mutex<Option<QueuePosition>>>,
    /// Who waits for it; dropped, the place is given up.
    _waits: Option<TurnWatch>,
}

impl GroupLine {
    /// Whether no copy has a place.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the turn of a copy has come.
    pub(super) fn is_due(&self) -> bool {
        let mut places = self.places.values();
        places.any(|place| place.turn.lock().is_some())
    }

    /// Waits until the turn of a copy has come.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// What ends a copy that has a place: it had it before the run was parked, where the run knows
    /// of none.
    pub(super) fn cancel_of(&self, key: &CopyKey) -> Option<Arc<watch::Sender<bool>>> {
        let place = self.places.get(key)?;
        Some(Arc::clone(&place.cancel))
    }

    /// Keeps the place that is waited for by `turn`; `told` is called when it has come.
    pub(super) fn keep(
        &mut self,
        key: CopyKey,
        cancel: Arc<watch::Sender<bool>>,
        turn: impl Future<Output = QueuePosition> + 'static,
        told: impl FnOnce() + 'static,
    ) {
        let mut turn = Box::pin(turn);
        let now = turn.as_mut().now_or_never();
        let has_come = now.is_some();
        let slot = Arc::new(Mutex::new(now));
        let waits = (!has_come).then(|| {
            let (slot, changed) = (Arc::clone(&slot), Arc::clone(&self.changed));
            TurnWatch::spawn(async move {
                let turn = turn.await;
                *slot.lock() = Some(turn);
                changed.notify_one();
                told();
            })
        });
        let place = GroupPlace {
            cancel,
            turn: slot,
            _waits: waits,
        };
        self.places.insert(key, place);
    }

    /// The turn of a copy, if it has come: it has no place any more then.
    pub(super) fn take(&mut self, key: &CopyKey) -> Option<QueuePosition> {
        let turn = self.places.get(key)?.turn.lock().take()?;
        self.places.remove(key);
        Some(turn)
    }

    /// Gives up the place of a copy.
    pub(super) fn release(&mut self, key: &CopyKey) {
        self.places.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use runner_core::plan::ConcurrencyGroup;
    use runner_core::workflow::ConcurrencyQueue;

    use super::*;
    use crate::groups::ConcurrencyGroups;

    #[actix_rt::test]
    async fn i17_a_place_in_the_line_is_kept_and_told_of_when_its_turn_has_come() {
        let groups = ConcurrencyGroups::default();
        let group = ConcurrencyGroup {
            name: "deploy".to_owned(),
            cancel_in_progress: false,
            queue: ConcurrencyQueue::Max,
        };
        let enter = || groups.acquire("a/b", &group, Arc::new(|_| {}));
        let key = |number| ("deploy".to_owned(), number);
        let cancel = || Arc::new(watch::channel(false).0);
        let told = Arc::new(Mutex::new(0));
        let tell = || {
            let told = Arc::clone(&told);
            move || *told.lock() += 1
        };
        let mut line = GroupLine::default();
        line.keep(key(0), cancel(), enter(), tell());
        assert!(line.is_due());
        let first = line.take(&key(0)).expect("nobody is before it").ok();
        line.keep(key(1), cancel(), enter(), tell());
        line.keep(key(2), cancel(), enter(), tell());
        assert!(!line.is_due() && line.take(&key(1)).is_none());
        // Who gives its place up is passed over.
        line.release(&key(1));
        tokio::task::yield_now().await;
        drop(first);
        line.changed().await;
        assert!(line.is_due() && *told.lock() == 1);
        assert!(line.take(&key(2)).is_some_and(|turn| turn.is_ok()));
        assert!(line.is_empty());
    }
}
