//! What a run under way is told.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::records::RunRecord;

/// What a run under way is told.
#[derive(Clone)]
pub(super) struct RunSignals {
    /// Why it shall end.
    pub(super) cancel: watch::Sender<Option<String>>,
    /// Somebody asks once more for its end.
    pub(super) insisted: Arc<Notify>,
    /// Somebody said something to what waits.
    pub(super) reviewed: Arc<Notify>,
}

impl Default for RunSignals {
    fn default() -> Self {
        Self {
            cancel: watch::channel(None).0,
            insisted: Arc::default(),
            reviewed: Arc::default(),
        }
    }
}

/// Why the run shall end, once somebody asks for it.
pub(super) async fn cancellation(cancelled: &mut watch::Receiver<Option<String>>) -> String {
    match cancelled.wait_for(Option::is_some).await {
        Ok(reason) => reason.clone().unwrap_or_default(),
        // The sender is held by whoever drives the run.
        Err(_) => std::future::pending().await,
    }
}

/// Who may end a run before its jobs begin: with jobs of a previous incarnation nobody, since those
/// that say `always()` run after a cancellation.
pub(super) fn before_jobs(
    cancel: &watch::Sender<Option<String>>,
    record: &RunRecord,
) -> watch::Receiver<Option<String>> {
    match record.jobs.iter().all(|job| job.kept_from.is_some()) {
        true => cancel.subscribe(),
        false => watch::channel(None).1,
    }
}

/// Work that is done within this time is done though the run is to end: its name and its number are
/// known by then.
const GRACE: Duration = Duration::from_secs(2);

/// What comes of work, or why the run shall end before it is done.
pub(super) async fn unless_cancelled<T>(
    cancelled: &mut watch::Receiver<Option<String>>,
    work: impl Future<Output = T>,
) -> Result<T, String> {
    let mut work = std::pin::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => Ok(done),
        reason = cancellation(cancelled) => {
            tokio::time::timeout(GRACE, work).await.map_err(|_| reason)
        }
    }
}
