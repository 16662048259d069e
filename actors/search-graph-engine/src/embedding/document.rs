//! What a model makes of a document: a direction for each of its passages.

use std::sync::Arc;

use super::Embedding;

/// The directions of a document's passages, in their order. Clones share them.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentEmbedding {
    passages: Arc<[Embedding]>,
    is_whole: bool,
}

impl From<Embedding> for DocumentEmbedding {
    /// That of a document of one passage.
    fn from(embedding: Embedding) -> Self {
        Self::new([embedding], true)
    }
}

impl DocumentEmbedding {
    /// Of these passages, and whether those are all that are to be embedded.
    #[must_use]
    pub fn new(passages: impl IntoIterator<Item = Embedding>, is_whole: bool) -> Self {
        Self {
            passages: passages.into_iter().collect(),
            is_whole,
        }
    }

    /// Passages that are embedded.
    #[must_use]
    pub fn passages(&self) -> usize {
        self.passages.len()
    }

    /// Their directions, in their order.
    #[must_use]
    pub fn embeddings(&self) -> &[Embedding] {
        &self.passages
    }

    /// Whether all passages are embedded that are to be.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// How near the nearest of its passages is to a query, by the cosine; `None` where none has a
    /// direction of the query's model.
    #[must_use]
    pub fn nearness(&self, query: &Embedding) -> Option<f32> {
        self.nearness_of_first(self.passages.len(), query)
    }

    /// The nearest of its passages, the first of equal ones, and its cosine.
    #[must_use]
    pub fn nearest(&self, query: &Embedding) -> Option<(usize, f32)> {
        self.nearest_of(self.passages.len(), query)
    }

    /// The nearness of the first passages.
    pub(super) fn nearness_of_first(&self, first: usize, query: &Embedding) -> Option<f32> {
        self.nearest_of(first, query).map(|(_, cosine)| cosine)
    }

    fn nearest_of(&self, first: usize, query: &Embedding) -> Option<(usize, f32)> {
        let passages = self.passages.iter().take(first).enumerate();
        let directed = passages.filter(|(_, passage)| !passage.is_nothing());
        let cosines = directed.filter_map(|(at, passage)| Some((at, passage.cosine(query)?)));
        cosines.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::{DocumentEmbedding, Embedding};

    #[test]
    fn i16_a_document_is_as_near_as_its_nearest_passage() {
        let query = Embedding::new(&[1.0, 0.0]);
        let [near, far, nothing] = [[1.0, 0.1], [0.0, 1.0], [0.0; 2]].map(|n| Embedding::new(&n));
        let other = Embedding::new(&[1.0]);
        let nearness = |passages: &[&Embedding]| {
            let passages = passages.iter().map(|passage| (*passage).clone());
            DocumentEmbedding::new(passages, true).nearness(&query)
        };
        let of_near = near.cosine(&query);
        for (passages, expected) in [
            (&[&near][..], of_near),
            (&[&far, &near], of_near),
            (&[&far, &near, &near, &far], of_near),
            (&[&nothing, &far], Some(0.0)),
            (&[&nothing, &nothing], None),
            (&[&other], None),
            (&[], None),
        ] {
            assert_eq!(nearness(passages), expected, "{passages:?}");
        }
        let several = [&nothing, &far, &near, &near].map(Clone::clone);
        let nearest = DocumentEmbedding::new(several, true).nearest(&query);
        assert_eq!(nearest.map(|(passage, _)| passage), Some(2));
    }
}
