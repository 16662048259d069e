//! Reading texts where a condition depends on them: phrases, and phrases in titles.
//!
//! Of source code the index knows no places. The words of a phrase narrow the documents down; the
//! best of them are read and compared, at most [`MAX_VERIFIED`] of them and [`MAX_VERIFIED_BYTES`]
//! of text, by [several threads](super::verification). The bounds count work, not time, so the same
//! search gives the same answer on any machine, and know nothing of the page asked for, so all
//! pages are of one list. A regular expression may cost a thousand times what another does: for
//! these there is [`MAX_PATTERN_TIME`] beside them, which is looked at between the stretches of a
//! text as well.

use std::sync::Arc;
use std::time::{Duration, Instant};

use search_core::query::{
    Field, MatchState, ParsedQuery, PatternFinder, PhraseFinder, QueryCondition, TextPattern,
};

use super::error::IndexError;
use super::pool::ScoredDocument;
use super::record::DocumentRecord;
use crate::reading::{TextReadResult, WordPiece};

/// Most documents of one search whose texts are read for phrases, best ones first.
pub const MAX_VERIFIED: usize = 3_000;

/// Most bytes of text of one search that are read for phrases.
pub const MAX_VERIFIED_BYTES: usize = 24 << 20;

/// So many bytes of markup that rule a text out cost no more than one byte of a text.
const MARKUP_OF_TEXT: usize = 8;

/// Longest time that texts are read for regular expressions in one search.
pub(super) const MAX_PATTERN_TIME: Duration = Duration::from_secs(2);

/// Where the texts of documents come from.
pub trait TextSource: Sync {
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
    ) -> TextReadResult {
        let _ = piece;
        match self.text_in(source, record, buffer) {
            Some(text) => TextReadResult::Text(text),
            None => TextReadResult::Unreadable,
        }
    }
}

/// What is still to be found out about ranked documents.
pub(super) struct Verifier<'v> {
    query: &'v ParsedQuery,
    texts: Option<&'v dyn TextSource>,
    finders: Vec<PhraseFinder>,
    patterns: Arc<[Option<PatternFinder>]>,
    /// By pattern: what tells of markup whether its text may match.
    word_finders: Arc<[Option<PatternFinder>]>,
    /// By filter: finders for phrases in titles.
    title_finders: Vec<Option<PhraseFinder>>,
    titles_only: bool,
    rarities: &'v [f32],
    /// Bytes that were read since somebody has asked.
    bytes: usize,
    /// The text read last.
    buffer: String,
    /// When reading ends, where regular expressions are looked for.
    deadline: Option<Instant>,
    /// Whether reading has ended by the clock.
    was_late: bool,
}

impl<'v> Verifier<'v> {
    /// `titles_only`: phrases are looked for in titles, as everything else is.
    /// `rarities` are those of the query's terms.
    pub(super) fn new(
        query: &'v ParsedQuery,
        texts: Option<&'v dyn TextSource>,
        titles_only: bool,
        rarities: &'v [f32],
    ) -> Self {
        let title_finder = |filter: &search_core::query::FieldFilter| {
            (filter.field == Field::Title && filter.is_phrase)
                .then(|| PhraseFinder::from_text(&filter.value))
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
            rarities,
            bytes: 0,
            buffer: String::new(),
            deadline: (!query.patterns().is_empty()).then(|| Instant::now() + MAX_PATTERN_TIME),
            was_late: false,
        }
    }

    /// Another one for the same search, which ends with this one.
    pub(super) fn another(&self) -> Self {
        let finders = 0..self.finders.len();
        let finders = finders.map(|phrase| self.query.phrase_finder_by(phrase, self.rarities));
        let title_finder = |(filter, finder): (&search_core::query::FieldFilter, &Option<_>)| {
            let finder = finder.as_ref();
            finder.map(|_| PhraseFinder::from_text(&filter.value))
        };
        let filters = self.query.filters().iter().zip(&self.title_finders);
        Self {
            finders: finders.collect(),
            // Their own memory to match with.
            patterns: self.patterns.iter().cloned().collect(),
            word_finders: self.word_finders.iter().cloned().collect(),
            title_finders: filters.map(title_finder).collect(),
            buffer: String::new(),
            bytes: 0,
            ..*self
        }
    }

    /// Whether reading has ended by the clock: another time more may be read.
    pub(super) fn was_late(&self) -> bool {
        self.was_late
    }

    /// Bytes that were read since this was last asked.
    pub(super) fn take_bytes(&mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }

    /// Whether no further text may be read, by the clock.
    pub(super) fn is_late(&mut self) -> bool {
        let is_late = |deadline: Instant| Instant::now() > deadline;
        self.was_late = self.was_late || self.deadline.is_some_and(is_late);
        self.was_late
    }

