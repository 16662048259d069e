//! What is shown of the graph.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::contribution::ConceptKind;
use super::store::{Concept, ConceptGraph};
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
    /// Keys of documents that hold the concept asked for, ascending.
    pub documents: Vec<String>,
}

impl ConceptGraph {
    /// A concept by its identity.
    #[must_use]
    pub fn concept(&self, id: ConceptId) -> Option<ConceptView> {
        let place = *self.places.get(&id)?;
        Some(view(&self.concepts[place as usize]))
    }

    /// The concepts that most documents hold, and what joins them. `limit` is at most [`MAX_VIEW`].
    #[must_use]
    pub fn overview(&self, limit: usize) -> GraphView {
        let mut places: Vec<u32> = self.places.values().copied().collect();
        places.sort_unstable_by(|a, b| {
            let (a, b) = (&self.concepts[*a as usize], &self.concepts[*b as usize]);
            b.documents
                .len()
                .cmp(&a.documents.len())
                .then_with(|| a.line.cmp(&b.line))
        });
        places.truncate(limit.min(MAX_VIEW));
        let shown: FxHashMap<u32, usize> = places
            .iter()
            .enumerate()
            .map(|(rank, place)| (*place, rank))
            .collect();
        let mut edges = Vec::new();
        for (rank, &place) in places.iter().enumerate() {
            let counts = self.together(place).into_iter();
            let later = counts.filter(|(other, _)| shown.get(other).is_some_and(|r| *r > rank));
            edges.extend(later.map(|(other, count)| self.edge(place, other, count)));
        }
        sort(&mut edges);
        edges.truncate(4 * places.len());
        GraphView {
            concepts: places
                .iter()
                .map(|place| view(&self.concepts[*place as usize]))
                .collect(),
            edges,
            documents: Vec::new(),
        }
    }

    /// A concept, the concepts that occur with it most, and the documents that hold it; at most
    /// `limit` of each. `None` when no document holds it.
    #[must_use]
    pub fn neighbours(&self, id: ConceptId, limit: usize) -> Option<GraphView> {
        let limit = limit.min(MAX_VIEW);
        let place = *self.places.get(&id)?;
        let counts = self.together(place).into_iter();
        let mut edges: Vec<EdgeView> = counts
            .map(|(other, count)| self.edge(place, other, count))
            .collect();
        sort(&mut edges);
        edges.truncate(limit);
        let concept = &self.concepts[place as usize];
        let others = edges.iter().filter_map(|edge| self.concept(edge.to));
        let concepts = std::iter::once(view(concept)).chain(others).collect();
        let mut documents: Vec<&str> = concept
            .documents
            .iter()
            .map(|document| &*self.documents[*document as usize].key)
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
    fn together(&self, place: u32) -> FxHashMap<u32, u32> {
        let mut counts = FxHashMap::default();
        for document in &self.concepts[place as usize].documents {
            for (other, _) in &self.documents[*document as usize].concepts {
                if *other != place {
                    *counts.entry(*other).or_default() += 1;
                }
            }
        }
        counts
    }

    /// The weight is the cosine of the two sets of documents.
    fn edge(&self, from: u32, to: u32, count: u32) -> EdgeView {
        let (from, to) = (&self.concepts[from as usize], &self.concepts[to as usize]);
        let sizes = from.documents.len() as f32 * to.documents.len() as f32;
        // One document in common says little where both are rare.
        let sure = count as f32 / (count as f32 + 1.0);
        EdgeView {
            from: from.id,
            to: to.id,
            weight: sure * count as f32 / sizes.sqrt(),
            kind: EdgeKind::Together,
        }
    }
}

pub(super) fn view(concept: &Concept) -> ConceptView {
    ConceptView {
        id: concept.id,
        name: concept.line.to_string(),
        kind: concept.kind(),
        documents: concept.documents.len() as u32,
    }
}

/// Heaviest first, then by the ends: never by chance.
fn sort(edges: &mut [EdgeView]) {
    edges.sort_unstable_by(|a, b| {
        let ends = || (a.from, a.to).cmp(&(b.from, b.to));
        b.weight.total_cmp(&a.weight).then_with(ends)
    });
}
