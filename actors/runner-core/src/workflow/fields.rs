//! The entries of a mapping by their keys.

use super::reader::Reader;
use crate::yaml::{Entry, Node, NodeData};

/// The values of a mapping by their keys.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'n> {
    pub(super) entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    /// Those of a value that is a mapping.
    pub(crate) fn of(node: &'n Node) -> Option<Self> {
        match &node.data {
            NodeData::Map(entries) => Some(Self { entries }),
            _ => None,
        }
    }

    /// All of them, in order.
    pub(crate) fn entries(&self) -> &'n [Entry] {
        self.entries
    }

    /// The entry of a key.
    pub(crate) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key that is there.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &*entry.value)
    }

    /// Reads the value of a key that is there and not empty.
    pub(crate) fn read<T>(
        &self,
        reader: &Reader<'_>,
        key: &str,
        read: impl FnOnce(&'n Node) -> Option<T>,
    ) -> Option<T> {
        let node = self.get(key).filter(|node| !node.is_null())?;
        reader.within(key, || read(node))
    }
}