    /// Whether a document meets the condition, by what the index says (`known`) and its text; open
    /// where time was up before the text was looked through.
    pub(super) fn is_match(
        &mut self,
        candidate: &ScoredDocument,
        record: &DocumentRecord,
        known: &mut dyn FnMut(&QueryCondition) -> Result<MatchState, IndexError>,
    ) -> Result<MatchState, IndexError> {
        let Some(condition) = self.query.condition() else {
            return Ok(MatchState::Yes);
        };
        let mut text: Option<Option<String>> = None;
        let truth = condition.evaluate(&mut |leaf| {
            Ok::<_, IndexError>(match (known(leaf)?, leaf) {
                (MatchState::Undecided, QueryCondition::Phrase(phrase)) => self
                    .has_phrase(*phrase, candidate, record, &mut text)
                    .into(),
                (MatchState::Undecided, QueryCondition::Pattern(pattern)) => {
                    self.has_pattern(*pattern, candidate, record, &mut text)
                }
                (MatchState::Undecided, QueryCondition::Filter(filter)) => {
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
        Ok(truth)
    }

    fn has_phrase(
        &mut self,
        phrase: usize,
        candidate: &ScoredDocument,
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
        candidate: &ScoredDocument,
        record: &DocumentRecord,
        text: &mut Option<Option<String>>,
    ) -> MatchState {
        let patterns = Arc::clone(&self.patterns);
        let Some(finder) = &patterns[pattern] else {
            return MatchState::No;
        };
        if finder.is_in(&record.title) {
            return MatchState::Yes;
        }
        if self.titles_only {
            return MatchState::No;
        }
        let word_finders = Arc::clone(&self.word_finders);
        let Some(word) = word_finders[pattern].as_ref().filter(|_| text.is_none()) else {
            let text = self.read(candidate, record, text);
            return text.map_or(MatchState::No, |text| self.matched(finder, text));
        };
        let is_all = self.query.patterns()[pattern].is_one_word();
        match self.read_with(word, is_all, candidate, record) {
            TextReadResult::Text(read) => {
                let found = self.matched(finder, &read);
                *text = Some(Some(read));
                found
            }
            TextReadResult::Holds(_) => MatchState::Yes,
            TextReadResult::RuledOut(_) => MatchState::No,
            TextReadResult::Unreadable => {
                *text = Some(None);
                MatchState::No
            }
        }
    }

    /// Whether a pattern stands in a text; open where time is up before all of it was looked
    /// through.
    fn matched(&mut self, finder: &PatternFinder, text: &str) -> MatchState {
        let found = finder.is_in_while(text, &mut || !self.is_late());
        found.map_or(MatchState::Undecided, MatchState::from)
    }

    /// Reads a text that may hold a piece of a word.
    fn read_with(
        &mut self,
        word: &PatternFinder,
        is_all: bool,
        candidate: &ScoredDocument,
        record: &DocumentRecord,
    ) -> TextReadResult {
        let (Some(texts), source) = (self.texts, candidate.source as usize) else {
            return TextReadResult::Unreadable;
        };
        let find = |text: &str| word.places(text).next().map(|place| place.end);
        let buffer = std::mem::take(&mut self.buffer);
        let piece = WordPiece {
            find: &find,
            is_all,
        };
        let reading = texts.text_with(source, record, buffer, piece);
        self.bytes += match &reading {
            TextReadResult::Text(text) => text.len(),
            TextReadResult::Holds(bytes) => *bytes,
            TextReadResult::RuledOut(bytes) => bytes / MARKUP_OF_TEXT,
            TextReadResult::Unreadable => 0,
        };
        reading
    }

    /// The text of a document, read once.
    fn read<'t>(
        &mut self,
        candidate: &ScoredDocument,
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use search_core::query::{MatchState, QueryCondition, SearchRequest, parse};

    use super::{TextSource, Verifier};
    use crate::index::DocumentRecord;
    use crate::index::pool::ScoredDocument;

    struct OneText(String);

    impl TextSource for OneText {
        fn text(&self, _: usize, _: &DocumentRecord) -> Option<String> {
            Some(self.0.clone())
        }
    }

    /// Time is up already: the first stretch of a text is looked through, and no more.
    #[test]
    fn i16_a_text_that_the_clock_cuts_stays_open() {
        let line = "some words of a line\n";
        let query = parse(&SearchRequest::for_text(r"re:/=>[ -~]{200}</")).expect("it parses");
        let sign = format!("=>{}<\n", "-".repeat(200));
        for (lines_before, expected) in [
            (10, MatchState::Yes),
            (10_000, MatchState::Undecided),
            (100_000, MatchState::Undecided),
        ] {
            let text = OneText(line.repeat(lines_before) + &sign + &line.repeat(20_000));
            let mut verifier = Verifier::new(&query, Some(&text), false, &[]);
            assert!(!verifier.was_late());
            verifier.deadline = Some(Instant::now());
            while !verifier.is_late() {}
            let mut known = |_: &QueryCondition| Ok(MatchState::Undecided);
            let record = DocumentRecord::default();
            let candidate = ScoredDocument {
                score: 0.0,
                source: 0,
                segment: 0,
                document: 0,
            };
            let found = verifier.is_match(&candidate, &record, &mut known);
            assert_eq!(found.expect("it is read"), expected, "{lines_before}");
            assert!(verifier.was_late());
        }
    }
}
