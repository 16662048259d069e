//! The embeddings of a source's documents, as far as they are made.

use std::collections::BTreeMap;

use super::Embedding;
use crate::space::NearDocument;

/// Embeddings by document. Holds 400 bytes a document for a model of 384 numbers.
#[derive(Debug, Clone, Default)]
pub struct EmbeddingIndex {
    documents: BTreeMap<Box<str>, Embedding>,
}

impl EmbeddingIndex {
    /// Puts a document's embedding in place of its former one.
    pub fn put(&mut self, key: &str, embedding: Embedding) {
        self.documents.insert(key.into(), embedding);
    }

    /// Removes a document; says whether it was there.
    pub fn remove(&mut self, key: &str) -> bool {
        self.documents.remove(key).is_some()
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
    pub fn holds(&self, key: &str) -> bool {
        self.documents.contains_key(key)
    }

    /// Cosine of the angle between a query and a document; `None` where the document has none.
    #[must_use]
    pub fn cosine(&self, query: &Embedding, key: &str) -> Option<f32> {
        let embedding = self.documents.get(key)?;
        embedding.cosine(query).filter(|_| !embedding.is_nothing())
    }

    /// The documents nearest to a query, at most `limit`, nearest first; equal ones in the order of
    /// their keys. Looks at every document.
    #[must_use]
    pub fn scan(&self, query: &Embedding, limit: usize) -> Vec<NearDocument> {
        let documents = self.documents.iter();
        let mut found: Vec<(f32, &str)> = documents
            .filter_map(|(key, embedding)| Some((embedding.cosine(query)?, &**key)))
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
    use super::{Embedding, EmbeddingIndex};

    #[test]
    fn the_nearest_come_first_and_equal_ones_by_key() {
        let mut index = EmbeddingIndex::default();
        for (key, numbers) in [
            ("b", [1.0, 0.0]),
            ("a", [2.0, 0.0]),
            ("c", [1.0, 1.0]),
            ("d", [0.0, 1.0]),
        ] {
            index.put(key, Embedding::new(&numbers));
        }
        index.put("other model", Embedding::new(&[1.0]));
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
        index.put("a", Embedding::new(&[0.0, 1.0]));
        assert!(index.remove("b") && !index.remove("b"));
        assert_eq!(keys(&index, 9), ["c", "a", "d"]);
        assert_eq!(index.cosine(&query, "b"), None);
    }
}
