//! The graph's memory: who holds what, both ways.
//!
//! Documents and concepts are numbered: first those of the file, then those that came since. A
//! concept of the file keeps its number when documents that came since hold it too.

use rustc_hash::FxHashMap;

use super::contribution::{ConceptKind, Contribution};
use super::mapped::MappedGraph;
use crate::columns::{RowSet, key_hash};
use crate::thesaurus::ConceptId;

/// A concept of documents that came since the graph was kept.
#[derive(Debug, Clone)]
struct Concept {
    line: Box<str>,
    id: ConceptId,
    /// Its number in the file, where it has one.
    kept: Option<u32>,
    /// Documents that hold it, in no order that matters.
    documents: Vec<u32>,
}

/// A document that came since the graph was kept, and what it holds.
#[derive(Debug, Clone, Default)]
struct Document {
    key: Box<str>,
    concepts: Box<[(u32, ConceptKind)]>,
}

/// The concepts of a source's documents. See the module.
#[derive(Debug, Clone, Default)]
pub struct ConceptGraph {
    kept: MappedGraph,
    /// Documents of the file that were removed, or put anew.
    gone: RowSet,
    /// How many of them held each concept of the file.
    lost: FxHashMap<u32, u32>,
    concepts: Vec<Concept>,
    places: FxHashMap<ConceptId, u32>,
    documents: Vec<Document>,
    by_hash: FxHashMap<u64, u32>,
    free_concepts: Vec<u32>,
    free_documents: Vec<u32>,
}

impl ConceptGraph {
    pub(super) fn new(kept: MappedGraph) -> Self {
        Self {
            kept,
            ..Self::default()
        }
    }

    /// Puts a document's contribution in place of its former one.
    pub fn insert(&mut self, key: &str, contribution: &Contribution) {
        let hash = key_hash(key);
        self.remove_hashed(hash);
        if contribution.concepts.is_empty() {
            return;
        }
        let place = self.free_documents.pop().unwrap_or_else(|| {
            self.documents.push(Document::default());
            self.documents.len() as u32 - 1
        });
        let concepts = contribution.concepts.iter();
        let concepts = concepts
            .map(|(line, kind)| (self.add(line, place), *kind))
            .collect();
        self.documents[place as usize] = Document {
            key: key.into(),
            concepts,
        };
        self.by_hash.insert(hash, place);
    }

