//! What an engine is: where rows and blobs are kept, behind the one handle. There are two, redb in
//! a folder and a PostgreSQL server.

use crate::error::StoreError;
use crate::health::HealthRecord;
use crate::read::ReadTxn;
use crate::write::WriteTxn;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// The writer's side of a store: commits groups of requests, finds out what became of a failed one.
/// Dropped, it closes what it opened.
pub(crate) trait Engine: Send {
    /// Where it is, for messages; without a password.
    fn place(&self) -> String;

    /// What `/readyz` and `/metrics` ask.
    fn health(&self) -> &Arc<HealthRecord>;

    /// The readers' side.
    fn snapshots(&self) -> Arc<dyn SnapshotSource>;

    /// Runs requests as one group: all are durable on `Ok`, none on an error but `Unknown`. `body`
    /// is called at most once; not at all where the store takes no requests.
    fn group(&mut self, body: &mut dyn FnMut(&mut WriteTxn<'_>)) -> Result<(), StoreError>;

    /// Tries a store that was full or failing, if it is time to.
    fn probe(&mut self);

    /// When the writer should look after the store although nothing is asked.
    fn probe_in(&self) -> Duration;

    /// Looks after the store while nothing is asked, so that health says what is wrong before
    /// somebody asks.
    fn check_health(&mut self);

    /// Closes the store, for others to open.
    fn close(&mut self);

    /// Goes on where another store was left: the next group has a number above `group`, and its
    /// blobs begin behind `blob_end`, as [`crate::blobs::BlobEnd`] writes itself.
    fn continue_from(&mut self, group: u64, blob_end: &[u8]) -> Result<(), StoreError>;

    /// Writes bytes of a segment of another store where they stood; durable on `Ok`.
    fn import_segment(&mut self, segment: u32, at: u64, bytes: &[u8]) -> Result<(), StoreError>;

    /// Removes all segments: what a copy that did not end has left.
    fn clear_segments(&mut self) -> Result<(), StoreError>;

    /// What its database is called by; empty where it is in none.
    fn server(&mut self) -> String {
        String::new()
    }
}

/// Runs one request as a group of its own, before there is a writer's thread.
pub(crate) fn alone<T>(
    engine: &mut dyn Engine,
    work: impl FnOnce(&mut WriteTxn<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut work = Some(work);
    let mut result = Err(StoreError::Closed);
    engine.group(&mut |txn| {
        if let Some(work) = work.take() {
            result = txn.scope(work);
        }
    })?;
    result
}

/// What readers get their rows from.
pub(crate) trait SnapshotSource: Debug + Send + Sync {
    /// Where the store is, for messages.
    fn place(&self) -> &str;

    /// Whether blobs stand packed in rows: then whoever appends one may pack it before.
    fn packs_blobs(&self) -> bool {
        false
    }

    /// Calls `work` once, with a snapshot or with the reason why there is none.
    fn snapshot(&self, work: &mut dyn FnMut(Result<&mut ReadTxn<'_>, StoreError>));
}
