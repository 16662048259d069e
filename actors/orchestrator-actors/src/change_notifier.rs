//! Who is woken after rows have changed.

use forge_actors::OutboxWorker;
use forge_actors::messages::Wake;
use supervision::ChildRef;

use crate::ticks::TickTrigger;

/// Wakes the actors that act on changed rows. A wake-up that is lost costs time only: the next
/// tick, and the outbox's own interval, find everything in the store.
#[derive(Clone)]
pub(crate) struct ChangeNotifier {
    /// Starts what waits for capacity.
    pub(crate) ticks: TickTrigger,
    /// Posts statuses and comments.
    pub(crate) outbox: ChildRef<OutboxWorker>,
}

impl ChangeNotifier {
    /// Runs have changed, and what is to be posted about them.
    pub(crate) fn notify(&self) {
        self.notify_outbox();
        self.ticks.request();
    }

    /// Something new is to be posted.
    pub(crate) fn notify_outbox(&self) {
        let _ = self.outbox.tell(Wake);
    }
}