    /// Notes that a document names a concept; gives the concept's place.
    fn add(&mut self, line: &str, document: u32) -> u32 {
        let id = ConceptId::from_normalised(line);
        let place = self.places.get(&id).copied().unwrap_or_else(|| {
            let concept = Concept {
                line: line.into(),
                id,
                kept: self.kept.ids.find_hash(id.0).map(|at| at as u32),
                documents: Vec::new(),
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
        self.concepts[place as usize].documents.push(document);
        place
    }

    /// Takes a document's contribution back; says whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        self.remove_hashed(key_hash(key))
    }

    /// Takes back the contribution of the document whose key has this [hash](key_hash); says
    /// whether there was one.
    pub fn remove_hashed(&mut self, hash: u64) -> bool {
        let Some(document) = self.by_hash.remove(&hash) else {
            return self.remove_mapped(hash);
        };
        let held = std::mem::take(&mut self.documents[document as usize]);
        for (place, _) in held.concepts {
            let concept = &mut self.concepts[place as usize];
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

    fn remove_mapped(&mut self, hash: u64) -> bool {
        let place = self.kept.hashes.find_hash(hash);
        let Some(place) = place.filter(|place| self.gone.add(*place)) else {
            return false;
        };
        for (concept, _) in self.kept.held_by(place) {
            *self.lost.entry(concept).or_default() += 1;
        }
        true
    }

    /// Number of documents with a contribution.
    #[must_use]
    pub fn document_count(&self) -> usize {
        self.kept.documents() - self.gone.count() + self.by_hash.len()
    }

    /// Documents that came since the graph was opened: these are on the heap.
    #[must_use]
    pub fn changed(&self) -> usize {
        self.by_hash.len()
    }

    /// Hashes of the keys of all documents, in no order that matters.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        let kept = self.kept.hashes.rows().iter().enumerate();
        let kept = kept.filter(|(place, _)| !self.gone.contains(*place));
        let kept = kept.map(|(_, hash)| u64::from_le_bytes(*hash));
        kept.chain(self.by_hash.keys().copied())
    }

    /// Number of concepts.
    #[must_use]
    pub fn concept_count(&self) -> usize {
        self.concepts().count()
    }

    /// The concepts of a document with their normalised names, the surest first; empty for an
    /// unknown one.
    #[must_use]
    pub fn concepts_of(&self, key: &str) -> Vec<(ConceptId, &str)> {
        let Some(document) = self.document(key_hash(key)) else {
            return Vec::new();
        };
        let held = self.held_by(document).into_iter();
        held.map(|(concept, _)| (self.id(concept), self.line(concept)))
            .collect()
    }

    /// The normalised names of the concepts of a document; none for an unknown one.
    #[must_use]
    pub fn names_of_hashed(&self, hash: u64) -> Vec<String> {
        let Some(document) = self.document(hash) else {
            return Vec::new();
        };
        let held = self.held_by(document).into_iter();
        held.map(|(concept, _)| self.line(concept).to_owned())
            .collect()
    }

    /// Number of documents that hold the concept of this normalised name.
    #[must_use]
    pub fn held(&self, line: &str) -> u32 {
        let concept = self.handle(ConceptId::from_normalised(line));
        concept.map_or(0, |concept| self.holders(concept))
    }

    /// Calls `each` with every concept's name and the number of documents that hold it, in no order
    /// that matters.
    pub fn for_each_name<'g>(&'g self, mut each: impl FnMut(&'g str, u32)) {
        for concept in self.concepts() {
            each(self.line(concept), self.holders(concept));
        }
    }

    /// All concepts with the number of documents that hold each, in the order of their names.
    #[must_use]
    pub fn names(&self) -> Vec<(&str, u32)> {
        let concepts = self.concepts();
        let mut names: Vec<(&str, u32)> = concepts
            .map(|concept| (self.line(concept), self.holders(concept)))
            .collect();
        names.sort_unstable();
        names
    }
}

/// By number.
impl ConceptGraph {
    /// One more than the highest number of a concept.
    pub(super) fn handles(&self) -> usize {
        self.kept.concepts() + self.concepts.len()
    }

    /// The number of a concept that some document holds.
    pub(super) fn handle(&self, id: ConceptId) -> Option<u32> {
        if let Some(kept) = self.kept.ids.find_hash(id.0) {
            let kept = kept as u32;
            return (self.holders(kept) > 0).then_some(kept);
        }
        let place = self.places.get(&id)?;
        Some(self.kept.concepts() as u32 + place)
    }

    /// The numbers of the concepts that some document holds.
    pub(super) fn concepts(&self) -> impl Iterator<Item = u32> {
        let kept = (0..self.kept.concepts() as u32).filter(|concept| self.holders(*concept) > 0);
        let new = self.places.values();
        let new = new.filter(|place| self.concepts[**place as usize].kept.is_none());
        kept.chain(new.map(|place| self.kept.concepts() as u32 + place))
    }

    pub(super) fn concepts_by_id(&self) -> Vec<u32> {
        let mut concepts: Vec<u32> = self.concepts().collect();
        concepts.sort_unstable_by_key(|concept| self.id(*concept));
        concepts
    }

    fn new_concept(&self, concept: u32) -> Option<&Concept> {
        let place = (concept as usize).checked_sub(self.kept.concepts())?;
        self.concepts.get(place)
    }

    /// What documents that came since hold of a concept.
    fn added_concept(&self, concept: u32) -> Option<&Concept> {
        if self.places.is_empty() {
            return None;
        }
        self.new_concept(concept).or_else(|| {
            let place = self.places.get(&self.id(concept))?;
            self.concepts.get(*place as usize)
        })
    }

    pub(super) fn id(&self, concept: u32) -> ConceptId {
        self.new_concept(concept).map_or_else(
            || {
                let row = self.kept.ids.rows().get(concept as usize);
                ConceptId(row.map_or(0, |row| u64::from_le_bytes(*row)))
            },
            |new| new.id,
        )
    }

    /// The normalised name of a concept.
    pub(super) fn line(&self, concept: u32) -> &str {
        match self.new_concept(concept) {
            Some(new) => &new.line,
            None => self.kept.names.get(concept as usize),
        }
    }

    /// Number of documents that hold a concept.
    pub(super) fn holders(&self, concept: u32) -> u32 {
        let kept = self.kept.documents_with(concept as usize).len() as u32;
        let lost = self.lost.get(&concept).copied().unwrap_or(0);
        let since = self
            .added_concept(concept)
            .map_or(0, |new| new.documents.len());
        kept.saturating_sub(lost) + since as u32
    }

    /// The documents that hold a concept.
    pub(super) fn documents_with(&self, concept: u32) -> impl Iterator<Item = usize> {
        let kept = self.kept.documents_with(concept as usize);
        let kept = kept.filter(|document| !self.gone.contains(*document));
        kept.chain(self.added_documents_with(concept))
    }

    /// Those of them that came since the graph was kept.
    fn added_documents_with(&self, concept: u32) -> impl Iterator<Item = usize> {
        let since = self
            .added_concept(concept)
            .map_or(&[][..], |new| &new.documents);
        let first = self.kept.documents();
        since.iter().map(move |place| first + *place as usize)
    }

    /// The surest way in which a document names a concept. What the file says of it holds until one
    /// of its documents there has gone; only then are all of them looked at.
    pub(super) fn kind(&self, concept: u32) -> ConceptKind {
        let named = |document| {
            let mut surest = ConceptKind::Keyphrase;
            self.for_each_concept_of(document, |held, kind| {
                if held == concept {
                    surest = surest.min(kind);
                }
            });
            surest
        };
        let surest = if self.lost.contains_key(&concept) {
            self.documents_with(concept).map(named).min()
        } else {
            let since = self.added_documents_with(concept).map(named).min();
            since
                .into_iter()
                .chain([self.kept.surest(concept as usize)])
                .min()
        };
        surest.unwrap_or(ConceptKind::Keyphrase)
    }

    pub(super) fn document(&self, hash: u64) -> Option<usize> {
        if let Some(place) = self.by_hash.get(&hash) {
            return Some(self.kept.documents() + *place as usize);
        }
        let place = self.kept.hashes.find_hash(hash);
        place.filter(|place| !self.gone.contains(*place))
    }

    pub(super) fn documents_by_hash(&self) -> Vec<u32> {
        let mut documents: Vec<(u64, u32)> = self
            .hashes()
            .filter_map(|hash| Some((hash, self.document(hash)? as u32)))
            .collect();
        documents.sort_unstable();
        documents
            .into_iter()
            .map(|(_, document)| document)
            .collect()
    }

    pub(super) fn key(&self, document: usize) -> &str {
        match document.checked_sub(self.kept.documents()) {
            None => self.kept.keys.get(document),
            Some(place) => &self.documents[place].key,
        }
    }

    /// The concepts of a document, the surest first.
    pub(super) fn held_by(&self, document: usize) -> Vec<(u32, ConceptKind)> {
        let mut held = Vec::new();
        self.for_each_concept_of(document, |concept, kind| held.push((concept, kind)));
        held
    }

    /// The same without a list of them.
    pub(super) fn for_each_concept_of(
        &self,
        document: usize,
        mut each: impl FnMut(u32, ConceptKind),
    ) {
        #[cfg(test)]
        tests::LOOKS.set(tests::LOOKS.get() + 1);
        let Some(place) = document.checked_sub(self.kept.documents()) else {
            let held = self.kept.held_by(document);
            return held.for_each(|(concept, kind)| each(concept, kind));
        };
        let first = self.kept.concepts() as u32;
        for (place, kind) in &self.documents[place].concepts {
            let kept = self.concepts[*place as usize].kept;
            each(kept.unwrap_or(first + place), *kind);
        }
    }
}

#[cfg(test)]
mod tests;
