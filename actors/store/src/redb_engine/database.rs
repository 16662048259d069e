//! The open database as readers reach it.

use super::snapshot::RedbSnapshot;
use crate::blobs::SegmentStorage;
use crate::engine::SnapshotSource;
use crate::error::StoreError;
use crate::health::HealthRecord;
use crate::read::ReadTxn;
use parking_lot::RwLock;
use redb::Database;
use std::sync::Arc;

/// The place that holds the database. The engine alone opens and closes it; readers take snapshots.
#[derive(Debug)]
pub(super) struct DatabaseSlot {
    /// The store's file, for messages.
    pub(super) place: String,
    /// The database; empty while it cannot be opened, and after closing.
    pub(super) open: RwLock<Option<Database>>,
    /// What was appended beside the rows.
    pub(super) segments: Arc<dyn SegmentStorage>,
    /// Says why there is no database.
    pub(super) health: Arc<HealthRecord>,
}

impl DatabaseSlot {
    /// A snapshot of what `open` holds.
    pub(super) fn snapshot_of<'s>(
        &'s self,
        open: &Option<Database>,
    ) -> Result<RedbSnapshot<'s>, StoreError> {
        let db = open.as_ref().ok_or_else(|| self.refusal())?;
        RedbSnapshot::new(db, &self.place, &*self.segments)
    }

    /// Why there is no database.
    pub(super) fn refusal(&self) -> StoreError {
        self.health.state.borrow().refusal(&self.place)
    }
}

impl SnapshotSource for DatabaseSlot {
    fn place(&self) -> &str {
        &self.place
    }

    fn snapshot(&self, work: &mut dyn FnMut(Result<&mut ReadTxn<'_>, StoreError>)) {
        // Recursive, because `work` may read again while a reopening waits for the lock.
        let open = self.open.read_recursive();
        match self.snapshot_of(&open) {
            Ok(mut rows) => work(Ok(&mut ReadTxn::new(&mut rows))),
            Err(error) => work(Err(error)),
        }
    }
}
