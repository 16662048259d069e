//! Passages that were embedded, by the digests of their texts: what a changed document has kept is
//! not embedded again.

use rustc_hash::FxHashMap;
use search_graph_engine::embedding::{EmbeddedPassage, Embedding, TextDigest, UNKNOWN_DIGEST};

/// Most passages that are remembered: some 7 MB for a model of 384 numbers.
const MAX_PASSAGES: usize = 16_384;

/// Passages of contents that have gone, until all documents are embedded.
#[derive(Debug, Default)]
pub(super) struct PassageCache(FxHashMap<TextDigest, Embedding>);

impl PassageCache {
    /// Remembers passages; those beyond the bound are embedded again.
    pub(super) fn insert(&mut self, passages: impl IntoIterator<Item = EmbeddedPassage>) {
        for passage in passages {
            if self.0.len() >= MAX_PASSAGES {
                return;
            }
            if passage.digest != UNKNOWN_DIGEST {
                self.0.insert(passage.digest, passage.embedding);
            }
        }
    }

    pub(super) fn get(&self, digest: &TextDigest) -> Option<&Embedding> {
        self.0.get(digest)
    }

    pub(super) fn clear(&mut self) {
        self.0 = FxHashMap::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_passages_are_remembered_by_their_text_and_not_without_bound() {
        let passage = |number: u32| {
            let mut digest = [1; 16];
            digest[..4].copy_from_slice(&number.to_le_bytes());
            EmbeddedPassage {
                digest,
                embedding: Embedding::new(&[1.0, number as f32]),
            }
        };
        let unknown = EmbeddedPassage {
            digest: UNKNOWN_DIGEST,
            ..passage(0)
        };
        let mut cache = PassageCache::default();
        cache.insert([unknown, passage(7)]);
        assert_eq!(cache.get(&passage(7).digest), Some(&passage(7).embedding));
        assert_eq!(cache.get(&UNKNOWN_DIGEST), None);
        cache.insert((0..20_000).map(passage));
        assert_eq!(cache.0.len(), MAX_PASSAGES);
        cache.clear();
        assert_eq!(cache.get(&passage(7).digest), None);
    }
}
