//! Which version of which document is part of the graph and the space, by the hash of its key.

use rustc_hash::{FxHashMap, FxHashSet};
use search_graph_engine::key_hash;
use search_graph_engine::manifest::VersionRows;

pub(super) use search_graph_engine::manifest::ContentHash;

/// The versions as they were kept, in rows that are searched where they lie, and what has changed
/// since.
#[derive(Debug, Default)]
pub(super) struct KnownDocuments {
    rows: VersionRows,
    /// Rows that count no more.
    gone: RowSet,
    changed: FxHashMap<u64, ContentHash>,
}

/// Places of rows, a bit each.
#[derive(Debug, Clone, Default)]
struct RowSet(Vec<u64>);

impl RowSet {
    fn contains(&self, place: usize) -> bool {
        let word = self.0.get(place / 64);
        word.is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn add(&mut self, place: usize) {
        self.0.resize(self.0.len().max(place / 64 + 1), 0);
        self.0[place / 64] |= 1 << (place % 64);
    }
}

/// Documents that were met, of those that are known.
#[derive(Debug, Default)]
pub(super) struct MetDocuments {
    rows: RowSet,
    changed: FxHashSet<u64>,
}

impl From<VersionRows> for KnownDocuments {
    fn from(rows: VersionRows) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }
}

impl KnownDocuments {
    /// Of documents in any order; of those of one key any counts.
    pub(super) fn from_versions(documents: impl IntoIterator<Item = (u64, ContentHash)>) -> Self {
        VersionRows::from_versions(documents).into()
    }

    fn place(&self, key: u64) -> Option<usize> {
        self.rows
            .place(key)
            .filter(|place| !self.gone.contains(*place))
    }

    fn content(&self, key: u64) -> Option<ContentHash> {
        let changed = self.changed.get(&key).copied();
        changed.or_else(|| self.rows.content(self.place(key)?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && (0..self.rows.len()).all(|place| self.gone.contains(place))
    }

    /// Whether this version of a document is part of them.
    pub(super) fn contains(&self, key: &str, hash: &ContentHash) -> bool {
        self.content(key_hash(key)).as_ref() == Some(hash)
    }

    /// Whether any version of the document is, by the hash of its key.
    pub(super) fn contains_hashed(&self, key: u64) -> bool {
        self.content(key).is_some()
    }

    pub(super) fn insert(&mut self, key: &str, hash: ContentHash) {
        let key = key_hash(key);
        self.remove_hashed(key);
        self.changed.insert(key, hash);
    }

    pub(super) fn remove_hashed(&mut self, key: u64) {
        self.changed.remove(&key);
        if let Some(place) = self.place(key) {
            self.gone.add(place);
        }
    }

    /// Notes that a document was met.
    pub(super) fn record_met(&self, met: &mut MetDocuments, key: &str) {
        let key = key_hash(key);
        match self.place(key) {
            Some(place) => met.rows.add(place),
            None => _ = met.changed.insert(key),
        }
    }

    /// The hashes of the keys of known documents that were not met.
    pub(super) fn not_met(&self, met: &MetDocuments) -> Vec<u64> {
        let rows = self.rows.iter().enumerate();
        let rows =
            rows.filter(|(place, _)| !self.gone.contains(*place) && !met.rows.contains(*place));
        let changed = self.changed.keys().copied();
        let changed = changed.filter(|key| !met.changed.contains(key));
        rows.map(|(_, (key, _))| key).chain(changed).collect()
    }

    /// All of them in the order of the keys' hashes. No list of them is made.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, ContentHash)> + '_ {
        let rows = self.rows.iter().enumerate();
        let rows = rows.filter(|(place, _)| !self.gone.contains(*place));
        let mut rows = rows.map(|(_, row)| row).peekable();
        let mut changed: Vec<(u64, ContentHash)> = self
            .changed
            .iter()
            .map(|(key, content)| (*key, *content))
            .collect();
        changed.sort_unstable();
        let mut changed = changed.into_iter().peekable();
        std::iter::from_fn(move || {
            // No key is in both.
            let next = changed.peek().map(|(key, _)| *key);
            rows.next_if(|(key, _)| next.is_none_or(|next| *key < next))
                .or_else(|| changed.next())
        })
    }
}

impl PartialEq for KnownDocuments {
    fn eq(&self, other: &Self) -> bool {
        self.rows().eq(other.rows())
    }
}

impl<'k> FromIterator<(&'k str, ContentHash)> for KnownDocuments {
    fn from_iter<I: IntoIterator<Item = (&'k str, ContentHash)>>(documents: I) -> Self {
        let documents = documents.into_iter();
        Self::from_versions(documents.map(|(key, hash)| (key_hash(key), hash)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_changes_stand_beside_what_was_kept() {
        let mut known: KnownDocuments = [("a", [1; 16]), ("b", [2; 16]), ("c", [3; 16])]
            .into_iter()
            .collect();
        known.insert("b", [9; 16]);
        known.insert("d", [4; 16]);
        known.remove_hashed(key_hash("a"));
        known.remove_hashed(key_hash("unknown"));
        let expected: KnownDocuments = [("b", [9; 16]), ("c", [3; 16]), ("d", [4; 16])]
            .into_iter()
            .collect();
        assert_eq!(known, expected);
        let rows: Vec<_> = known.rows().collect();
        assert!(rows.len() == 3 && rows.is_sorted(), "{rows:?}");
        assert!(known.contains("b", &[9; 16]) && !known.contains("b", &[2; 16]));
        assert!(!known.contains_hashed(key_hash("a")) && known.contains_hashed(key_hash("d")));
        let mut met = MetDocuments::default();
        for key in ["b", "new", "c"] {
            known.record_met(&mut met, key);
        }
        assert_eq!(known.not_met(&met), [key_hash("d")]);
        for key in ["b", "c", "d"] {
            known.remove_hashed(key_hash(key));
        }
        assert!(known.is_empty());
    }
}
