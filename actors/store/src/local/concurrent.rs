//! Local state in a sharded map: many threads at once, gone with the process.
//!
//! Single keys go through the map's shards side by side. A batch, which all must see whole, and
//! whatever looks at many keys take the gate for themselves.

use super::{
    KeyValue, LocalChange, LocalError, LocalState, LocalStateKind, Size, check_all, check_key,
    check_namespace, scan_from,
};
use dashmap::DashMap;
use parking_lot::RwLock;
use std::collections::BTreeSet;
use std::ops::{Bound, RangeBounds};

/// A namespace and a key within it.
type RowKey = (String, Vec<u8>);

/// Local state in a sharded map.
#[derive(Debug, Default)]
pub struct ConcurrentMap {
    map: DashMap<RowKey, Vec<u8>>,
    /// Read: one key is touched. Written: many are.
    gate: RwLock<()>,
}

impl ConcurrentMap {
    fn apply(&self, change: &LocalChange) {
        let at = (change.namespace.clone(), change.key.clone());
        match &change.value {
            Some(value) => drop(self.map.insert(at, value.clone())),
            None => drop(self.map.remove(&at)),
        }
    }
}

impl LocalState for ConcurrentMap {
    fn kind(&self) -> LocalStateKind {
        LocalStateKind::ConcurrentMap
    }

    fn get(&self, namespace: &str, key: &[u8]) -> Result<Option<Vec<u8>>, LocalError> {
        check_key(namespace, key)?;
        let _one = self.gate.read();
        let found = self.map.get(&(namespace.to_owned(), key.to_vec()));
        Ok(found.map(|value| value.clone()))
    }

    fn scan(
        &self,
        namespace: &str,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValue>, LocalError> {
        check_namespace(namespace)?;
        let from: (Bound<&[u8]>, Bound<&[u8]>) = (scan_from(prefix, after), Bound::Unbounded);
        let _many = self.gate.write();
        let hits = self.map.iter().filter(|entry| {
            let (space, key) = entry.key();
            space == namespace
                && key.starts_with(prefix)
                && RangeBounds::<[u8]>::contains(&from, key.as_slice())
        });
        let mut pairs: Vec<KeyValue> = hits
            .map(|e| (e.key().1.clone(), e.value().clone()))
            .collect();
        pairs.sort_unstable();
        pairs.truncate(limit);
        Ok(pairs)
    }

    fn batch(&self, changes: &[LocalChange]) -> Result<(), LocalError> {
        check_all(changes)?;
        if let [change] = changes {
            let _one = self.gate.read();
            self.apply(change);
            return Ok(());
        }
        let _many = self.gate.write();
        changes.iter().for_each(|change| self.apply(change));
        Ok(())
    }

    fn delete(&self, namespace: &str, key: &[u8]) -> Result<bool, LocalError> {
        check_key(namespace, key)?;
        let _one = self.gate.read();
        let removed = self.map.remove(&(namespace.to_owned(), key.to_vec()));
        Ok(removed.is_some())
    }

    fn namespaces(&self) -> Result<Vec<String>, LocalError> {
        let _many = self.gate.write();
        let names: BTreeSet<String> = self.map.iter().map(|e| e.key().0.clone()).collect();
        Ok(names.into_iter().collect())
    }

    fn size(&self, namespace: &str) -> Result<Size, LocalError> {
        check_namespace(namespace)?;
        let mut size = Size::default();
        let _many = self.gate.write();
        for entry in &self.map {
            if entry.key().0 == namespace {
                size.add(entry.key().1.len(), entry.value().len());
            }
        }
        Ok(size)
    }

    fn flush(&self) -> Result<(), LocalError> {
        Ok(())
    }
}
