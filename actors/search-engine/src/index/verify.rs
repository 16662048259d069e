//! Reading texts where a condition depends on them: phrases, and phrases in titles.
//!
//! Of source code the index knows no places. The words of a phrase narrow the documents down; the
//! best of them are read and compared, at most [`MAX_VERIFIED`] of them and [`MAX_VERIFIED_BYTES`]
//! of text. The bounds count work, not time, so the same search gives the same answer on any
//! machine, and know nothing of the page asked for, so all pages are of one list. A regular
//! expression may cost a thousand times what another does: for these there is [`MAX_PATTERN_TIME`]
//! beside them.

use std::rc::Rc;
use std::time::{Duration, Instant};

use search_core::query::{
    Condition, Field, MatchState, ParsedQuery, PatternFinder, PhraseFinder, TextPattern,
};

use super::error::IndexError;
use super::pool::Candidate;
use super::record::DocumentRecord;
use crate::reading::{Reading, WordPiece};

/// Most documents of one search whose texts are read for phrases, best ones first.
pub const MAX_VERIFIED: usize = 3_000;

/// Most bytes of text of one search that are read for phrases.
pub const MAX_VERIFIED_BYTES: usize = 24 << 20;

/// So many bytes of markup that rule a text out cost no more than one byte of a text.
const MARKUP_OF_TEXT: usize = 8;

/// Longest time that texts are read for regular expressions in one search.
pub(super) const MAX_PATTERN_TIME: Duration = Duration::from_secs(2);

/// Where the texts of documents come from.
pub trait TextSource {
    /// The text of a document of the numbered source as it was indexed; `None` when it cannot be
    /// read.
    fn text(&self, source: usize, record: &DocumentRecord) -> Option<String>;

    /// The same; `buffer`, whatever is in it, may be used for the text.
    fn text_in(&self, source: usize, record: &DocumentRecord, buffer: String) -> Option<String> {
        drop(buffer);
        self.text(source, record)
    }

    /// The same where only a text is wanted that holds a piece of a word, and perhaps nothing more
    /// of it. Whoever has to take texts out of markup need not, where he knows without.
    fn text_with(
        &self,
        source: usize,
        record: &DocumentRecord,
        buffer: String,
        piece: WordPiece<'_>,
    ) -> Reading {
        let _ = piece;
        match self.text_in(source, record, buffer) {
            Some(text) => Reading::Text(text),
            None => Reading::Unreadable,
        }
    }
}

/// What is still to be found out about ranked documents.
pub(super) struct Verifier<'v> {
    query: &'v ParsedQuery,
    texts: Option<&'v dyn TextSource>,
    finders: Vec<PhraseFinder>,
    patterns: Rc<[Option<PatternFinder>]>,
    /// By pattern: what tells of markup whether its text may match.
    word_finders: Rc<[Option<PatternFinder>]>,
    /// By filter: finders for phrases in titles.
    title_finders: Vec<Option<PhraseFinder>>,
    titles_only: bool,
    documents: usize,
    bytes: usize,
    /// The text read last.
    buffer: String,
    /// When reading ends, where regular expressions are looked for.
    deadline: Option<Instant>,
}

impl<'v> Verifier<'v> {
    /// `titles_only`: phrases are looked for in titles, as everything else is.
    /// `rarities` are those of the query's terms.
    pub(super) fn new(
        query: &'v ParsedQuery,
        texts: Option<&'v dyn TextSource>,
        titles_only: bool,
        rarities: &[f32],
    ) -> Self {
        let title_finder = |filter: &search_core::query::Filter| {
            (filter.field == Field::Title && filter.is_phrase)
                .then(|| PhraseFinder::of_text(&filter.value))
        };
        Self {
            finders: (0..query.phrases().len())
                .map(|phrase| query.phrase_finder_by(phrase, rarities))
                .collect(),
            patterns: query.patterns().iter().map(TextPattern::finder).collect(),
            word_finders: query
                .patterns()
                .iter()
                .map(TextPattern::word_finder)
                .collect(),
            title_finders: query.filters().iter().map(title_finder).collect(),
            query,
            texts,
            titles_only,
            documents: 0,
            bytes: 0,
            buffer: String::new(),
            deadline: (!query.patterns().is_empty()).then(|| Instant::now() + MAX_PATTERN_TIME),
        }
    }

    /// Whether no further text may be read; `is_filled`: there are as many results as asked for.
    pub(super) fn is_spent(&self) -> bool {
        let is_late = self
            .deadline
            .is_some_and(|deadline| Instant::now() > deadline);
        self.documents >= MAX_VERIFIED || self.bytes >= MAX_VERIFIED_BYTES || is_late
    }

