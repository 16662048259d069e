//! Sets of documents of one segment.

use tantivy::postings::BlockSegmentPostings;
use tantivy::{BitSet, DocId, SegmentReader};

/// A set of documents, one bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// The empty set of documents below `max_doc`.
    pub(super) fn new(max_doc: DocId) -> Self {
        Self {
            words: vec![0; (max_doc as usize).div_ceil(64)],
        }
    }

    /// All documents below `max_doc`.
    pub(super) fn full(max_doc: DocId) -> Self {
        let mut words = vec![u64::MAX; (max_doc as usize).div_ceil(64)];
        let rest = max_doc % 64;
        if let Some(last) = words.last_mut()
            && rest > 0
        {
            *last = (1 << rest) - 1;
        }
        Self { words }
    }

    /// The documents of a segment that are deleted, where there are any.
    pub(super) fn deleted(reader: &SegmentReader) -> Option<Self> {
        let alive = reader.alive_bitset()?.bitset();
        let max_doc = reader.max_doc();
        // The only way to its words that does not look at each document.
        let mut kept = BitSet::with_max_value_and_full(max_doc);
        kept.intersect_update(alive);
        let mut deleted = Self::full(max_doc);
        for (bucket, word) in (0_u32..).zip(&mut deleted.words) {
            *word &= !u64::from_le_bytes(kept.tinyset(bucket).into_bytes());
        }
        Some(deleted)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// Adds documents.
    #[inline]
    pub(super) fn insert_all(&mut self, documents: &[DocId]) {
        for &document in documents {
            self.words[document as usize / 64] |= 1 << (document % 64);
        }
    }

    /// Adds the documents of a posting list, from where its cursor stands on.
    pub(super) fn insert_list(&mut self, list: &mut BlockSegmentPostings) {
        loop {
            let documents = list.docs();
            if documents.is_empty() {
                return;
            }
            #[cfg(test)]
            super::posting_reads::record(documents.len());
            self.insert_all(documents);
            list.advance();
        }
    }

    pub(super) fn contains(&self, document: DocId) -> bool {
        self.words[document as usize / 64] >> (document % 64) & 1 == 1
    }

    /// Keeps what is in both.
    pub(super) fn intersect(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Takes all documents out.
    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds what is in the other.
    pub(super) fn unite(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Whether there is no document.
    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Number of documents.
    pub(super) fn len(&self) -> u64 {
        self.words
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum()
    }

    /// The documents, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = DocId> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    index as DocId * 64 + bit
                })
            })
        })
    }

    /// Takes out what is in the other.
    pub(super) fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Number of documents that are not in the other.
    pub(super) fn len_without(&self, other: &Self) -> u64 {
        let words = self.words.iter().zip(&other.words);
        words
            .map(|(word, other)| u64::from((word & !other).count_ones()))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Bitmap;

    fn bitmap(documents: &BTreeSet<u32>) -> Bitmap {
        let mut set = Bitmap::new(500);
        set.insert_all(&documents.iter().copied().collect::<Vec<_>>());
        set
    }

    proptest! {
        #[test]
        fn bitmaps_are_sets(
            a in prop::collection::btree_set(0_u32..500, 0..200),
            b in prop::collection::btree_set(0_u32..500, 0..200),
        ) {
            let (mut both, mut any) = (bitmap(&a), bitmap(&a));
            both.intersect(&bitmap(&b));
            any.unite(&bitmap(&b));
            prop_assert_eq!(both.iter().collect::<BTreeSet<_>>(), &a & &b);
            prop_assert_eq!(any.iter().collect::<BTreeSet<_>>(), &a | &b);
            prop_assert_eq!(any.len(), (&a | &b).len() as u64);
            prop_assert_eq!(any.len_without(&bitmap(&b)), (&a - &b).len() as u64);
            let mut rest = Bitmap::full(500);
            rest.subtract(&bitmap(&a));
            prop_assert_eq!(rest.len(), 500 - a.len() as u64);
            any.subtract(&bitmap(&b));
            prop_assert_eq!(any, bitmap(&(&a - &b)));
            prop_assert!(a.iter().all(|&document| bitmap(&a).contains(document)));
        }
    }
}
