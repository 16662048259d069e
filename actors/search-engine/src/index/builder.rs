//! Documents of a segment, gathered in memory: term counts per document, one posting list a term.
//!
//! When the memory is full the posting lists go to a file as a sorted run, and the documents stay;
//! the runs are merged when the segment is written. So a first indexing makes one segment, whose
//! term dictionary is built once, whatever the memory.

use std::io;
use std::path::{Path, PathBuf};

use search_core::analysis::{Word, divided_words, folded_line};
use search_core::definitions::{DefinitionKind, definitions};
use search_core::document::{ContentKind, ExtractedDocument};
use search_core::literals::literals;
use search_core::names::{file_name, is_number, squeezed, stem};
use search_core::passages::passage_starts;

use super::definition_terms::{definition_term, heading_term, kind_term, kind_word_term};
use super::documents::{Documents, FieldLengths};
use super::memory_segment::{PendingPostings, WeightedOccurrence};
use super::places::{NOWHERE, WordNumbering};
use super::record::{self, FileState};
use super::run::{self, RunFile};
use super::vocabulary::Vocabulary;

/// How often a word of a title counts, in BM25 and BM25F: title and text are one field, with the
/// title three times, which is worth up to 0.01 nDCG@10 on prose and on code alike. What a piece of
/// code defines counts like a title.
const TITLE: u32 = 3;

/// What a definition counts on top of its place in the text.
const DEFINITION: u32 = TITLE - 1;

/// What BM25F counts a heading on top of its place in the text.
const HEADING: u32 = 1;

/// What BM25F counts a tag.
const TAG: u32 = 2;

/// Most runs of a segment; they are all open at once when it is written.
const MAX_RUNS: usize = 32;

/// Most bytes of records of a segment's documents, which stay in memory.
const MAX_RECORD_BYTES: usize = 64 << 20;

/// A segment in the making.
pub(super) struct SegmentBuilder {
    pub(super) gathered: PendingPostings,
    pub(super) documents: Documents,
    /// Posting lists that were written to files, in the order of their documents.
    pub(super) runs: Vec<RunFile>,
    folder: PathBuf,
}

impl SegmentBuilder {
    /// An empty builder that writes its runs to `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            gathered: PendingPostings::new(Vocabulary::new()),
            documents: Documents::default(),
            runs: Vec::new(),
            folder: folder.to_owned(),
        }
    }

    /// Bytes held in posting lists, about.
    pub(super) fn bytes(&self) -> usize {
        self.gathered.bytes() + self.documents.bytes()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Whether the segment should be written now.
    pub(super) fn is_full(&self) -> bool {
        self.runs.len() >= MAX_RUNS || self.documents.bytes() >= MAX_RECORD_BYTES
    }

    /// Writes the posting lists to a file and forgets them.
    pub(super) fn spill(&mut self) -> io::Result<()> {
        let path = self
            .folder
            .join(format!("{}{}", run::PREFIX, self.runs.len()));
        self.runs.push(run::write(&self.gathered, path)?);
        // The next run has about as many words. The old one goes first: both are never held.
        let sizes = self.gathered.vocabulary.sizes();
        self.gathered = PendingPostings::new(Vocabulary::new());
        self.gathered.vocabulary = Vocabulary::sized(sizes);
        Ok(())
    }

    /// Takes out the document `key`, if it is here.
    pub(super) fn remove(&mut self, key: &str) {
        self.documents.remove(key);
    }

    /// Adds a document, in place of an earlier one with the same key.
    pub(super) fn add(&mut self, document: &ExtractedDocument, file: FileState) {
        self.documents.remove(&document.key);
        let mut count = Count {
            gathered: &mut self.gathered,
            document: self.documents.len(),
            length: 0,
            numbering: WordNumbering::new(),
            begins: Vec::new(),
            has_places: document.kind != ContentKind::Code,
        };
        // Places come in their order: first what belongs to the document as a whole.
        count.text(indexed_part(&document.key), 1, 0);
        for tag in &document.tags {
            count.text(tag, TAG, TAG - 1);
        }
        count.headings(&document.headings);
        if document.kind == ContentKind::Prose {
            // Beside their halves, as one more form that takes no place and no length.
            for word in divided_words(&document.body) {
                count.text(&word, 1, 1);
            }
        }
        let title_length = if count.has_places {
            count.body(&document.body);
            count.placed_title(&document.title)
        } else {
            let length = count.title(&document.title);
            count.code(&document.body, &document.title);
            length
        };
        count.literals(&document.body);
        count.definitions(document);
        let (length, begins) = (count.length, count.begins);
        let lengths = FieldLengths {
            title: title_length,
            all: length,
        };
        let record = record::encode(document, file);
        let line = folded_line(&document.title);
        self.documents
            .push(&document.key, &record, &line, lengths, &begins);
    }
}

