//! Documents of a segment, gathered in memory: term counts per document, one posting list a term.

use foldhash::fast::RandomState as FastHasher;
use rustc_hash::FxHashMap;
use search_core::analysis::{folded_line, words};
use search_core::document::ExtractedDocument;

use super::arena::Arena;
use super::postings::Posting;
use super::record::{self, FileState};
use super::vocabulary::{TermId, Vocabulary};

/// Weights of the places of a document, applied to term frequencies before saturation (BM25F,
/// Robertson & Zaragoza 2009). The body weighs 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weights {
    pub(super) title: u32,
    /// Headings are part of the body, so this comes on top of its 1.
    pub(super) headings: u32,
    pub(super) tags: u32,
    pub(super) path: u32,
}

/// The weights in use; chosen once, for all sources.
pub(super) const WEIGHTS: Weights = Weights {
    title: 3,
    headings: 1,
    tags: 2,
    path: 1,
};

/// A document of the segment to be.
pub(super) struct PendingDocument {
    pub(super) key: String,
    pub(super) record: Vec<u8>,
    /// The folded title.
    pub(super) title_line: String,
    /// Words of the title.
    pub(super) title_length: u32,
    /// Words of all places, each once: the length of BM25.
    pub(super) length: u32,
    /// Whether a later version of the same document follows.
    pub(super) replaced: bool,
}

/// Posting lists of few documents a segment, by term.
pub(super) type SparsePostings = FxHashMap<TermId, Posting>;

/// A segment in the making.
pub(super) struct SegmentBuilder {
    pub(super) vocabulary: Vocabulary,
    pub(super) arena: Arena,
    /// Posting lists of the text and exact forms, by term number.
    pub(super) postings: Vec<Posting>,
    /// Weight beyond the first of title, headings and tags.
    pub(super) surplus: SparsePostings,
    /// Terms of titles.
    pub(super) title: SparsePostings,
    pub(super) documents: Vec<PendingDocument>,
    by_key: std::collections::HashMap<String, u32, FastHasher>,
    document_bytes: usize,
}

impl SegmentBuilder {
    pub(super) fn new() -> Self {
        Self {
            vocabulary: Vocabulary::new(),
            arena: Arena::default(),
            postings: Vec::new(),
            surplus: FxHashMap::default(),
            title: FxHashMap::default(),
            documents: Vec::new(),
            by_key: std::collections::HashMap::default(),
            document_bytes: 0,
        }
    }

    /// Bytes held, about.
    pub(super) fn bytes(&self) -> usize {
        let sparse = self.surplus.capacity() + self.title.capacity();
        self.vocabulary.bytes()
            + self.arena.bytes()
            + self.postings.capacity() * size_of::<Posting>()
            + sparse * (size_of::<Posting>() + 8)
            + self.document_bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Takes out the document `key`, if it is here.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let Some(number) = self.by_key.remove(key) else {
            return false;
        };
        self.documents[number as usize].replaced = true;
        true
    }

    /// Adds a document, in place of an earlier one with the same key.
    pub(super) fn add(&mut self, document: &ExtractedDocument, file: FileState) {
        self.remove(&document.key);
        let number = self.documents.len() as u32;
        let mut length = self.count(number, &document.body, Place::Body, 1);
        let title_length = self.count(number, &document.title, Place::Title, WEIGHTS.title);
        length += title_length;
        for heading in &document.headings {
            self.count(number, heading, Place::Heading, WEIGHTS.headings);
        }
        for tag in &document.tags {
            length += self.count(number, tag, Place::Tag, WEIGHTS.tags);
        }
        length += self.count(number, &document.key, Place::Path, WEIGHTS.path);
        let pending = PendingDocument {
            key: document.key.clone(),
            record: record::encode(document, file),
            title_line: folded_line(&document.title),
            title_length,
            length,
            replaced: false,
        };
        self.document_bytes += 2 * pending.key.len() + pending.record.len() + pending.title_line.len() + 160;
        self.by_key.insert(pending.key.clone(), number);
        self.documents.push(pending);
    }

    /// Counts the terms of one place; returns its number of words.
    fn count(&mut self, document: u32, text: &str, place: Place, weight: u32) -> u32 {
        let Self { vocabulary, postings, arena, surplus, title, .. } = self;
        // Words of a heading are counted in the body already, so all of its weight is surplus.
        let excess = if place == Place::Heading { weight } else { weight - 1 };
        let mut length = 0;
        for word in words(text) {
            let list = vocabulary.look_up(text, word.start, word.text.len());
            if postings.len() < vocabulary.len() {
                postings.resize(vocabulary.len(), Posting::default());
            }
            for &id in vocabulary.ids(&list) {
                postings[id as usize].count(document, weight, arena);
                if excess > 0 {
                    surplus.entry(id).or_default().count(document, excess, arena);
                }
                if place == Place::Title {
                    title.entry(id).or_default().count(document, 1, arena);
                }
            }
            length += 1;
        }
        length
    }
}

/// A place of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Body,
    Title,
    Heading,
    Tag,
    Path,
}
