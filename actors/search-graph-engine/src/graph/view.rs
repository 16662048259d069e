//! What is shown of the graph.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::contribution::ConceptKind;
use super::store::ConceptGraph;
use crate::thesaurus::ConceptId;

/// Most concepts, or documents, of a view.
pub const MAX_VIEW: usize = 500;

/// A concept as shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConceptView {
    /// Identity, the same in every run.
    pub id: ConceptId,
    /// Normalised name.
    pub name: String,
    /// The surest way in which a document names it.
    pub kind: ConceptKind,
    /// Number of documents that hold it.
    pub documents: u32,
}

/// Why two concepts are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeKind {
    /// The same documents hold both.
    Together,
    /// They stand for nearly the same, by the vectors learnt from the corpus.
    Near,
}

/// Two concepts that belong together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EdgeView {
    /// One end.
    pub from: ConceptId,
    /// The other end.
    pub to: ConceptId,
    /// How much, from 0 to 1.
    pub weight: f32,
    /// Why.
    pub kind: EdgeKind,
}

/// A part of the graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GraphView {
    /// Concepts, the one asked for first, then by weight; all ends of edges are among them.
    pub concepts: Vec<ConceptView>,
    /// Edges, heaviest first.
    pub edges: Vec<EdgeView>,
    /// Keys of documents that hold the concept asked for, ascending; around a document those that
    /// share most with it, the nearest first.
    pub documents: Vec<String>,
}

impl ConceptGraph {
    /// A concept by its identity.
    #[must_use]
    pub fn concept(&self, id: ConceptId) -> Option<ConceptView> {
        Some(self.view(self.handle(id)?))
    }

    pub(super) fn view(&self, concept: u32) -> ConceptView {
        ConceptView {
            id: self.id(concept),
            name: self.line(concept).to_owned(),
            kind: self.kind(concept),
            documents: self.holders(concept),
        }
    }

    /// The concepts that most documents hold, and what joins them. `limit` is at most [`MAX_VIEW`].
    #[must_use]
    pub fn overview(&self, limit: usize) -> GraphView {
        let limit = limit.min(MAX_VIEW);
        let counted = self.concepts().map(|one| (self.holders(one), one));
        let mut counted: Vec<(u32, u32)> = counted.collect();
        let order = |a: &(u32, u32), b: &(u32, u32)| {
            let names = || self.line(a.1).cmp(self.line(b.1));
            b.0.cmp(&a.0).then_with(names)
        };
        if limit > 0 && counted.len() > limit {
            counted.select_nth_unstable_by(limit - 1, order);
        }
        counted.truncate(limit);
        counted.sort_unstable_by(order);
        let places: Vec<u32> = counted.into_iter().map(|(_, concept)| concept).collect();
        let shown: FxHashMap<u32, usize> = places
            .iter()
            .enumerate()
            .map(|(rank, place)| (*place, rank))
            .collect();
        let mut edges = Vec::new();
        for (rank, &place) in places.iter().enumerate() {
            let counts = self.co_occurrences(place).into_iter();
            let later = counts.filter(|(other, _)| shown.get(other).is_some_and(|r| *r > rank));
            edges.extend(later.map(|(other, count)| self.edge(place, other, count)));
        }
        sort(&mut edges);
        edges.truncate(4 * places.len());
        GraphView {
            concepts: places.iter().map(|place| self.view(*place)).collect(),
            edges,
            documents: Vec::new(),
        }
    }

    /// A concept, the concepts that occur with it most, and the documents that hold it; at most
    /// `limit` of each. `None` when no document holds it.
    #[must_use]
    pub fn neighbours(&self, id: ConceptId, limit: usize) -> Option<GraphView> {
        let limit = limit.min(MAX_VIEW);
        let place = self.handle(id)?;
        let counts = self.co_occurrences(place).into_iter();
        let mut edges: Vec<EdgeView> = counts
            .map(|(other, count)| self.edge(place, other, count))
            .collect();
        sort(&mut edges);
        edges.truncate(limit);
        let others = edges.iter().filter_map(|edge| self.concept(edge.to));
        let concepts = std::iter::once(self.view(place)).chain(others).collect();
        let mut documents: Vec<&str> = self
            .documents_with(place)
            .map(|document| self.key(document))
            .collect();
        documents.sort_unstable();
        documents.truncate(limit);
        Some(GraphView {
            concepts,
            edges,
            documents: documents.into_iter().map(str::to_owned).collect(),
        })
    }

    /// How many documents hold each other concept together with this one.
    fn co_occurrences(&self, place: u32) -> FxHashMap<u32, u32> {
        let mut counts = FxHashMap::default();
        for document in self.documents_with(place) {
            self.for_each_concept_of(document, |other, _| {
                if other != place {
                    *counts.entry(other).or_default() += 1;
                }
            });
        }
        counts
    }

    /// The weight is the cosine of the two sets of documents.
    fn edge(&self, from: u32, to: u32, count: u32) -> EdgeView {
        let sizes = self.holders(from) as f32 * self.holders(to) as f32;
        // One document in common says little where both are rare.
        let sure = count as f32 / (count as f32 + 1.0);
        EdgeView {
            from: self.id(from),
            to: self.id(to),
            weight: sure * count as f32 / sizes.sqrt(),
            kind: EdgeKind::Together,
        }
    }
}

/// Heaviest first, then by the ends: never by chance.
fn sort(edges: &mut [EdgeView]) {
    edges.sort_unstable_by(|a, b| {
        let ends = || (a.from, a.to).cmp(&(b.from, b.to));
        b.weight.total_cmp(&a.weight).then_with(ends)
    });
}
