//! Ticks as other parts see them: requests for an early one, and figures of the last.

use std::sync::Arc;
use std::time::Duration;

use orchestrator_core::Millis;
use tokio::sync::Notify;

/// Requests an early tick of the dispatcher; clones are the same. Requests are coalesced: any
/// number of them that wait are one, also while the dispatcher restarts.
#[derive(Debug, Clone, Default)]
pub struct TickTrigger(Arc<Notify>);

impl TickTrigger {
    /// Something has changed: reconcile as soon as possible.
    pub fn request(&self) {
        self.0.notify_one();
    }

    /// Waits for a request.
    pub(crate) async fn requested(&self) {
        self.0.notified().await;
    }
}

/// Figures of the ticks of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct TickStats {
    /// When the last one ended.
    pub last_at: Option<Millis>,
    /// How long it took.
    pub last_took: Duration,
    /// How many whole ones there were.
    pub count: u64,
}
