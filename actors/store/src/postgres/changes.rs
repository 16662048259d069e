//! The rows of a group in PostgreSQL: what its requests change stays here until the group is
//! committed by one statement, and what they read is what is committed, with the changes on top.
//!
//! Only the holder of the store writes, so what was committed does not change under a group, and
//! what was read once may be kept: a process that lost the store cannot commit what it decided by
//! old rows. Which keys there are is known as well (`known_keys`), so a group of requests that look
//! for new keys and count rows asks the server nothing until it commits.

use super::changed_tables::{ChangedTables, TableChanges};
use super::known_keys::KnownKeys;
use super::queries;
use super::session::WriterSession;
use crate::blobs::Extent;
use crate::error::StoreError;
use crate::row_source::{PreviousRow, RowChanges, RowSource};
use crate::rows::raw::{KeyRange, RawRow};
use std::collections::{BTreeMap, HashMap};

/// Most rows of one range that are kept.
const MOST_CACHED_OF_SCAN: usize = 256;

/// The rows of a group.
pub(super) struct PostgresChanges<'s> {
    session: &'s mut WriterSession,
    cache: &'s RowCache,
    keys: &'s mut KnownKeys,
    changed: ChangedTables,
    /// By how much the group changes the number of rows, of tables that were counted in it.
    growth: HashMap<String, i64>,
}

impl<'s> PostgresChanges<'s> {
    pub(super) fn new(
        session: &'s mut WriterSession,
        cache: &'s RowCache,
        keys: &'s mut KnownKeys,
    ) -> Self {
        Self {
            session,
            cache,
            keys,
            changed: BTreeMap::new(),
            growth: HashMap::new(),
        }
    }

    /// What is to be committed.
    pub(super) fn into_changed(self) -> ChangedTables {
        self.changed
    }

    fn changes(&mut self, table: &str) -> &mut TableChanges {
        if !self.changed.contains_key(table) {
            self.changed.insert(table.to_owned(), BTreeMap::new());
        }
        self.changed.get_mut(table).expect("inserted just above")
    }

    /// What the group did to a key, if anything.
    fn change(&self, table: &str, key: &[u8]) -> Option<&Option<Vec<u8>>> {
        self.changed.get(table)?.get(key)
    }

    fn committed(&mut self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(row) = self.cache.get(table, key) {
            return Ok(row);
        }
        self.keys.load(table, self.session)?;
        if self.keys.contains(table, key) == Some(false) {
            return Ok(None);
        }
        let rows = self.session.rows(queries::GET, &[&table, &key])?;
        let row = queries::value(&rows);
        self.cache.put(table, key, row.as_deref());
        Ok(row)
    }
}

impl PostgresChanges<'_> {
    /// Whether the group sees a row; of a table whose keys are known.
    fn is_there(&self, table: &str, key: &[u8]) -> bool {
        match self.change(table, key) {
            Some(row) => row.is_some(),
            None => self.keys.contains(table, key).unwrap_or_default(),
        }
    }

    /// A row of a table that was counted comes or goes.
    fn record_growth(&mut self, table: &str, key: &[u8], will_be_there: bool) {
        if self.growth.contains_key(table) {
            let by = i64::from(will_be_there) - i64::from(self.is_there(table, key));
            self.growth
                .entry(table.to_owned())
                .and_modify(|growth| *growth += by);
        }
    }
}

