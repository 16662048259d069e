//! The graph's memory: who holds what, both ways.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::contribution::{ConceptKind, Contribution};
use crate::thesaurus::ConceptId;

/// Documents a graph holds; more are not taken up.
const MAX_DOCUMENTS: usize = 1_000_000;

/// A concept and where it occurs.
#[derive(Debug, Clone)]
pub(super) struct Concept {
    pub(super) line: Box<str>,
    pub(super) id: ConceptId,
    /// Documents that hold it, in no order that matters.
    pub(super) documents: Vec<u32>,
    /// How many of them name it in each way.
    kinds: [u32; ConceptKind::COUNT],
}

impl Concept {
    /// The surest way in which a document names it.
    pub(super) fn kind(&self) -> ConceptKind {
        let named = ConceptKind::ALL
            .into_iter()
            .find(|kind| self.kinds[*kind as usize] > 0);
        named.unwrap_or(ConceptKind::Keyphrase)
    }
}

/// A document and what it holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Document {
    pub(super) key: Box<str>,
    pub(super) concepts: Box<[(u32, ConceptKind)]>,
}

/// The concepts of a source's documents. See the module.
#[derive(Debug, Clone, Default)]
pub struct ConceptGraph {
    pub(super) concepts: Vec<Concept>,
    pub(super) places: FxHashMap<ConceptId, u32>,
    pub(super) documents: Vec<Document>,
    by_key: FxHashMap<Box<str>, u32>,
    free_concepts: Vec<u32>,
    free_documents: Vec<u32>,
}

/// A graph as it is kept: each document's contribution.
#[derive(Serialize, Deserialize)]
struct Saved(Vec<(String, Contribution)>);

impl ConceptGraph {
    /// Puts a document's contribution in place of its former one.
    pub fn put(&mut self, key: &str, contribution: &Contribution) {
        self.remove(key);
        if contribution.concepts.is_empty() || self.by_key.len() >= MAX_DOCUMENTS {
            return;
        }
        let place = self.free_documents.pop().unwrap_or_else(|| {
            self.documents.push(Document::default());
            self.documents.len() as u32 - 1
        });
        let concepts = contribution.concepts.iter();
        let concepts = concepts
            .map(|(line, kind)| (self.add(line, *kind, place), *kind))
            .collect();
        self.documents[place as usize] = Document {
            key: key.into(),
            concepts,
        };
        self.by_key.insert(key.into(), place);
    }

    /// Notes that a document names a concept; gives the concept's place.
    fn add(&mut self, line: &str, kind: ConceptKind, document: u32) -> u32 {
        let id = ConceptId::of_normalised(line);
        let place = self.places.get(&id).copied().unwrap_or_else(|| {
            let concept = Concept {
                line: line.into(),
                id,
                documents: Vec::new(),
                kinds: [0; ConceptKind::COUNT],
            };
            let place = match self.free_concepts.pop() {
                Some(place) => {
                    self.concepts[place as usize] = concept;
                    place
                }
                None => {
                    self.concepts.push(concept);
                    self.concepts.len() as u32 - 1
                }
            };
            self.places.insert(id, place);
            place
        });
        let concept = &mut self.concepts[place as usize];
        concept.documents.push(document);
        concept.kinds[kind as usize] += 1;
        place
    }

    /// Takes a document's contribution back; says whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        let Some(document) = self.by_key.remove(key) else {
            return false;
        };
        let held = std::mem::take(&mut self.documents[document as usize]);
        for (place, kind) in held.concepts {
            let concept = &mut self.concepts[place as usize];
            concept.kinds[kind as usize] -= 1;
            let at = concept
                .documents
                .iter()
                .rposition(|known| *known == document);
            concept
                .documents
                .swap_remove(at.expect("both directions are kept together"));
            if concept.documents.is_empty() {
                concept.documents = Vec::new();
                concept.line = Box::default();
                self.places.remove(&concept.id);
                self.free_concepts.push(place);
            }
        }
        self.free_documents.push(document);
        true
    }

    /// Number of documents with a contribution.
    #[must_use]
    pub fn document_count(&self) -> usize {
        self.by_key.len()
    }

    /// Number of concepts.
    #[must_use]
    pub fn concept_count(&self) -> usize {
        self.places.len()
    }

    /// The concepts of a document, by id; empty for an unknown one.
    #[must_use]
    pub fn concepts_of(&self, key: &str) -> Vec<ConceptId> {
        let document = self
            .by_key
            .get(key)
            .map(|place| &self.documents[*place as usize]);
        let concepts = document.map_or(&[][..], |document| &document.concepts);
        concepts
            .iter()
            .map(|(place, _)| self.concepts[*place as usize].id)
            .collect()
    }

    /// All concepts with the number of documents that hold each, in the order of their names; for
    /// suggestions.
    #[must_use]
    pub fn names(&self) -> Vec<(&str, u32)> {
        let places = self
            .places
            .values()
            .map(|place| &self.concepts[*place as usize]);
        let mut names: Vec<(&str, u32)> = places
            .map(|concept| (&*concept.line, concept.documents.len() as u32))
            .collect();
        names.sort_unstable();
        names
    }

    /// The graph in bytes: the contributions, in the order of the keys.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut saved: Vec<(String, Contribution)> = self
            .by_key
            .iter()
            .map(|(key, place)| (key.to_string(), self.contribution(*place)))
            .collect();
        saved.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        postcard::to_stdvec(&Saved(saved)).expect("plain data can be written to memory")
    }

    fn contribution(&self, document: u32) -> Contribution {
        let concepts = self.documents[document as usize].concepts.iter();
        let named = |(place, kind): &(u32, ConceptKind)| {
            (self.concepts[*place as usize].line.to_string(), *kind)
        };
        Contribution {
            concepts: concepts.map(named).collect(),
        }
    }

    /// The graph from its [bytes](Self::to_bytes); `None` when they are damaged: then it is made again
    /// from the documents.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let Saved(saved) = postcard::from_bytes(bytes).ok()?;
        let mut graph = Self::default();
        for (key, contribution) in saved {
            let mut checked = Contribution::default();
            for (line, kind) in contribution.concepts {
                checked.add(line, kind);
            }
            graph.put(&key, &checked);
        }
        Some(graph)
    }
}
