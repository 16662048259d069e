//! The open database as readers reach it.

use crate::blobs::SegmentStorage;
use crate::error::StoreError;
use crate::health::{HealthRecord, State};
use crate::read::ReadTxn;
use parking_lot::RwLock;
use redb::Database;
use std::sync::Arc;

/// The place that holds the database. The engine alone opens and closes it; readers take snapshots.
#[derive(Debug)]
pub(crate) struct DatabaseSlot {
    /// The store's file, for messages.
    pub(crate) place: String,
    /// The database; empty while it cannot be opened, and after closing.
    pub(crate) open: RwLock<Option<Database>>,
    /// What was appended beside the rows.
    pub(crate) segments: Arc<dyn SegmentStorage>,
    /// Says why there is no database.
    pub(crate) health: Arc<HealthRecord>,
}

impl DatabaseSlot {
    /// A snapshot of what `open` holds.
    pub(crate) fn snapshot<'s>(
        &'s self,
        open: &Option<Database>,
    ) -> Result<ReadTxn<'s>, StoreError> {
        let db = open.as_ref().ok_or_else(|| self.refusal())?;
        ReadTxn::new(db, &self.place, &*self.segments)
    }

    /// Why there is no database.
    pub(crate) fn refusal(&self) -> StoreError {
        let place = self.place.clone();
        match &*self.health.state.borrow() {
            State::Closed => StoreError::Closed,
            State::Full => StoreError::Full { place },
            State::Failing(reason) => StoreError::Storage {
                place,
                reason: reason.clone(),
            },
            State::Ready => StoreError::Storage {
                place,
                reason: "it is being reopened".to_owned(),
            },
        }
    }
}
