//! The embeddings of a source's documents, as far as they are made.

use std::collections::BTreeMap;

use super::{DocumentEmbedding, Embedding};
use crate::space::NearDocument;

/// With more passages than this a scan looks at the first of each document alone.
const EXACT_UP_TO: usize = 65_536;

/// Embeddings by document. Holds 430 bytes a passage for a model of 384 numbers, of which 384 lie
/// in a file that is mapped once they are kept.
#[derive(Debug, Clone, Default)]
pub struct EmbeddingIndex {
    documents: BTreeMap<Box<str>, DocumentEmbedding>,
    passages: usize,
}

impl EmbeddingIndex {
    /// Puts a document's embedding in place of its former one.
    pub fn insert(&mut self, key: &str, embedding: impl Into<DocumentEmbedding>) {
        let embedding = embedding.into();
        self.passages += embedding.passages();
        let former = self.documents.insert(key.into(), embedding);
        self.passages -= former.map_or(0, |former| former.passages());
    }

    /// Removes a document; says whether it was there.
    pub fn remove(&mut self, key: &str) -> bool {
        let removed = self.documents.remove(key);
        self.passages -= removed.as_ref().map_or(0, DocumentEmbedding::passages);
        removed.is_some()
    }

    /// Number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether no document has an embedding.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Whether a document has an embedding.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.documents.contains_key(key)
    }

    /// The embedding of a document, where it has one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&DocumentEmbedding> {
        self.documents.get(key)
    }

    /// [How near](DocumentEmbedding::nearness) a document is to a query; `None` where it has no
    /// direction.
    #[must_use]
    pub fn nearness(&self, query: &Embedding, key: &str) -> Option<f32> {
        self.documents.get(key)?.nearness(query)
    }

    /// The documents nearest to a query, at most `limit`, nearest first; equal ones in the order of
    /// their keys. Looks at every passage; of more than 65,536 at the first of each document.
    #[must_use]
    pub fn scan(&self, query: &Embedding, limit: usize) -> Vec<NearDocument> {
        self.scan_exactly(query, limit, EXACT_UP_TO)
    }

    fn scan_exactly(
        &self,
        query: &Embedding,
        limit: usize,
        exact_up_to: usize,
    ) -> Vec<NearDocument> {
        let first = if self.passages > exact_up_to {
            1
        } else {
            usize::MAX
        };
        let documents = self.documents.iter();
        let mut found: Vec<(f32, &str)> = documents
            .filter_map(|(key, embedding)| {
                Some((embedding.nearness_of_first(first, query)?, &**key))
            })
            .collect();
        let order = |a: &(f32, &str), b: &(f32, &str)| b.0.total_cmp(&a.0).then(a.1.cmp(b.1));
        if limit > 0 && found.len() > limit {
            found.select_nth_unstable_by(limit - 1, order);
        }
        found.truncate(limit);
        found.sort_unstable_by(order);
        let near = found.into_iter().map(|(cosine, key)| NearDocument {
            key: key.to_owned(),
            cosine,
        });
        near.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{DocumentEmbedding, Embedding, EmbeddingIndex};

    #[test]
    fn the_nearest_come_first_and_equal_ones_by_key() {
        let mut index = EmbeddingIndex::default();
        for (key, numbers) in [
            ("b", [1.0, 0.0]),
            ("a", [2.0, 0.0]),
            ("c", [1.0, 1.0]),
            ("d", [0.0, 1.0]),
        ] {
            index.insert(key, Embedding::new(&numbers));
        }
        index.insert("other model", Embedding::new(&[1.0]));
        let query = Embedding::new(&[1.0, 0.0]);
        let keys = |index: &EmbeddingIndex, limit| -> Vec<String> {
            index
                .scan(&query, limit)
                .into_iter()
                .map(|near| near.key)
                .collect()
        };
        assert_eq!(keys(&index, 3), ["a", "b", "c"]);
        assert_eq!(keys(&index, 0), Vec::<String>::new());
        index.insert("a", Embedding::new(&[0.0, 1.0]));
        assert!(index.remove("b") && !index.remove("b"));
        assert_eq!(keys(&index, 9), ["c", "a", "d"]);
        assert_eq!(index.nearness(&query, "b"), None);
    }

    #[test]
    fn i16_a_scan_looks_at_all_passages_unless_they_are_too_many() {
        let [near, far, between] =
            [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]].map(|numbers| Embedding::new(&numbers));
        let mut index = EmbeddingIndex::default();
        index.insert("short", between.clone());
        let passages = [far.clone(), near.clone(), far];
        index.insert("long", DocumentEmbedding::new(passages, true));
        let keys = |index: &EmbeddingIndex, exact_up_to| -> Vec<String> {
            let found = index.scan_exactly(&near, 2, exact_up_to).into_iter();
            found.map(|one| one.key).collect()
        };
        assert_eq!(keys(&index, 4), ["long", "short"]);
        assert_eq!(keys(&index, 3), ["short", "long"], "by the first passage");
        index.insert("long", DocumentEmbedding::new([between], false));
        assert!(index.get("long").is_some_and(|long| !long.is_whole()));
        index.remove("short");
        assert_eq!((index.len(), index.passages), (1, 1));
    }
}
