//! A snapshot of the rows in redb.

use super::write::{page, raw_table};
use crate::blobs::{Extent, SegmentStorage};
use crate::error::StoreError;
use crate::row_source::{RowSource, StoreSnapshot, TableCount};
use crate::rows::raw::{KeyRange, RawRow};
use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTableMetadata, TableError,
    TableHandle,
};
use std::collections::HashMap;
use std::io::ErrorKind::{NotFound, UnexpectedEof};

type RawTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// Bytes of a segment that are copied at a time.
const PART_BYTES: u64 = 1 << 20;

/// Rows as of one commit.
pub(super) struct RedbSnapshot<'db> {
    txn: ReadTransaction,
    /// The store's file, for messages.
    place: &'db str,
    segments: &'db dyn SegmentStorage,
    /// Tables opened so far; `None` for those without a row ever.
    open: HashMap<String, Option<RawTable>>,
}

impl<'db> RedbSnapshot<'db> {
    pub(super) fn new(
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
        })
    }

    fn table(&mut self, name: &str) -> Result<Option<&RawTable>, StoreError> {
        if !self.open.contains_key(name) {
            let table = match self.txn.open_table(raw_table(name)) {
                Ok(table) => Some(table),
                Err(TableError::TableDoesNotExist(_)) => None,
                Err(e) => return Err(StoreError::from_redb(self.place, &e.into())),
            };
            self.open.insert(name.to_owned(), table);
        }
        Ok(self.open.get(name).and_then(Option::as_ref))
    }

    fn failed(&self, error: redb::StorageError) -> StoreError {
        StoreError::from_redb(self.place, &error.into())
    }

    fn failed_read(&self, error: std::io::Error) -> StoreError {
        StoreError::from_redb(self.place, &redb::Error::Io(error))
    }
}

impl RowSource for RedbSnapshot<'_> {
    fn get(&mut self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(table) = self.table(table)? else {
            return Ok(None);
        };
        let row = table.get(key);
        let row = row.map(|row| row.map(|row| row.value().to_vec()));
        row.map_err(|e| self.failed(e))
    }

    fn scan(
        &mut self,
        table: &str,
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

    fn len(&mut self, table: &str) -> Result<u64, StoreError> {
        let Some(table) = self.table(table)? else {
            return Ok(0);
        };
        let len = table.len();
        len.map_err(|e| self.failed(e))
    }

    fn blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError> {
        let read = extent.read_from(self.segments);
        read.map_err(|e| self.failed_read(e))
    }
}

impl StoreSnapshot for RedbSnapshot<'_> {
    fn tables(&mut self) -> Result<Vec<TableCount>, StoreError> {
        let tables = self.txn.list_tables().map_err(|e| self.failed(e))?;
        let names: Vec<String> = tables.map(|table| table.name().to_owned()).collect();
        let mut counts = Vec::with_capacity(names.len());
        for name in names {
            let rows = self.len(&name)?;
            counts.push((name, rows));
        }
        Ok(counts)
    }

    fn segments(&mut self) -> Result<Vec<u32>, StoreError> {
        self.segments.list().map_err(|e| self.failed_read(e))
    }

    fn segment_part(
        &mut self,
        segment: u32,
        from: u64,
    ) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let end = self
            .segments
            .len(segment)
            .map_err(|e| self.failed_read(e))?;
        let len = end.saturating_sub(from).min(PART_BYTES);
        let mut part = vec![0; usize::try_from(len).unwrap_or_default()];
        if part.is_empty() || !self.segment_read(segment, from, &mut part)? {
            return Ok(None);
        }
        Ok(Some((from, part)))
    }

    fn segment_read(&mut self, segment: u32, at: u64, out: &mut [u8]) -> Result<bool, StoreError> {
        match self.segments.read(segment, at, out) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), NotFound | UnexpectedEof) => Ok(false),
            Err(error) => Err(self.failed_read(error)),
        }
    }
}
