//! Reading typed rows, the same within a write and within a read.

use crate::blobs::Extent;
use crate::codec::{Row, RowDecodeError};
use crate::error::StoreError;
use crate::key::{Key, StartsWith, after_prefix};
use crate::quarantine::{QUARANTINE, QuarantineKey, QuarantinedRow};
use crate::table::Table;
use std::ops::{Bound, ControlFlow, RangeBounds};

/// Rows fetched at a time while walking a table.
const PAGE: usize = 256;

pub(crate) mod raw {
    use super::{Bound, Extent, RowDecodeError, StoreError};

    /// One end of a range of encoded keys.
    pub(crate) type RangeEnd = Bound<Vec<u8>>;

    /// Key and row as stored.
    pub(crate) type RawRow = (Vec<u8>, Vec<u8>);

    /// A key_range of a table, walked in one direction.
    #[derive(Debug, Clone)]
    pub struct KeyRange {
        /// Where it begins.
        pub from: RangeEnd,
        /// Where it ends.
        pub to: RangeEnd,
        /// Whether the last row comes first.
        pub backward: bool,
    }

    impl KeyRange {
        /// The rest of the key_range once `key` was seen.
        pub(crate) fn advance(&mut self, key: Vec<u8>) {
            let edge = if self.backward {
                &mut self.to
            } else {
                &mut self.from
            };
            *edge = Bound::Excluded(key);
        }

        /// Whether no key can lie within, such as between 5 and 3.
        pub(crate) fn is_empty(&self) -> bool {
            use Bound::{Excluded, Included};
            match (&self.from, &self.to) {
                (Included(a), Included(b)) => a > b,
                (Included(a) | Excluded(a), Included(b) | Excluded(b)) => a >= b,
                _ => false,
            }
        }

        /// The edges as redb takes them.
        pub(crate) fn edges(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
            (as_slice(&self.from), as_slice(&self.to))
        }
    }

    fn as_slice(edge: &RangeEnd) -> Bound<&[u8]> {
        edge.as_ref().map(Vec::as_slice)
    }

    /// A row that did not decode, and the way to try again.
    #[derive(Debug)]
    pub struct UnreadableRow {
        /// Its table.
        pub table: &'static str,
        /// Its encoded key.
        pub key: Vec<u8>,
        /// Why it is unreadable.
        pub why: RowDecodeError,
        /// Decodes key and row once more: somebody may have repaired it meanwhile.
        pub fault: fn(&[u8], &[u8]) -> Option<RowDecodeError>,
    }

    /// Rows as bytes. Sealed: only the store's transactions are readers.
    pub trait RawRead {
        /// The row of `key`.
        fn raw_get(
            &mut self,
            table: &'static str,
            key: &[u8],
        ) -> Result<Option<Vec<u8>>, StoreError>;
        /// Up to `limit` rows of the key_range.
        fn raw_scan(
            &mut self,
            table: &'static str,
            key_range: &KeyRange,
            limit: usize,
        ) -> Result<Vec<RawRow>, StoreError>;
        /// Number of rows.
        fn raw_len(&mut self, table: &'static str) -> Result<u64, StoreError>;
        /// Sees to a row that did not decode.
        fn found_unreadable(&mut self, found: UnreadableRow) -> Result<(), StoreError>;
        /// The bytes of a blob.
        fn raw_blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError>;
    }
}

use raw::{KeyRange, RangeEnd, RawRead, UnreadableRow};

/// Reading rows. A row that cannot be decoded is moved to quarantine and treated as absent.
///
/// All methods fail only with [`StoreError::Storage`] or the like, never because of a row.
pub trait ReadRows: RawRead {
    /// The row of `key`.
    fn get<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &K,
    ) -> Result<Option<V>, StoreError> {
        let key = key.to_bytes();
        match self.raw_get(table.name(), &key)? {
            Some(row) => self
                .decoded(table, key, &row)
                .map(|r| r.map(|(_, row)| row)),
            None => Ok(None),
        }
    }

