//! The concept space: vectors of words and documents, ready to be searched.
//!
//! Everything is in bytes with a factor a row: 128 bytes a document. A saved space is searched
//! where it lies in its file; only what has changed since is on the heap. A clone shares what it is
//! made of, so the one who changes a space gives clones to those who search it; they see it as it
//! was.

mod best;
mod documents;
mod error;
mod file;
mod near_words;
mod saved_documents;
mod sketch;
mod spread;
mod vector;
mod words;

use std::sync::Arc;

pub use documents::NearDocument;
pub use error::SpaceError;
pub use spread::CosineDistribution;
pub use vector::ConceptVector;
pub(crate) use words::WordTableBuilder;
pub use words::{NearWord, WordTable};

use crate::columns::key_hash;
use crate::learning::document_weight;
use crate::math::WIDTH;
use documents::DocumentTable;

/// With fewer documents, or passages of them, the corpus teaches too little: search stays lexical.
pub const MIN_DOCUMENTS: usize = 200;

/// With fewer documents their vectors say too little beside the words, whatever was learnt from.
pub const MIN_LONG_DOCUMENTS: usize = 20;

/// Most documents found by [`ConceptSpace::scan`] that are worth ranking beside the lexical ones.
pub const SCAN_DEPTH: usize = 100;

/// Parts of a document that changes are counted in.
const DOCUMENT: u64 = 100;

/// Vectors of the words and documents of a source. See the module.
#[derive(Debug, Clone)]
pub struct ConceptSpace {
    words: Arc<WordTable>,
    documents: DocumentTable,
    /// What has changed since the words were learnt, in [parts](DOCUMENT) of a document.
    changes: u64,
    /// Documents, or passages of them, that the words were learnt from.
    taught_by: u64,
}

impl ConceptSpace {
    pub(crate) fn new(words: WordTable, taught_by: usize) -> Self {
        Self {
            words: Arc::new(words),
            documents: DocumentTable::default(),
            changes: 0,
            taught_by: taught_by as u64,
        }
    }

    /// The words.
    #[must_use]
    pub fn words(&self) -> &WordTable {
        &self.words
    }

