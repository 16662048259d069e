//! Files that are stored for all processes: which of them wait for it, and what is known of each.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

/// Files by name, and for each what is known of it (`T`), behind a gate that whoever stores or
/// fetches the file holds.
///
/// A gate stays until its file is forgotten: one that went as soon as its file was stored would let
/// somebody who waited at it in together with whoever comes next and finds a new one.
#[derive(Debug, Default)]
pub struct PendingUploads<T> {
    gates: Mutex<HashMap<String, Arc<Mutex<T>>>>,
    pending: Mutex<BTreeSet<String>>,
}

impl<T: Default> PendingUploads<T> {
    /// The gate of a file.
    pub fn gate(&self, name: &str) -> Arc<Mutex<T>> {
        let mut gates = self.gates.lock();
        Arc::clone(gates.entry(name.to_owned()).or_default())
    }

    /// Notes that a file is to be stored.
    pub fn insert(&self, name: &str) {
        self.pending.lock().insert(name.to_owned());
    }

    /// Notes that a file is stored, as much of it as there will be.
    pub fn remove(&self, name: &str) {
        self.pending.lock().remove(name);
    }

    /// The files that are to be stored.
    pub fn names(&self) -> Vec<String> {
        self.pending.lock().iter().cloned().collect()
    }

    /// Forgets a file; its gate, where it had one.
    pub fn forget(&self, name: &str) -> Option<Arc<Mutex<T>>> {
        self.remove(name);
        self.gates.lock().remove(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i14_a_gate_is_one_until_its_file_is_forgotten() {
        let uploads = PendingUploads::<u64>::default();
        uploads.insert("one");
        let gate = uploads.gate("one");
        *gate.lock() = 7;
        uploads.remove("one");
        assert!(uploads.names().is_empty());
        assert!(Arc::ptr_eq(&gate, &uploads.gate("one")));
        uploads.insert("one");
        uploads.insert("two");
        assert_eq!(uploads.names(), ["one", "two"]);
        let forgotten = uploads.forget("one").map(|gate| *gate.lock());
        assert_eq!(forgotten, Some(7));
        assert_eq!(uploads.names(), ["two"]);
        assert_eq!(*uploads.gate("one").lock(), 0);
        assert!(uploads.forget("three").is_none());
    }
}