    /// Whether a document meets the condition, by what the index says (`known`) and its text.
    pub(super) fn holds(
        &mut self,
        candidate: &Candidate,
        record: &DocumentRecord,
        known: &mut dyn FnMut(&Condition) -> Result<MatchState, IndexError>,
    ) -> Result<bool, IndexError> {
        let Some(condition) = self.query.condition() else {
            return Ok(true);
        };
        self.documents += 1;
        let mut text: Option<Option<String>> = None;
        let truth = condition.holds(&mut |leaf| {
            Ok::<_, IndexError>(match (known(leaf)?, leaf) {
                (MatchState::Undecided, Condition::Phrase(phrase)) => self
                    .has_phrase(*phrase, candidate, record, &mut text)
                    .into(),
                (MatchState::Undecided, Condition::Pattern(pattern)) => self
                    .has_pattern(*pattern, candidate, record, &mut text)
                    .into(),
                (MatchState::Undecided, Condition::Filter(filter)) => {
                    let finder = self.title_finders[*filter].as_mut();
                    finder
                        .is_some_and(|finder| finder.is_in(&record.title))
                        .into()
                }
                (known, _) => known,
            })
        })?;
        if let Some(Some(text)) = text {
            self.buffer = text;
        }
        Ok(truth == MatchState::Yes)
    }

    fn has_phrase(
        &mut self,
        phrase: usize,
        candidate: &Candidate,
        record: &DocumentRecord,
        text: &mut Option<Option<String>>,
    ) -> bool {
        if self.finders[phrase].is_in(&record.title) {
            return true;
        }
        // Without texts the words alone have to do.
        if self.texts.is_none() || self.titles_only {
            return !self.titles_only;
        }
        let text = self.read(candidate, record, text);
        text.is_some_and(|text| self.finders[phrase].is_in(text))
    }

    fn has_pattern(
        &mut self,
        pattern: usize,
        candidate: &Candidate,
        record: &DocumentRecord,
        text: &mut Option<Option<String>>,
    ) -> bool {
        let patterns = Rc::clone(&self.patterns);
        let Some(finder) = &patterns[pattern] else {
            return false;
        };
        if finder.is_in(&record.title) {
            return true;
        }
        if self.titles_only {
            return false;
        }
        let word_finders = Rc::clone(&self.word_finders);
        let Some(word) = word_finders[pattern].as_ref().filter(|_| text.is_none()) else {
            let text = self.read(candidate, record, text);
            return text.is_some_and(|text| finder.is_in(text));
        };
        let is_all = self.query.patterns()[pattern].is_one_word();
        match self.read_with(word, is_all, candidate, record) {
            Reading::Text(read) => {
                let found = finder.is_in(&read);
                *text = Some(Some(read));
                found
            }
            Reading::Holds(_) => true,
            Reading::RuledOut(_) => false,
            Reading::Unreadable => {
                *text = Some(None);
                false
            }
        }
    }

    /// Reads a text that may hold a piece of a word.
    fn read_with(
        &mut self,
        word: &PatternFinder,
        is_all: bool,
        candidate: &Candidate,
        record: &DocumentRecord,
    ) -> Reading {
        let (Some(texts), source) = (self.texts, candidate.source as usize) else {
            return Reading::Unreadable;
        };
        let find = |text: &str| word.places(text).next().map(|place| place.end);
        let buffer = std::mem::take(&mut self.buffer);
        let piece = WordPiece {
            find: &find,
            is_all,
        };
        let reading = texts.text_with(source, record, buffer, piece);
        self.bytes += match &reading {
            Reading::Text(text) => text.len(),
            Reading::Holds(bytes) => *bytes,
            Reading::RuledOut(bytes) => bytes / MARKUP_OF_TEXT,
            Reading::Unreadable => 0,
        };
        reading
    }

    /// The text of a document, read once.
    fn read<'t>(
        &mut self,
        candidate: &Candidate,
        record: &DocumentRecord,
        text: &'t mut Option<Option<String>>,
    ) -> Option<&'t str> {
        let (texts, bytes, buffer) = (self.texts?, &mut self.bytes, &mut self.buffer);
        let text = text.get_or_insert_with(|| {
            let buffer = std::mem::take(buffer);
            let text = texts.text_in(candidate.source as usize, record, buffer);
            *bytes += text.as_ref().map_or(0, String::len);
            text
        });
        text.as_deref()
    }
}
