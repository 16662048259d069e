//! What is around a document: its concepts that other documents hold too, and those documents.

use rustc_hash::FxHashMap;

use super::store::ConceptGraph;
use super::view::{GraphView, MAX_VIEW};
use crate::columns::key_hash;

/// A concept of more documents than this joins nothing: it is counted, and its holders are not.
const MAX_HOLDERS: u32 = 5_000;

impl ConceptGraph {
    /// The concepts of a document that others hold too, the rarest first, and the documents that
    /// share most of them, weighted by how rare these are; at most `limit` of each. `None` for a
    /// document that is not in the graph.
    #[must_use]
    pub fn neighbourhood(&self, key: &str, limit: usize) -> Option<GraphView> {
        let limit = limit.min(MAX_VIEW);
        let place = self.document(key_hash(key))?;
        let held = self.held_by(place).into_iter().map(|(concept, _)| concept);
        let mut shared: Vec<(u32, u32)> = held
            .map(|concept| (self.holders(concept), concept))
            .filter(|(holders, _)| *holders > 1)
            .collect();
        shared.sort_unstable_by(|a, b| {
            let names = || self.line(a.1).cmp(self.line(b.1));
            a.0.cmp(&b.0).then_with(names)
        });
        let all = self.document_count() as f32;
        let mut weights: FxHashMap<usize, f32> = FxHashMap::default();
        for &(holders, concept) in &shared {
            if holders > MAX_HOLDERS {
                break;
            }
            let weight = (1.0 + all / holders as f32).ln();
            for document in self.documents_with(concept).filter(|other| *other != place) {
                *weights.entry(document).or_default() += weight;
            }
        }
        let mut near: Vec<(f32, &str)> = weights
            .into_iter()
            .map(|(document, weight)| (weight, self.key(document)))
            .collect();
        near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        near.truncate(limit);
        shared.truncate(limit);
        let concepts = shared.iter().map(|(_, concept)| self.view(*concept));
        Some(GraphView {
            concepts: concepts.collect(),
            edges: Vec::new(),
            documents: near.into_iter().map(|(_, key)| key.to_owned()).collect(),
        })
    }
}
