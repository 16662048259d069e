//! The documents of a segment in the making, without their terms.

use std::hash::BuildHasher;

use foldhash::fast::RandomState as FastHasher;
use rustc_hash::FxHashMap;

/// Documents in the order they came, in few large allocations.
#[derive(Default)]
pub(super) struct Documents {
    keys: String,
    records: Vec<u8>,
    lines: String,
    begins: Vec<u32>,
    entries: Vec<Entry>,
    /// Numbers of the living documents, by the hash of their keys.
    by_key: FxHashMap<u64, u32>,
    hasher: FastHasher,
}

/// Where a document's parts end, and its numbers.
struct Entry {
    key_end: usize,
    record_end: usize,
    line_end: usize,
    begins_end: usize,
    lengths: FieldLengths,
    is_removed: bool,
}

/// Numbers of words.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldLengths {
    /// Of the title.
    pub(super) title: u32,
    /// Of all: terms, the length of BM25.
    pub(super) all: u32,
}

/// A document, to be written.
#[derive(Clone, Copy)]
pub(super) struct PendingDocument<'d> {
    pub(super) key: &'d str,
    pub(super) record: &'d [u8],
    /// The folded title.
    pub(super) title_line: &'d str,
    pub(super) lengths: FieldLengths,
    /// The numbers that its passages begin with, see [`places`](super::places).
    pub(super) begins: &'d [u32],
    /// Whether the document was removed or replaced.
    pub(super) is_removed: bool,
}

impl Documents {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of documents, removed ones included: the number of the next one.
    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Bytes held, about.
    pub(super) fn bytes(&self) -> usize {
        self.keys.capacity()
            + self.records.capacity()
            + self.lines.capacity()
            + self.begins.capacity() * 4
            + self.entries.capacity() * size_of::<Entry>()
            + self.by_key.capacity() * 20
    }

    /// The document with a number.
    pub(super) fn get(&self, number: u32) -> PendingDocument<'_> {
        let index = number as usize;
        let entry = &self.entries[index];
        let start = index.checked_sub(1).map(|before| &self.entries[before]);
        PendingDocument {
            key: &self.keys[start.map_or(0, |start| start.key_end)..entry.key_end],
            record: &self.records[start.map_or(0, |start| start.record_end)..entry.record_end],
            title_line: &self.lines[start.map_or(0, |start| start.line_end)..entry.line_end],
            lengths: entry.lengths,
            begins: &self.begins[start.map_or(0, |start| start.begins_end)..entry.begins_end],
            is_removed: entry.is_removed,
        }
    }

    /// All documents.
    pub(super) fn iter(&self) -> impl Iterator<Item = PendingDocument<'_>> {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Removes the document with a key, if there is one.
    pub(super) fn remove(&mut self, key: &str) {
        let hash = self.hasher.hash_one(key);
        if let Some(&number) = self.by_key.get(&hash)
            && self.get(number).key == key
        {
            self.entries[number as usize].is_removed = true;
            self.by_key.remove(&hash);
        } else if self.by_key.contains_key(&hash) {
            // Another key of the same 64-bit hash: look at all of them, as that never happens.
            self.remove_slowly(key);
        }
    }

    #[cold]
    fn remove_slowly(&mut self, key: &str) {
        for number in 0..self.len() {
            if self.get(number).key == key {
                self.entries[number as usize].is_removed = true;
            }
        }
    }

    /// Adds a document whose key is not among the living ones.
    pub(super) fn push(
        &mut self,
        key: &str,
        record: &[u8],
        title_line: &str,
        lengths: FieldLengths,
        begins: &[u32],
    ) {
        let number = self.len();
        self.keys.push_str(key);
        self.records.extend_from_slice(record);
        self.lines.push_str(title_line);
        self.begins.extend_from_slice(begins);
        self.entries.push(Entry {
            key_end: self.keys.len(),
            record_end: self.records.len(),
            line_end: self.lines.len(),
            begins_end: self.begins.len(),
            lengths,
            is_removed: false,
        });
        self.by_key.insert(self.hasher.hash_one(key), number);
    }
}

#[cfg(test)]
mod tests {
    use super::{Documents, FieldLengths};

    #[test]
    fn documents_keep_their_parts_and_are_replaced_by_key() {
        let mut documents = Documents::default();
        for (key, record) in [("a", "1"), ("b", "22"), ("a", "333")] {
            documents.remove(key);
            let lengths = FieldLengths { title: 1, all: 2 };
            documents.push(
                key,
                record.as_bytes(),
                "line",
                lengths,
                &[record.len() as u32],
            );
        }
        documents.remove("none");
        let found: Vec<_> = documents
            .iter()
            .map(|d| (d.key, d.begins[0] as usize, d.is_removed))
            .collect();
        assert_eq!(found, [("a", 1, true), ("b", 2, false), ("a", 3, false)]);
    }
}