impl RowSource for PostgresChanges<'_> {
    fn get(&mut self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.change(table, key) {
            Some(row) => Ok(row.clone()),
            None => self.committed(table, key),
        }
    }

    fn scan(
        &mut self,
        table: &str,
        range: &KeyRange,
        limit: usize,
    ) -> Result<Vec<RawRow>, StoreError> {
        if range.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let changes = self.changed.get(table);
        let changes: Vec<(&Vec<u8>, &Option<Vec<u8>>)> = match changes {
            Some(changes) if range.backward => {
                changes.range::<[u8], _>(range.edges()).rev().collect()
            }
            Some(changes) => changes.range::<[u8], _>(range.edges()).collect(),
            None => Vec::new(),
        };
        // As many more as the group may have removed of them.
        let enough = limit.saturating_add(changes.len());
        let session = &mut *self.session;
        let committed = queries::scan(&mut |s, p| session.rows(s, p), table, range, enough)?;
        // What is found by a range is often read or removed by its key next.
        for (key, row) in committed.iter().take(MOST_CACHED_OF_SCAN) {
            self.cache.put(table, key, Some(row));
        }
        Ok(merge(committed, &changes, range.backward, limit))
    }

    fn len(&mut self, table: &str) -> Result<u64, StoreError> {
        let committed = self.keys.load(table, self.session)?;
        if let Some(growth) = self.growth.get(table) {
            return Ok(committed.saturating_add_signed(*growth));
        }
        let Some(changes) = self.changed.get(table).filter(|c| !c.is_empty()) else {
            if self.keys.contains(table, &[]).is_some() {
                self.growth.insert(table.to_owned(), 0);
            }
            return Ok(committed);
        };
        if let Some(growth) = growth(self.keys, table, changes) {
            self.growth.insert(table.to_owned(), growth);
            return Ok(committed.saturating_add_signed(growth));
        }
        let keys: Vec<&[u8]> = changes.keys().map(Vec::as_slice).collect();
        let left = changes.values().filter(|row| row.is_some()).count() as u64;
        let there = self.session.rows(queries::KEYS_THERE, &[&table, &keys])?;
        Ok(committed.saturating_sub(queries::count(&there)) + left)
    }

    fn blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError> {
        let session = &mut *self.session;
        queries::blob(&mut |s, p| session.rows(s, p), extent)
    }
}

impl RowChanges for PostgresChanges<'_> {
    fn insert(&mut self, table: &str, key: &[u8], row: &[u8]) -> Result<PreviousRow, StoreError> {
        self.record_growth(table, key, true);
        let before = self.changes(table).insert(key.to_vec(), Some(row.to_vec()));
        Ok(before.map_or(PreviousRow::Committed, PreviousRow::Row))
    }

    fn remove(&mut self, table: &str, key: &[u8]) -> Result<Option<PreviousRow>, StoreError> {
        if self.get(table, key)?.is_none() {
            return Ok(None);
        }
        self.record_growth(table, key, false);
        let before = self.changes(table).insert(key.to_vec(), None);
        Ok(Some(
            before.map_or(PreviousRow::Committed, PreviousRow::Row),
        ))
    }

    fn revert(&mut self, table: &str, key: &[u8]) {
        let committed = self.keys.contains(table, key).unwrap_or_default();
        self.record_growth(table, key, committed);
        self.changes(table).remove(key);
    }

    fn has_touched(&self, table: &str) -> bool {
        self.changed.contains_key(table)
    }
}

/// By how much the changes so far change a table's number of rows; `None`: its keys are not known.
fn growth(keys: &KnownKeys, table: &str, changes: &TableChanges) -> Option<i64> {
    let mut growth = 0;
    for (key, row) in changes {
        growth += i64::from(row.is_some()) - i64::from(keys.contains(table, key)?);
    }
    Some(growth)
}

/// The first `limit` rows of what is committed with the changes on top, both in the same order.
fn merge(
    committed: Vec<RawRow>,
    changes: &[(&Vec<u8>, &Option<Vec<u8>>)],
    backward: bool,
    limit: usize,
) -> Vec<RawRow> {
    let before = |a: &Vec<u8>, b: &Vec<u8>| if backward { a > b } else { a < b };
    let mut rows = Vec::with_capacity(limit.min(committed.len() + changes.len()));
    let mut changes = changes.iter().peekable();
    let mut committed = committed.into_iter().peekable();
    while rows.len() < limit {
        let changed_first = match (changes.peek(), committed.peek()) {
            (None, None) => break,
            (Some((changed, _)), Some((key, _))) => !before(key, changed),
            (changed, _) => changed.is_some(),
        };
        if !changed_first {
            rows.extend(committed.next());
            continue;
        }
        let Some((key, row)) = changes.next() else {
            break;
        };
        committed.next_if(|(same, _)| same == *key);
        if let Some(row) = row {
            rows.push(((*key).clone(), row.clone()));
        }
    }
    rows
}

