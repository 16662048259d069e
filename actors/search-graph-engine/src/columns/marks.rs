//! A set of places, for what has gone from a table that is never changed.

use std::sync::Arc;

/// Marked places, a bit each; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowSet {
    bits: Arc<Vec<u64>>,
    count: usize,
}

impl RowSet {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn contains(&self, place: usize) -> bool {
        let word = self.bits.get(place / 64);
        word.is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// Marks a place; says whether it was not marked yet.
    pub(crate) fn add(&mut self, place: usize) -> bool {
        if self.contains(place) {
            return false;
        }
        let bits = Arc::make_mut(&mut self.bits);
        bits.resize(bits.len().max(place / 64 + 1), 0);
        bits[place / 64] |= 1 << (place % 64);
        self.count += 1;
        true
    }
}