    /// Number of documents with a vector.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Whether no document has a vector.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there are enough documents to rank by concepts, or fewer long ones, of which the
    /// passages taught enough.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let taught_by = self.taught_by >= MIN_DOCUMENTS as u64;
        self.len() >= MIN_DOCUMENTS || (taught_by && self.len() >= MIN_LONG_DOCUMENTS)
    }

    /// Documents found by [`scan`](Self::scan) that are worth ranking beside the lexical ones: not
    /// more than half of a small source.
    #[must_use]
    pub fn scan_depth(&self) -> usize {
        SCAN_DEPTH.min(self.len() / 2)
    }

    /// Whether so much has changed since the words were learnt that they should be learnt anew,
    /// shortly: more than 5 % of the documents. A document that says nearly the same as before
    /// counts as little as its vector has turned.
    #[must_use]
    pub fn needs_refresh(&self) -> bool {
        self.changes * 20 > self.len() as u64 * DOCUMENT
    }

    /// Whether most documents say something else than when the words were learnt.
    #[must_use]
    pub fn is_another(&self) -> bool {
        self.changes * 2 > self.len() as u64 * DOCUMENT
    }

    /// Whether any document was put or removed since the words were learnt.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.changes > 0
    }

    /// The direction of a query, from its terms and how often it holds each. Unknown terms count by
    /// their letters. `None` when the terms say nothing.
    #[must_use]
    pub fn query_vector<'t>(
        &self,
        terms: impl IntoIterator<Item = (&'t str, u32)>,
    ) -> Option<ConceptVector> {
        self.words.query_vector(terms)
    }

    /// The direction of each term by itself; `None` for those that are not known.
    #[must_use]
    pub fn term_vectors<'t>(
        &self,
        terms: impl IntoIterator<Item = &'t str>,
    ) -> Vec<Option<ConceptVector>> {
        let terms = terms.into_iter();
        let vector = |term| self.words.find(term).and(self.query_vector([(term, 1)]));
        terms.map(vector).collect()
    }

    /// The direction of a document, from its terms in any order. Unknown terms are left out.
    #[must_use]
    pub fn document_vector<T: AsRef<str>>(
        &self,
        terms: impl IntoIterator<Item = T>,
    ) -> Option<ConceptVector> {
        let mut counts: rustc_hash::FxHashMap<u32, u32> = rustc_hash::FxHashMap::default();
        let terms = terms.into_iter().take(crate::learning::MAX_DOCUMENT_TERMS);
        for word in terms.filter_map(|term| self.words.find(term.as_ref())) {
            *counts.entry(word).or_default() += 1;
        }
        let bag = counts.into_iter();
        self.words.vector(
            bag.map(|(word, count)| (word, document_weight(count)))
                .collect(),
        )
    }

    /// Puts a document at its place, from its terms (title, then body); it replaces the one with
    /// the same key.
    pub fn insert<T: AsRef<str>>(&mut self, key: &str, terms: impl IntoIterator<Item = T>) {
        let vector = self.document_vector(terms);
        self.put_at(key, vector.as_ref());
    }

    /// The same with its [vector](Self::document_vector); one without any is not there any more.
    pub fn put_at(&mut self, key: &str, vector: Option<&ConceptVector>) {
        let kept = vector.and_then(|vector| self.cosine(vector, key));
        self.changes += kept.map_or(DOCUMENT, parts_changed);
        self.set_vector(key, vector);
    }

    /// Puts a document at its place; without a vector it is removed.
    pub(crate) fn set_vector(&mut self, key: &str, vector: Option<&ConceptVector>) {
        match vector {
            Some(vector) => self.documents.insert(key, &vector.bytes, vector.factor),
            None => _ = self.documents.remove(key_hash(key)),
        }
    }

    pub(crate) fn clear_changes(&mut self) {
        self.changes = 0;
    }

    /// Removes a document; says whether it was there.
    pub fn remove(&mut self, key: &str) -> bool {
        self.remove_hashed(key_hash(key))
    }

    /// Removes the document whose key has this [hash](key_hash); says whether it was there.
    pub fn remove_hashed(&mut self, hash: u64) -> bool {
        let was_there = self.documents.remove(hash);
        self.changes += if was_there { DOCUMENT } else { 0 };
        was_there
    }

    /// The documents nearest to a direction, at most `limit` of them, nearest first; equal ones in
    /// the order of their keys. Looks at every document; of a source with more than 262,144 only at
    /// those whose vectors have nearly the signs that `vector` has.
    #[must_use]
    pub fn scan(&self, vector: &ConceptVector, limit: usize) -> Vec<NearDocument> {
        self.survey(vector, limit).0
    }

    /// As [`scan`](Self::scan), with how near all documents are altogether (of a large source, the
    /// documents of a sample).
    #[must_use]
    pub fn survey(
        &self,
        vector: &ConceptVector,
        limit: usize,
    ) -> (Vec<NearDocument>, CosineDistribution) {
        self.documents.survey(&vector.bytes, vector.factor, limit)
    }

    /// The direction of a document; `None` when it has none.
    #[must_use]
    pub fn vector_of(&self, key: &str) -> Option<ConceptVector> {
        let (bytes, factor) = self.documents.vector(key)?;
        Some(ConceptVector { bytes, factor })
    }

    /// Cosine of the angle between a direction and a document's; `None` when the document has none.
    /// Looks the document up by its key: for several directions [have it once](Self::vector_of).
    #[must_use]
    pub fn cosine(&self, vector: &ConceptVector, key: &str) -> Option<f32> {
        self.vector_of(key).map(|own| own.cosine(vector))
    }

    /// Words that stand for nearly the same as `term`, nearest first, with the cosine; `term`
    /// itself is not among them.
    #[must_use]
    pub fn related_words(&self, term: &str, limit: usize) -> Vec<NearWord> {
        let Some(vector) = self.words.query_vector([(term, 1)]) else {
            return Vec::new();
        };
        let mut near = self.words.nearest(&vector, limit + 1);
        near.retain(|word| word.term != term);
        near.truncate(limit);
        near
    }

    /// Bytes of the heap that this space takes, shared with its clones; what lies in its file is
    /// not among them.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.words.heap_bytes() + self.documents.heap_bytes()
    }
}

/// How much of a document has changed whose vector has this cosine with the former one: at least
/// one part.
fn parts_changed(cosine: f32) -> u64 {
    let turned = (1.0 - cosine).clamp(0.0, 1.0);
    ((turned * DOCUMENT as f32).ceil() as u64).clamp(1, DOCUMENT)
}

const _: () = assert!(WIDTH == 128, "the file's rows are 128 bytes");