/// Committed rows that were read or written lately, and keys that have none.
#[derive(Debug)]
pub(super) struct RowCache(quick_cache::sync::Cache<Vec<u8>, Option<Vec<u8>>, ByLength>);

/// What an entry weighs: its bytes, and what the cache needs beside them.
#[derive(Debug, Clone)]
struct ByLength;

impl quick_cache::Weighter<Vec<u8>, Option<Vec<u8>>> for ByLength {
    fn weight(&self, key: &Vec<u8>, row: &Option<Vec<u8>>) -> u64 {
        (key.len() + row.as_ref().map_or(0, Vec::len) + 96) as u64
    }
}

/// Larger rows are not kept: they are read once or twice.
const LARGEST_CACHED: usize = 16 * 1024;

impl RowCache {
    /// Of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let entries = (bytes / 512).max(16);
        Self(quick_cache::sync::Cache::with_weighter(
            entries,
            bytes as u64,
            ByLength,
        ))
    }

    fn get(&self, table: &str, key: &[u8]) -> Option<Option<Vec<u8>>> {
        self.0.get(&cache_key(table, key))
    }

    fn put(&self, table: &str, key: &[u8], row: Option<&[u8]>) {
        let at = cache_key(table, key);
        if row.is_some_and(|row| row.len() > LARGEST_CACHED) {
            self.0.remove(&at);
        } else {
            self.0.insert(at, row.map(<[u8]>::to_vec));
        }
    }

    /// What was committed.
    pub(super) fn apply(&self, changed: &ChangedTables) {
        for (table, changes) in changed {
            for (key, row) in changes {
                self.put(table, key, row.as_deref());
            }
        }
    }

    /// Forgets everything: nobody knows what is committed.
    pub(super) fn clear(&self) {
        self.0.clear();
    }
}

fn cache_key(table: &str, key: &[u8]) -> Vec<u8> {
    [table.as_bytes(), &[0], key].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ops::Bound;

    fn range(from: u8, to: u8, backward: bool) -> KeyRange {
        let (from, to) = (Bound::Included(vec![from]), Bound::Excluded(vec![to]));
        KeyRange { from, to, backward }
    }

    proptest! {
        #[test]
        fn i18_what_is_read_is_what_is_committed_with_the_changes_on_top(
            committed in prop::collection::btree_map(0u8..20, any::<u8>(), 0..12),
            changes in prop::collection::btree_map(0u8..20, any::<Option<u8>>(), 0..12),
            (from, to) in (0u8..20, 0u8..20),
            backward: bool,
            limit in 1usize..8,
        ) {
            let range = range(from, to.max(from), backward);
            let mut expected = committed.clone();
            let mut on_top = TableChanges::new();
            for (key, row) in changes {
                on_top.insert(vec![key], row.map(|row| vec![row]));
                match row {
                    Some(row) => expected.insert(key, row),
                    None => expected.remove(&key),
                };
            }
            let within = |map: &BTreeMap<u8, u8>, limit: usize| -> Vec<RawRow> {
                let rows = map.range(from..to.max(from)).map(|(k, v)| (vec![*k], vec![*v]));
                match backward {
                    true => rows.rev().take(limit).collect(),
                    false => rows.take(limit).collect(),
                }
            };
            let touched: Vec<_> = match (range.is_empty(), backward) {
                (true, _) => Vec::new(),
                (_, true) => on_top.range::<[u8], _>(range.edges()).rev().collect(),
                (_, false) => on_top.range::<[u8], _>(range.edges()).collect(),
            };
            let read = within(&committed, limit + touched.len());
            let merged = merge(read, &touched, backward, limit);
            prop_assert_eq!(merged, within(&expected, limit));
        }
    }
}
