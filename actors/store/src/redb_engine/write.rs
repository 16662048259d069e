//! The rows of a group in redb: one transaction, whose tables are opened once.

use crate::blobs::{Extent, SegmentStorage};
use crate::error::StoreError;
use crate::row_source::{PreviousRow, RowChanges, RowSource};
use crate::rows::raw::{KeyRange, RawRow};
use redb::{ReadableTable, ReadableTableMetadata, TableDefinition, WriteTransaction};
use std::collections::HashMap;

type RawTable<'db> = redb::Table<'db, &'static [u8], &'static [u8]>;

/// The definition of any table: bytes to bytes; types are this crate's business.
pub(super) const fn raw_table(name: &str) -> TableDefinition<'_, &'static [u8], &'static [u8]> {
    TableDefinition::new(name)
}

/// A transaction of redb's, with the tables it has opened.
pub(super) struct RedbChanges<'db> {
    txn: &'db WriteTransaction,
    /// The store's file, for messages.
    place: &'db str,
    segments: &'db dyn SegmentStorage,
    /// Tables opened by this group: opening one twice is an error in redb, and not free.
    open: HashMap<String, RawTable<'db>>,
}

impl<'db> RedbChanges<'db> {
    pub(super) fn new(
        txn: &'db WriteTransaction,
        place: &'db str,
        segments: &'db dyn SegmentStorage,
    ) -> Self {
        let open = HashMap::new();
        Self {
            txn,
            place,
            segments,
            open,
        }
    }

    fn table(&mut self, name: &str) -> Result<&mut RawTable<'db>, StoreError> {
        if !self.open.contains_key(name) {
            let table = self.txn.open_table(raw_table(name));
            let table = table.map_err(|e| self.failure(e))?;
            self.open.insert(name.to_owned(), table);
        }
        Ok(self.open.get_mut(name).expect("inserted just above"))
    }

    fn failure(&self, error: impl Into<redb::Error>) -> StoreError {
        StoreError::from_redb(self.place, &error.into())
    }
}

impl RowSource for RedbChanges<'_> {
    fn get(&mut self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let row = self.table(table)?.get(key);
        let row = row.map(|row| row.map(|row| row.value().to_vec()));
        row.map_err(|e| self.failure(e))
    }

    fn scan(
        &mut self,
        table: &str,
        key_range: &KeyRange,
        limit: usize,
    ) -> Result<Vec<RawRow>, StoreError> {
        let range = self.table(table)?.range::<&[u8]>(key_range.edges());
        let rows = range.and_then(|range| page(range, key_range.backward, limit));
        rows.map_err(|e| self.failure(e))
    }

    fn len(&mut self, table: &str) -> Result<u64, StoreError> {
        let len = self.table(table)?.len();
        len.map_err(|e| self.failure(e))
    }

    fn blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError> {
        let read = extent.read_from(self.segments);
        read.map_err(|e| self.failure(redb::Error::Io(e)))
    }
}

impl RowChanges for RedbChanges<'_> {
    fn insert(&mut self, table: &str, key: &[u8], row: &[u8]) -> Result<PreviousRow, StoreError> {
        let before = self.table(table)?.insert(key, row);
        let before = before.map(|row| row.map(|row| row.value().to_vec()));
        before.map(PreviousRow::Row).map_err(|e| self.failure(e))
    }

    fn remove(&mut self, table: &str, key: &[u8]) -> Result<Option<PreviousRow>, StoreError> {
        let before = self.table(table)?.remove(key);
        let before = before.map(|row| row.map(|row| PreviousRow::Row(Some(row.value().to_vec()))));
        before.map_err(|e| self.failure(e))
    }

    fn revert(&mut self, _table: &str, _key: &[u8]) {
        // Each change here knows the row it replaced.
    }

    fn has_touched(&self, table: &str) -> bool {
        self.open.contains_key(table)
    }
}

/// The first `limit` rows of a range, or the last, last first.
pub(super) fn page(
    mut range: redb::Range<'_, &'static [u8], &'static [u8]>,
    backward: bool,
    limit: usize,
) -> Result<Vec<RawRow>, redb::StorageError> {
    let mut rows = Vec::new();
    while rows.len() < limit {
        let next = if backward {
            range.next_back()
        } else {
            range.next()
        };
        let Some(row) = next else { break };
        let (key, row) = row?;
        rows.push((key.value().to_vec(), row.value().to_vec()));
    }
    Ok(rows)
}