/// The part of a key whose words count: a file that is called by a number alone, as rows of a
/// collection are, is not what the number means in a query. Who types the number alone finds it by
/// its name.
fn indexed_part(key: &str) -> &str {
    if is_number(stem(key)) {
        return &key[..key.len() - file_name(key).len()];
    }
    key
}

/// Counts the terms of one document.
struct Count<'b> {
    gathered: &'b mut PendingPostings,
    document: u32,
    /// Number of terms so far, those of the title three times, without what BM25F counts on top.
    length: u32,
    numbering: WordNumbering,
    /// The numbers that passages begin with, but for the first one, and that of the title; none
    /// without places.
    begins: Vec<u32>,
    /// Whether words have places; those of source code have passages alone.
    has_places: bool,
}

impl Count<'_> {
    /// Counts the terms of a text `weight` times, of which BM25 leaves off `surplus`.
    fn text(&mut self, text: &str, weight: u32, surplus: u32) {
        let PendingPostings { vocabulary, lists } = &mut *self.gathered;
        vocabulary.for_each_word(text, |vocabulary, _, list| {
            let (ids, exact) = vocabulary.ids(&list);
            let counted = WeightedOccurrence::for_document(weight);
            lists.count(vocabulary.len(), self.document, ids, exact, counted);
            if surplus > 0 {
                lists.count_surplus(self.document, ids, surplus);
            }
            self.length += ids.len() as u32 * (weight - surplus);
        });
    }

    /// Counts the terms of the text where they stand.
    fn body(&mut self, text: &str) {
        let PendingPostings { vocabulary, lists } = &mut *self.gathered;
        let mut starts = passage_starts(text).into_iter();
        let mut next = starts.next().unwrap_or(usize::MAX);
        vocabulary.for_each_word(text, |vocabulary, word, list| {
            while word.start >= next {
                self.begins.push(self.numbering.start_passage());
                next = starts.next().unwrap_or(usize::MAX);
            }
            let ids = vocabulary.ids(&list);
            let (terms, numbering) = (vocabulary.len(), &mut self.numbering);
            lists.count_next(terms, self.document, ids, 1, numbering);
            self.length += ids.0.len() as u32;
        });
    }

    /// Counts the terms of source code by passages; names that it defines count more, but not the
    /// one that the title has counted already.
    fn code(&mut self, text: &str, title: &str) {
        let PendingPostings { vocabulary, lists } = &mut *self.gathered;
        let mut starts = passage_starts(text).into_iter();
        let (mut passage, mut next) = (1, starts.next().unwrap_or(usize::MAX));
        let mut defining_end = None;
        vocabulary.for_each_word(text, |vocabulary, word, list| {
            while word.start >= next {
                passage += 1;
                next = starts.next().unwrap_or(usize::MAX);
            }
            let is_defined = defining_end.is_some_and(|end| defines(text, end, word));
            let weight = if is_defined && word.text != title {
                1 + DEFINITION
            } else {
                1
            };
            let (ids, exact) = vocabulary.ids(&list);
            let is_everywhere = ids.first().is_some_and(|&id| vocabulary.is_everywhere(id));
            let place = if is_everywhere { NOWHERE } else { passage };
            let counted = WeightedOccurrence { weight, place };
            lists.count(vocabulary.len(), self.document, ids, exact, counted);
            self.length += ids.len() as u32 * weight;
            defining_end = Vocabulary::is_defining(list).then_some(word.end());
        });
    }

    /// Notes words with signs that are part of them.
    fn literals(&mut self, text: &str) {
        for literal in literals(text) {
            self.sign_term(literal);
        }
    }

    /// Notes what source code defines, and the headings of texts.
    fn definitions(&mut self, document: &ExtractedDocument) {
        if document.kind == ContentKind::Code {
            for found in definitions(&document.key, &document.body) {
                self.sign_term(&definition_term(&squeezed(found.name)));
                self.kind_terms(found.kind, found.name);
            }
        }
        for heading in &document.headings {
            self.sign_term(&heading_term(&squeezed(heading)));
            self.kind_terms(DefinitionKind::Heading, heading);
        }
        // As a title it counts already; here it is only noted that it stands in the text.
        if document.title_is_heading {
            self.kind_terms(DefinitionKind::Heading, &document.title);
        }
    }

    /// Notes that something of a kind with this name is defined.
    fn kind_terms(&mut self, kind: DefinitionKind, name: &str) {
        self.sign_term(&kind_term(kind));
        let vocabulary = &mut self.gathered.vocabulary;
        let mut terms: Vec<String> = Vec::new();
        vocabulary.for_each_word(name, |vocabulary, _, list| {
            for &id in vocabulary.ids(&list).0 {
                let term = String::from_utf8_lossy(vocabulary.term(id));
                terms.push(kind_word_term(kind, &term));
            }
        });
        for term in terms {
            self.sign_term(&term);
        }
    }

    /// Notes a term that stands among the exact forms as it is.
    fn sign_term(&mut self, term: &str) {
        let PendingPostings { vocabulary, lists } = &mut *self.gathered;
        let id = vocabulary.sign_term(term);
        lists.count(
            vocabulary.len(),
            self.document,
            &[],
            Some(id),
            WeightedOccurrence::for_document(0),
        );
    }

    /// Headings are part of the body already: all of what they count here is surplus.
    fn headings(&mut self, headings: &[String]) {
        for heading in headings {
            self.text(heading, HEADING, HEADING);
        }
    }

    /// Counts a title behind the text; returns its number of words.
    fn placed_title(&mut self, title: &str) -> u32 {
        self.begins.push(self.numbering.start_title());
        self.title(title)
    }

    /// Counts a title; returns its number of words.
    fn title(&mut self, title: &str) -> u32 {
        let PendingPostings { vocabulary, lists } = &mut *self.gathered;
        let mut words = 0;
        vocabulary.for_each_word(title, |vocabulary, _, list| {
            let (ids, exact) = vocabulary.ids(&list);
            let (terms, numbering) = (vocabulary.len(), &mut self.numbering);
            if self.has_places {
                lists.count_next(terms, self.document, (ids, exact), TITLE, numbering);
            } else {
                lists.count(
                    terms,
                    self.document,
                    ids,
                    exact,
                    WeightedOccurrence::for_document(TITLE),
                );
            }
            lists.count_title(self.document, ids);
            self.length += ids.len() as u32 * TITLE;
            words += 1;
        });
        words
    }
}

/// Whether `name` is defined by the word that ends at `end`: one space between them, and a bracket
/// or colon behind.
fn defines(text: &str, end: usize, name: &Word<'_>) -> bool {
    if text.as_bytes().get(end..name.start) != Some(b" ") {
        return false;
    }
    let behind = text[name.end()..].trim_start_matches([' ', '\n']);
    behind.starts_with(['(', '{', ':', '<', '['])
}

#[cfg(test)]
mod tests {
    use search_core::analysis::words;

    use super::defines;

    #[test]
    fn a_name_is_defined_before_a_bracket() {
        let is_defined = |text: &str| {
            let found: Vec<_> = words(text).take(2).collect();
            defines(text, found[0].end(), &found[1])
        };
        assert!(
            is_defined("def parse(text):")
                && is_defined("struct page {")
                && is_defined("class A: pass")
        );
        assert!(
            !is_defined("struct page *p") && !is_defined("function that") && !is_defined("def, x(")
        );
    }
}
