//! Local state in a [`Store`]: durable, and threads that write at once share a commit.

use super::{
    KeyValue, LocalChange, LocalError, LocalState, LocalStateKind, MAX_KEY_BYTES, Size, check_all,
    check_key, check_namespace, scan_from,
};
use crate::{RawBytes, ReadRows, ReadTxn, Row, Store, StoreError, Table, WriteTxn};
use std::ops::{Bound, ControlFlow};

/// Values by namespace and key.
const STATE: Table<(String, Vec<u8>), RawBytes> = Table::internal("_local_state");
/// What each namespace holds; kept up with each change, so that asking does not walk the keys.
const SIZES: Table<String, Size> = Table::internal("_local_sizes");

impl Row for Size {
    const SCHEMA: u16 = 1;
}

// A key of zero bytes is encoded in twice its length.
const _: () = assert!(2 * MAX_KEY_BYTES + 256 <= crate::MAX_KEY_BYTES);

/// Local state in redb.
#[derive(Debug)]
pub struct RedbState {
    store: Store,
}

impl RedbState {
    /// Local state in a store that may hold other tables, too.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    fn read<T>(
        &self,
        work: impl FnOnce(&mut ReadTxn<'_>) -> Result<T, StoreError>,
    ) -> Result<T, LocalError> {
        self.store.read_blocking(work).map_err(LocalError::from)
    }
}

impl LocalState for RedbState {
    fn kind(&self) -> LocalStateKind {
        LocalStateKind::Redb
    }

    fn get(&self, namespace: &str, key: &[u8]) -> Result<Option<Vec<u8>>, LocalError> {
        check_key(namespace, key)?;
        let at = (namespace.to_owned(), key.to_vec());
        Ok(self
            .read(|rows| rows.get(&STATE, &at))?
            .map(|RawBytes(value)| value))
    }

    fn scan(
        &self,
        namespace: &str,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValue>, LocalError> {
        check_namespace(namespace)?;
        let mut pairs = Vec::new();
        if limit == 0 {
            return Ok(pairs);
        }
        let from = scan_from(prefix, after).map(|key| (namespace.to_owned(), key.to_vec()));
        self.read(|rows| {
            rows.for_each(
                &STATE,
                (from, Bound::Unbounded),
                |(space, key), RawBytes(value)| {
                    if space != namespace || !key.starts_with(prefix) {
                        return ControlFlow::Break(());
                    }
                    pairs.push((key, value));
                    match pairs.len() < limit {
                        true => ControlFlow::Continue(()),
                        false => ControlFlow::Break(()),
                    }
                },
            )
        })?;
        Ok(pairs)
    }

    fn batch(&self, changes: &[LocalChange]) -> Result<(), LocalError> {
        check_all(changes)?;
        if changes.is_empty() {
            return Ok(());
        }
        let changes = changes.to_vec();
        self.store.write_blocking(move |rows| {
            let apply = |change| apply(rows, change).map(drop);
            changes.into_iter().try_for_each(apply)
        })
    }

    fn delete(&self, namespace: &str, key: &[u8]) -> Result<bool, LocalError> {
        check_key(namespace, key)?;
        let change = LocalChange::delete(namespace, key);
        self.store.write_blocking(move |rows| apply(rows, change))
    }

    fn namespaces(&self) -> Result<Vec<String>, LocalError> {
        let sizes = self.read(|rows| rows.range(&SIZES, .., usize::MAX))?;
        Ok(sizes.into_iter().map(|(name, _)| name).collect())
    }

    fn size(&self, namespace: &str) -> Result<Size, LocalError> {
        check_namespace(namespace)?;
        let namespace = namespace.to_owned();
        Ok(self
            .read(|rows| rows.get(&SIZES, &namespace))?
            .unwrap_or_default())
    }

    fn flush(&self) -> Result<(), LocalError> {
        // Each change was durable when it was answered, and there is no journal.
        Ok(())
    }
}

/// Carries out one change; whether the key had a value before.
fn apply(rows: &mut WriteTxn<'_>, change: LocalChange) -> Result<bool, LocalError> {
    let LocalChange {
        namespace,
        key,
        value,
    } = change;
    let mut size = rows.get(&SIZES, &namespace)?.unwrap_or_default();
    let at = (namespace, key);
    let before = rows.get(&STATE, &at)?;
    if let Some(RawBytes(before)) = &before {
        size.remove(at.1.len(), before.len());
    }
    match value {
        Some(value) => {
            size.add(at.1.len(), value.len());
            rows.put(&STATE, &at, &RawBytes(value))?;
        }
        None => drop(rows.delete(&STATE, &at)?),
    }
    match size.entries {
        0 => drop(rows.delete(&SIZES, &at.0)?),
        _ => rows.put(&SIZES, &at.0, &size)?,
    }
    Ok(before.is_some())
}
