//! Bounded retention: a table keeps so many rows, for so long. The time is an argument.

use crate::codec::Row;
use crate::error::StoreError;
use crate::key::Key;
use crate::rows::ReadRows;
use crate::rows::raw::RawRead;
use crate::table::Table;
use crate::write::WriteTxn;
use std::time::Duration;

/// How much of a table is kept. The rows go oldest first, which is smallest key first: keys of
/// such tables begin with a time or a running number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableRetention {
    /// At most so many rows.
    pub max_rows: Option<u64>,
    /// No row older than this.
    pub max_age: Option<Duration>,
}

/// What one pass removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovedRows {
    /// Rows beyond the count.
    pub by_count: u64,
    /// Rows beyond the age.
    pub by_age: u64,
    /// The pass ended at its limit; there is more to remove.
    pub more: bool,
}

impl WriteTxn<'_> {
    /// Removes what `keep` does not keep, at most `limit` rows, so that a pass never holds up the
    /// other requests for long. `now` and the time that `at` tells of a row are milliseconds
    /// since the Unix epoch.
    ///
    /// A clock that jumped back removes nothing by age; rows from the future stay until they age.
    ///
    /// # Errors
    /// The storage's.
    pub fn retain<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        keep: TableRetention,
        now: u64,
        limit: usize,
        at: impl Fn(&K, &V) -> u64,
    ) -> Result<RemovedRows, StoreError> {
        let mut removed = RemovedRows::default();
        let rows = self.raw_len(table.name())?;
        let excess = keep.max_rows.map_or(0, |max| rows.saturating_sub(max));
        let oldest = keep.max_age.map(|age| {
            let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            now.saturating_sub(age)
        });
        for (key, row) in self.range(table, .., limit)? {
            if removed.by_count + removed.by_age < excess {
                removed.by_count += 1;
            } else if oldest.is_some_and(|oldest| at(&key, &row) < oldest) {
                removed.by_age += 1;
            } else {
                return Ok(removed);
            }
            self.delete(table, &key)?;
        }
        removed.more = removed.by_count + removed.by_age == limit as u64;
        Ok(removed)
    }
}
