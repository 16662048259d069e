//! The rows of a read: a snapshot of what is committed.

use crate::blobs::Extent;
use crate::error::StoreError;
use crate::row_source::StoreSnapshot;
use crate::rows::raw::{KeyRange, RawRead, RawRow, UnreadableRow};

/// Rows to read, all as of one commit. Held briefly: a reopening of the store waits for its end.
pub struct ReadTxn<'db> {
    rows: &'db mut dyn StoreSnapshot,
    /// Rows that did not decode: the writer moves them to quarantine afterwards.
    found: Vec<UnreadableRow>,
}

impl<'db> ReadTxn<'db> {
    pub(crate) fn new(rows: &'db mut dyn StoreSnapshot) -> Self {
        let found = Vec::new();
        Self { rows, found }
    }

    /// What the engine tells of all its rows.
    pub(crate) fn snapshot(&mut self) -> &mut dyn StoreSnapshot {
        self.rows
    }

    /// The rows that did not decode.
    pub(crate) fn take_found(&mut self) -> Vec<UnreadableRow> {
        std::mem::take(&mut self.found)
    }
}

impl RawRead for ReadTxn<'_> {
    fn raw_get(&mut self, table: &'static str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.rows.get(table, key)
    }

    fn raw_scan(
        &mut self,
        table: &'static str,
        key_range: &KeyRange,
        limit: usize,
    ) -> Result<Vec<RawRow>, StoreError> {
        self.rows.scan(table, key_range, limit)
    }

    fn raw_len(&mut self, table: &'static str) -> Result<u64, StoreError> {
        self.rows.len(table)
    }

    fn found_unreadable(&mut self, found: UnreadableRow) -> Result<(), StoreError> {
        self.found.push(found);
        Ok(())
    }

    fn raw_blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError> {
        self.rows.blob(extent)
    }
}
