//! The rows of a read: a snapshot of what is committed.

use crate::blobs::{Extent, SegmentStorage};
use crate::error::StoreError;
use crate::rows::raw::{KeyRange, RawRead, RawRow, UnreadableRow};
use crate::write::{page, raw_table};
use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTableMetadata, TableError,
};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

type RawTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// Rows to read, all as of one commit. Held briefly: a reopening of the store waits for its end.
pub struct ReadTxn<'db> {
    txn: ReadTransaction,
    /// The store's file, for messages.
    place: &'db str,
    segments: &'db dyn SegmentStorage,
    /// Tables opened so far; `None` for those without a row ever.
    open: HashMap<&'static str, Option<RawTable>>,
    /// Rows that did not decode: the writer moves them to quarantine afterwards.
    found: Vec<UnreadableRow>,
}

impl<'db> ReadTxn<'db> {
    pub(crate) fn new(
        db: &Database,
        place: &'db str,
        segments: &'db dyn SegmentStorage,
    ) -> Result<Self, StoreError> {
        let txn = db.begin_read();
        Ok(Self {
            txn: txn.map_err(|e| StoreError::from_redb(place, &e.into()))?,
            place,
            segments,
            open: HashMap::new(),
            found: Vec::new(),
        })
    }

    /// The rows that did not decode.
    pub(crate) fn into_found(self) -> Vec<UnreadableRow> {
        self.found
    }

    fn table(&mut self, name: &'static str) -> Result<Option<&RawTable>, StoreError> {
        let slot = match self.open.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => match self.txn.open_table(raw_table(name)) {
                Ok(table) => new.insert(Some(table)),
                Err(TableError::TableDoesNotExist(_)) => new.insert(None),
                Err(e) => return Err(StoreError::from_redb(self.place, &e.into())),
            },
        };
        Ok(slot.as_ref())
    }

    fn failed(&self, error: redb::StorageError) -> StoreError {
        StoreError::from_redb(self.place, &error.into())
    }
}

impl RawRead for ReadTxn<'_> {
    fn raw_get(&mut self, table: &'static str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(table) = self.table(table)? else {
            return Ok(None);
        };
        let row = table.get(key);
        let row = row.map(|row| row.map(|row| row.value().to_vec()));
        row.map_err(|e| self.failed(e))
    }

    fn raw_scan(
        &mut self,
        table: &'static str,
        key_range: &KeyRange,
        limit: usize,
    ) -> Result<Vec<RawRow>, StoreError> {
        let Some(table) = self.table(table)? else {
            return Ok(Vec::new());
        };
        let range = table.range::<&[u8]>(key_range.edges());
        let rows = range.and_then(|range| page(range, key_range.backward, limit));
        rows.map_err(|e| self.failed(e))
    }

    fn raw_len(&mut self, table: &'static str) -> Result<u64, StoreError> {
        let Some(table) = self.table(table)? else {
            return Ok(0);
        };
        let len = table.len();
        len.map_err(|e| self.failed(e))
    }

    fn found_unreadable(&mut self, found: UnreadableRow) -> Result<(), StoreError> {
        self.found.push(found);
        Ok(())
    }

    fn raw_blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError> {
        let read = extent.read_from(self.segments);
        read.map_err(|e| StoreError::from_redb(self.place, &redb::Error::Io(e)))
    }
}
