//! What an engine gives to requests: rows as bytes, those of a group under way, those as of one
//! commit.

use crate::blobs::Extent;
use crate::error::StoreError;
use crate::rows::raw::{KeyRange, RawRow};

/// Rows as bytes, by the name of their table.
pub(crate) trait RowSource {
    /// The row of `key`.
    fn get(&mut self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Up to `limit` rows of the range.
    fn scan(
        &mut self,
        table: &str,
        range: &KeyRange,
        limit: usize,
    ) -> Result<Vec<RawRow>, StoreError>;

    /// Number of rows.
    fn len(&mut self, table: &str) -> Result<u64, StoreError>;

    /// The bytes of a committed blob; `None` if they are not there or damaged, which is logged.
    fn blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError>;
}

/// What a key held before a change, to undo it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PreviousRow {
    /// This row, or none.
    Row(Option<Vec<u8>>),
    /// What is committed: the group had not touched it.
    Committed,
}

/// The rows of a group under way.
pub(crate) trait RowChanges: RowSource {
    /// Puts a row; what was there before.
    fn insert(&mut self, table: &str, key: &[u8], row: &[u8]) -> Result<PreviousRow, StoreError>;

    /// Removes a row; what was there before, `None` if there was no row.
    fn remove(&mut self, table: &str, key: &[u8]) -> Result<Option<PreviousRow>, StoreError>;

    /// Forgets what the group did to a key that had been [`PreviousRow::Committed`].
    fn revert(&mut self, table: &str, key: &[u8]);

    /// Whether the group has touched the table.
    fn has_touched(&self, table: &str) -> bool;
}

/// A table as it was found: its name and its number of rows.
pub(crate) type TableCount = (String, u64);

/// All rows as of one commit.
pub(crate) trait StoreSnapshot: RowSource {
    /// The tables with rows, those of the store itself among them.
    fn tables(&mut self) -> Result<Vec<TableCount>, StoreError>;

    /// The segments of blobs.
    fn segments(&mut self) -> Result<Vec<u32>, StoreError>;

    /// The first bytes of a segment that stand at `from` or behind, with their place; `None` behind
    /// the last.
    fn segment_part(
        &mut self,
        segment: u32,
        from: u64,
    ) -> Result<Option<(u64, Vec<u8>)>, StoreError>;

    /// Fills `out` from `at` of a segment; `false` if it has not as much.
    fn segment_read(&mut self, segment: u32, at: u64, out: &mut [u8]) -> Result<bool, StoreError>;
}