    /// Whether there is a row of `key`, readable or in quarantine: what an answer to "have I seen
    /// this delivery?" must be based on.
    fn contains<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &K,
    ) -> Result<bool, StoreError> {
        let bytes = key.to_bytes();
        Ok(self.raw_get(table.name(), &bytes)?.is_some()
            || self.is_quarantined(table.name(), &bytes)?)
    }

    /// The bytes that were appended there; `None` if they were released meanwhile, or are damaged,
    /// which is logged.
    fn blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError> {
        self.raw_blob(extent)
    }

    /// Number of rows, those in quarantine not among them.
    fn len<K: Key, V: Row>(&mut self, table: &Table<K, V>) -> Result<u64, StoreError> {
        self.raw_len(table.name())
    }

    /// The row with the smallest key.
    fn first<K: Key, V: Row>(&mut self, table: &Table<K, V>) -> Result<Option<(K, V)>, StoreError> {
        Ok(self.range(table, .., 1)?.pop())
    }

    /// The row with the largest key.
    fn last<K: Key, V: Row>(&mut self, table: &Table<K, V>) -> Result<Option<(K, V)>, StoreError> {
        Ok(self.range_back(table, .., 1)?.pop())
    }

    /// The first `limit` rows of a range, by ascending key.
    fn range<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        range: impl RangeBounds<K>,
        limit: usize,
    ) -> Result<Vec<(K, V)>, StoreError> {
        self.collect(table, key_range(&range, false), limit)
    }

    /// The last `limit` rows of a range, by descending key.
    fn range_back<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        range: impl RangeBounds<K>,
        limit: usize,
    ) -> Result<Vec<(K, V)>, StoreError> {
        self.collect(table, key_range(&range, true), limit)
    }

    /// The first `limit` rows whose key begins with `prefix`, past `after` if given.
    fn below<P: Key, K: StartsWith<P>, V: Row>(
        &mut self,
        table: &Table<K, V>,
        prefix: &P,
        after: Option<&K>,
        limit: usize,
    ) -> Result<Vec<(K, V)>, StoreError> {
        let prefix = prefix.to_bytes();
        let to = after_prefix(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
        let from = match after {
            Some(key) => Bound::Excluded(key.to_bytes()),
            None => Bound::Included(prefix),
        };
        let backward = false;
        self.collect(table, KeyRange { from, to, backward }, limit)
    }

    /// Walks a range by ascending key, a page at a time, until `visit` breaks.
    fn for_each<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        range: impl RangeBounds<K>,
        visit: impl FnMut(K, V) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.walk(table, key_range(&range, false), PAGE, visit)
    }

    /// The rows in quarantine, up to `limit`, past `after` (table and key) if given.
    fn quarantined(
        &mut self,
        after: Option<&QuarantineKey>,
        limit: usize,
    ) -> Result<Vec<(QuarantineKey, QuarantinedRow)>, StoreError> {
        let from = after.map_or(Bound::Unbounded, |key| Bound::Excluded(key.clone()));
        self.range(&QUARANTINE, (from, Bound::Unbounded), limit)
    }

    #[doc(hidden)]
    fn is_quarantined(&mut self, table: &str, key: &[u8]) -> Result<bool, StoreError> {
        let key = (table.to_owned(), key.to_vec()).to_bytes();
        Ok(self.raw_get(QUARANTINE.name(), &key)?.is_some())
    }

    #[doc(hidden)]
    fn decoded<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: Vec<u8>,
        row: &[u8],
    ) -> Result<Option<(K, V)>, StoreError> {
        match Table::<K, V>::decode(&key, row) {
            Ok(pair) => Ok(Some(pair)),
            Err(why) => {
                let table = table.name();
                let fault = Table::<K, V>::fault;
                self.found_unreadable(UnreadableRow {
                    table,
                    key,
                    why,
                    fault,
                })?;
                Ok(None)
            }
        }
    }

    #[doc(hidden)]
    fn collect<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key_range: KeyRange,
        limit: usize,
    ) -> Result<Vec<(K, V)>, StoreError> {
        let mut rows = Vec::new();
        if limit == 0 {
            return Ok(rows);
        }
        self.walk(table, key_range, limit.min(PAGE), |key, row| {
            rows.push((key, row));
            if rows.len() < limit {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        Ok(rows)
    }

    #[doc(hidden)]
    fn walk<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        mut key_range: KeyRange,
        page: usize,
        mut visit: impl FnMut(K, V) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        while !key_range.is_empty() {
            let rows = self.raw_scan(table.name(), &key_range, page)?;
            let more = rows.len() == page;
            for (key, row) in rows {
                key_range.advance(key.clone());
                if let Some((key, row)) = self.decoded(table, key, &row)?
                    && visit(key, row).is_break()
                {
                    return Ok(());
                }
            }
            if !more {
                break;
            }
        }
        Ok(())
    }
}

impl<T: RawRead> ReadRows for T {}

fn key_range<K: Key>(range: &impl RangeBounds<K>, backward: bool) -> KeyRange {
    let edge = |bound: Bound<&K>| -> RangeEnd { bound.map(K::to_bytes) };
    KeyRange {
        from: edge(range.start_bound()),
        to: edge(range.end_bound()),
        backward,
    }
}
