//! The rows of a write: one transaction, lent to the requests of a group in turn.
//!
//! An engine undoes whole transactions only, and a group's requests share one. So each change
//! leaves a note of what was there before, and a request that fails is undone by its undo_log
//! alone.

mod quarantine;

use crate::blobs::{Blob, BlobBatch, BlobChanges, BlobEnd, Extent, segment_key};
use crate::codec::{Row, encode_row};
use crate::error::StoreError;
use crate::key::Key;
use crate::quarantine::QUARANTINE;
use crate::reentrancy;
use crate::row_source::{PreviousRow, RowChanges};
use crate::rows::raw::{KeyRange, RawRead, RawRow, UnreadableRow};
use crate::table::{MAX_KEY_BYTES, MAX_ROW_BYTES, Table};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rows to read and change. What a request did is undone if it returns an error or panics.
pub struct WriteTxn<'db> {
    rows: &'db mut dyn RowChanges,
    /// Blobs appended and released by the group.
    appends: BlobChanges,
    /// How to undo the request under way, oldest first.
    undo_log: Vec<UndoEntry>,
    /// The number this group will have once committed.
    group: u64,
    /// Bytes written by the group's requests.
    written: usize,
    /// Whether there is anything to commit.
    changed: bool,
    confirms: bool,
    /// The storage failed: the whole group is lost.
    failed: Option<StoreError>,
}

/// What a key held before it was changed.
#[derive(Debug)]
struct UndoEntry {
    table: &'static str,
    key: Vec<u8>,
    before: PreviousRow,
}

/// What a group that may be committed did.
#[derive(Debug)]
pub(crate) struct GroupChanges {
    pub(crate) changed: bool,
    /// Somebody has to know that the store is this process's still.
    pub(crate) confirms: bool,
    pub(crate) quarantined: Option<u64>,
    /// To be durable no later than the rows.
    pub(crate) parts: BlobBatch,
    /// Blobs that no row needs any more.
    pub(crate) released: Vec<Extent>,
    /// Where they end.
    pub(crate) head: BlobEnd,
    /// Segments that no row needs once this is committed.
    pub(crate) emptied: Vec<u32>,
}

impl<'db> WriteTxn<'db> {
    pub(crate) fn new(rows: &'db mut dyn RowChanges, group: u64, appends: BlobChanges) -> Self {
        Self {
            rows,
            group,
            appends,
            undo_log: Vec::new(),
            written: 0,
            changed: false,
            confirms: false,
            failed: None,
        }
    }

    /// Puts a row in place of the one that `key` may have had.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`], [`StoreError::Encode`]; otherwise the storage's, which fail the
    /// whole group even if the request goes on.
    pub fn put<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &K,
        row: &V,
    ) -> Result<(), StoreError> {
        let table = table.name();
        let row = encode_row(row).map_err(|reason| StoreError::Encode { table, reason })?;
        let key = key.to_bytes();
        check(table, "key", key.len(), MAX_KEY_BYTES)?;
        check(table, "row", row.len(), MAX_ROW_BYTES)?;
        self.raw_put(table, key, &row)
    }

    /// Removes the row of `key`; `false` if there was none.
    ///
    /// # Errors
    /// The storage's, which fail the whole group.
    pub fn delete<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &K,
    ) -> Result<bool, StoreError> {
        self.raw_delete(table.name(), key.to_bytes())
    }

    /// Appends a blob, which is durable no later than the rows of this request. Its extent
    /// belongs into one of them.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`].
    pub fn append(&mut self, blob: &Blob) -> Result<Extent, StoreError> {
        let bytes = blob.bytes().len();
        check(META, "piece", bytes, MAX_ROW_BYTES)?;
        self.written += bytes;
        Ok(self.appends.append(blob))
    }

    /// Forgets a blob, once: with the row that holds its extent.
    pub fn release(&mut self, extent: &Extent) {
        self.appends.release(extent);
    }

    /// Has the request fail where another process has the store by now, also if it changes nothing.
    /// What is sent elsewhere in the store's name is sent behind this: a process that was held up
    /// does not contradict its successor then.
    pub fn confirm(&mut self) {
        self.confirms = true;
    }

    /// The number of the commit these rows will be part of: one more than that of the last.
    /// Requests that waited together share it; a group that changes nothing does not use it up.
    pub fn group(&self) -> u64 {
        self.group
    }

    /// Runs one request; its changes stay only if it returns `Ok`.
    pub(crate) fn scope<T, E: From<StoreError>>(
        &mut self,
        work: impl FnOnce(&mut WriteTxn<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mark = self.appends.savepoint();
        let outcome = reentrancy::run(|| catch_unwind(AssertUnwindSafe(|| work(self))));
        let result = outcome.unwrap_or_else(|panic| {
            let message = panic_text(panic.as_ref());
            Err(StoreError::Panicked { message }.into())
        });
        if result.is_err() {
            self.undo();
            self.appends.roll_back_to(mark);
        }
        self.changed |= !self.undo_log.is_empty();
        self.undo_log.clear();
        result
    }

    /// Puts back what the undo_log say, the latest change first.
    fn undo(&mut self) {
        while let Some(UndoEntry { table, key, before }) = self.undo_log.pop() {
            let done = match before {
                PreviousRow::Row(Some(row)) => self.insert(table, &key, &row).map(drop),
                PreviousRow::Row(None) => self.remove(table, &key).map(drop),
                PreviousRow::Committed => {
                    self.rows.revert(table, &key);
                    Ok(())
                }
            };
            if done.is_err() {
                // `failed` is set: nothing of the group will be committed.
                self.undo_log.clear();
            }
        }
    }

    /// Puts a row of another store, which is not undone by itself.
    pub(crate) fn import(&mut self, table: &str, key: &[u8], row: &[u8]) -> Result<(), StoreError> {
        self.written += key.len() + row.len();
        self.changed = true;
        self.insert(table, key, row).map(drop)
    }

    /// Removes a row of any table, which is not undone by itself.
    pub(crate) fn expunge(&mut self, table: &str, key: &[u8]) -> Result<(), StoreError> {
        self.changed = true;
        self.remove(table, key).map(drop)
    }

    pub(crate) fn raw_put(
        &mut self,
        table: &'static str,
        key: Vec<u8>,
        row: &[u8],
    ) -> Result<(), StoreError> {
        self.written += key.len() + row.len();
        let before = self.insert(table, &key, row)?;
        self.undo_log.push(UndoEntry { table, key, before });
        Ok(())
    }

    pub(crate) fn raw_delete(
        &mut self,
        table: &'static str,
        key: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let Some(before) = self.remove(table, &key)? else {
            return Ok(false);
        };
        self.undo_log.push(UndoEntry { table, key, before });
        Ok(true)
    }

    fn insert(&mut self, table: &str, key: &[u8], row: &[u8]) -> Result<PreviousRow, StoreError> {
        let before = self.rows.insert(table, key, row);
        self.noted(before)
    }

    fn remove(&mut self, table: &str, key: &[u8]) -> Result<Option<PreviousRow>, StoreError> {
        let before = self.rows.remove(table, key);
        self.noted(before)
    }

    /// Notes that the storage failed, if it did: the group is lost.
    fn noted<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &outcome {
            self.failed.get_or_insert_with(|| error.clone());
        }
        outcome
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// Ends the group: all its tables are closed, and its number is written if it changed rows.
    pub(crate) fn finish(mut self) -> Result<GroupChanges, StoreError> {
        let mut emptied = Vec::new();
        if self.changed && self.failed.is_none() {
            let number = self.group.to_be_bytes();
            // A failure is noted in `failed`, like any other.
            let _ = self.insert(META, GROUP, &number);
            emptied = self.count_blobs().unwrap_or_default();
        }
        let quarantined = match self.rows.has_touched(QUARANTINE.name()) {
            true => self.raw_len(QUARANTINE.name()).ok(),
            false => None,
        };
        match self.failed {
            Some(error) => Err(error),
            None => Ok(GroupChanges {
                changed: self.changed,
                confirms: self.confirms,
                quarantined,
                head: self.appends.head(),
                released: self.appends.take_released(),
                parts: self.appends.into_batch(),
                emptied,
            }),
        }
    }
}

