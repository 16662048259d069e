//! Local state in an ordered map: for tests, gone with the process.

use super::{
    KeyValue, LocalChange, LocalError, LocalState, LocalStateKind, Size, check_all, check_key,
    check_namespace, scan_from,
};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::ops::Bound;

type Namespace = BTreeMap<Vec<u8>, Vec<u8>>;

/// Local state in memory.
#[derive(Debug, Default)]
pub struct LocalMemory {
    /// Namespaces; none of them is empty.
    spaces: RwLock<BTreeMap<String, Namespace>>,
}

impl LocalState for LocalMemory {
    fn kind(&self) -> LocalStateKind {
        LocalStateKind::Memory
    }

    fn get(&self, namespace: &str, key: &[u8]) -> Result<Option<Vec<u8>>, LocalError> {
        check_key(namespace, key)?;
        let spaces = self.spaces.read();
        Ok(spaces
            .get(namespace)
            .and_then(|space| space.get(key).cloned()))
    }

    fn scan(
        &self,
        namespace: &str,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValue>, LocalError> {
        check_namespace(namespace)?;
        let spaces = self.spaces.read();
        let Some(space) = spaces.get(namespace) else {
            return Ok(Vec::new());
        };
        let rest = space.range::<[u8], _>((scan_from(prefix, after), Bound::Unbounded));
        let hits = rest.take_while(|(key, _)| key.starts_with(prefix));
        Ok(hits
            .take(limit)
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect())
    }

    fn batch(&self, changes: &[LocalChange]) -> Result<(), LocalError> {
        check_all(changes)?;
        let mut spaces = self.spaces.write();
        for LocalChange {
            namespace,
            key,
            value,
        } in changes
        {
            match value {
                Some(value) => {
                    let space = spaces.entry(namespace.clone()).or_default();
                    space.insert(key.clone(), value.clone());
                }
                None => drop(remove(&mut spaces, namespace, key)),
            }
        }
        Ok(())
    }

    fn delete(&self, namespace: &str, key: &[u8]) -> Result<bool, LocalError> {
        check_key(namespace, key)?;
        Ok(remove(&mut self.spaces.write(), namespace, key).is_some())
    }

    fn namespaces(&self) -> Result<Vec<String>, LocalError> {
        Ok(self.spaces.read().keys().cloned().collect())
    }

    fn size(&self, namespace: &str) -> Result<Size, LocalError> {
        check_namespace(namespace)?;
        let mut size = Size::default();
        if let Some(space) = self.spaces.read().get(namespace) {
            space
                .iter()
                .for_each(|(key, value)| size.add(key.len(), value.len()));
        }
        Ok(size)
    }

    fn flush(&self) -> Result<(), LocalError> {
        Ok(())
    }
}

fn remove(
    spaces: &mut BTreeMap<String, Namespace>,
    namespace: &str,
    key: &[u8],
) -> Option<Vec<u8>> {
    let space = spaces.get_mut(namespace)?;
    let value = space.remove(key);
    if space.is_empty() {
        spaces.remove(namespace);
    }
    value
}