impl WriteTxn<'_> {
    /// Books what was appended and released; the segments that are no longer needed. A failure is
    /// noted.
    fn count_blobs(&mut self) -> Result<Vec<u32>, StoreError> {
        let head = self.appends.head();
        let mut emptied = Vec::new();
        for (segment, by) in self.appends.changes() {
            let key = segment_key(segment);
            let row = self.raw_get(META, &key)?;
            let used = row.and_then(|row| row.try_into().ok());
            let used = used.map_or(0, u64::from_be_bytes).saturating_add_signed(by);
            if used == 0 && segment != head.segment {
                self.remove(META, &key)?;
                emptied.push(segment);
            } else {
                self.insert(META, &key, &used.to_be_bytes())?;
            }
        }
        self.insert(META, BLOB_END, &head.to_bytes())?;
        Ok(emptied)
    }
}

/// The store's own numbers.
pub(crate) const META: &str = "_meta";
/// In [`META`]: the number of the last committed group.
pub(crate) const GROUP: &[u8] = b"group";
/// In [`META`]: where the committed blobs end.
pub(crate) const BLOB_END: &[u8] = b"pieces";
/// In [`META`]: the schema's version.
pub(crate) const SCHEMA: &[u8] = b"schema";
/// In [`META`]: a copy of another store is under way, or did not end.
pub(crate) const COPYING: &[u8] = b"copying";
/// In [`META`]: where the store was moved to; nobody starts on this one again.
pub(crate) const MOVED: &[u8] = b"moved";
/// In [`META`]: what tells the store from others. A copy gets another one.
pub(crate) const ID: &[u8] = b"id";
/// In [`META`]: the identity of the store that took the place of another, by a move.
pub(crate) const MOVED_IN: &[u8] = b"moved-in";
/// In [`META`]: bytes written to try a disk that was full.
pub(crate) const BALLAST: &[u8] = b"ballast";

impl RawRead for WriteTxn<'_> {
    fn raw_get(&mut self, table: &'static str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let row = self.rows.get(table, key);
        self.noted(row)
    }

    fn raw_scan(
        &mut self,
        table: &'static str,
        key_range: &KeyRange,
        limit: usize,
    ) -> Result<Vec<RawRow>, StoreError> {
        let rows = self.rows.scan(table, key_range, limit);
        self.noted(rows)
    }

    fn raw_len(&mut self, table: &'static str) -> Result<u64, StoreError> {
        let len = self.rows.len(table);
        self.noted(len)
    }

    fn found_unreadable(&mut self, found: UnreadableRow) -> Result<(), StoreError> {
        self.quarantine(&found)
    }

    fn raw_blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(bytes) = self.appends.get(extent) {
            return Ok(Some(bytes.as_ref().to_vec()));
        }
        // The rows are not concerned: a failure is this request's, not its group's.
        self.rows.blob(extent)
    }
}

fn check(
    table: &'static str,
    what: &'static str,
    bytes: usize,
    limit: usize,
) -> Result<(), StoreError> {
    if bytes <= limit {
        return Ok(());
    }
    Err(StoreError::TooLarge {
        what,
        table,
        bytes,
        limit,
    })
}

/// The text of a panic, if it has one.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".to_owned())
}
