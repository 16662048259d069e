//! Documents that hold an identifier of the query whole, where few do, or where the query is that
//! identifier: nobody who types `read_exact_at` means a document with `read`, `exact` and `at`. And
//! such as hold a literal of it (`--json`).

use rustc_hash::FxHashMap;
use search_core::query::QueryWord;
use tantivy::postings::TermInfo;

use super::segment_search::SegmentSearch;
use super::terms::{QueryTerms, Scoring};
use crate::index::bitmap::Bitmap;
use crate::index::cursor::ExactScorer;
use crate::index::error::IndexError;
use crate::index::pool::ScoredDocument;
use crate::index::snapshot::{IndexSnapshot, documents_of, find_term};

/// An identifier among other words that more documents hold decides nothing.
pub(in crate::index) const MAX_HOLDERS: u64 = 10;

/// An identifier that is all that the query looks for, and that more documents hold, decides
/// nothing.
const MAX_HOLDERS_ALONE: u64 = 20_000;

/// A literal (`--json`) that more documents of a segment hold decides nothing.
const MAX_LITERAL_HOLDERS: u64 = 20_000;

/// Holders that are ranked whatever their words come to, those with the best words.
const MAX_RANKED: usize = 200;

/// The documents that hold identifiers of the query whole, with their lexical scores.
#[derive(Debug, Default)]
pub(in crate::index) struct IdentifierHolders {
    holders: Vec<ScoredDocument>,
    /// Number of identifiers each of them holds.
    counts: FxHashMap<(u32, u32, u32), u32>,
    /// Literals of the query, by number, that any document holds.
    held_literals: Vec<bool>,
    /// Whether so many hold the one identifier that it does not say which of them is meant.
    are_many: bool,
}

impl IdentifierHolders {
    /// Looks the query's identifiers up.
    pub(super) fn find(
        sources: &[IndexSnapshot],
        terms: &QueryTerms<'_>,
        scoring: Scoring,
    ) -> Result<Self, IndexError> {
        let mut rare = terms.rare_identifiers();
        let alone = terms.common_identifier().filter(|_| rare.is_empty());
        rare.extend(alone);
        let literals = terms.query.literals();
        let mut found = Self {
            held_literals: vec![false; literals.len()],
            are_many: alone.is_some(),
            ..Self::default()
        };
        if rare.is_empty() && literals.is_empty() {
            return Ok(found);
        }
        for place in terms.segment_searches(sources, scoring) {
            let mut counts: Vec<(u32, u32)> = Vec::new();
            let mut sets = Vec::with_capacity(rare.len() + literals.len());
            for &term in &rare {
                sets.push(place.term_documents(term)?);
            }
            for (number, literal) in literals.iter().enumerate() {
                if let Some(info) = place.literal(literal)? {
                    found.held_literals[number] = true;
                    sets.extend(place.literal_documents(&info)?);
                }
            }
            for set in sets {
                let living = set.iter().filter(|&one| !place.view.reader.is_deleted(one));
                counts.extend(living.map(|document| (document, 1)));
            }
            counts.sort_unstable();
            counts.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                kept.1 += u32::from(is_same);
                is_same
            });
            let mut exact = ExactScorer::open(place.view, place.infos, terms, scoring)?;
            for (document, count) in counts {
                let candidate = place.candidate(document, exact.score(document));
                found.counts.insert(candidate.location(), count);
                found.holders.push(candidate);
            }
        }
        if found.holders.len() > MAX_RANKED {
            let holders = &mut found.holders;
            holders.sort_unstable_by(|a, b| {
                b.score
                    .total_cmp(&a.score)
                    .then(a.location().cmp(&b.location()))
            });
            holders.truncate(MAX_RANKED);
        }
        Ok(found)
    }

    /// How many identifiers of the query a document holds: rare ones, or the only one.
    pub(in crate::index) fn count(&self, candidate: &ScoredDocument) -> u32 {
        self.counts.get(&candidate.location()).copied().unwrap_or(0)
    }

    /// Whether holding an identifier says that just this document is meant, not one of many.
    pub(in crate::index) fn are_few(&self) -> bool {
        !self.are_many
    }

    /// Whether any document holds a literal of the query.
    pub(super) fn contains_literal(&self, number: usize) -> bool {
        self.held_literals.get(number).copied().unwrap_or(true)
    }

    /// The documents.
    pub(super) fn documents(&self) -> &[ScoredDocument] {
        &self.holders
    }
}

impl SegmentSearch<'_> {
    /// Where a literal stands in the index; nowhere where no document holds it.
    fn literal(&self, literal: &str) -> Result<Option<TermInfo>, IndexError> {
        let field = self.snapshot.fields().exact;
        let inverted = self.view.reader.inverted_index(field)?;
        find_term(&inverted, field, literal)
    }

    /// The documents that hold a literal; none where they are too many.
    fn literal_documents(&self, info: &TermInfo) -> Result<Option<Bitmap>, IndexError> {
        if u64::from(info.doc_freq) > MAX_LITERAL_HOLDERS {
            return Ok(None);
        }
        let inverted = (self.view.reader).inverted_index(self.snapshot.fields().exact)?;
        documents_of(&inverted, info, self.view.reader.max_doc()).map(Some)
    }
}

impl QueryTerms<'_> {
    /// The terms of identifiers that are looked for and stand in few documents. Among the words of
    /// a sentence `siRNA` and `GitHub` are none: they are words of a language.
    fn rare_identifiers(&self) -> Vec<usize> {
        let identifiers = self.meant_identifiers().into_iter();
        let mut terms: Vec<usize> = identifiers
            .map(|(_, word)| word)
            .chain(self.meant_numbers())
            .map(|word| word.whole)
            .filter(|&term| (1..=MAX_HOLDERS).contains(&self.frequencies[term]))
            .collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// A letter with a number (`B12`) that is looked for alone, or beside one other word: in a
    /// sentence it is one of its words.
    fn meant_numbers(&self) -> Vec<&QueryWord> {
        let words = self.query.words().iter();
        let mut words: Vec<_> = words
            .filter(|word| self.query.is_looked_for(word))
            .collect();
        if words.len() > 2 {
            return Vec::new();
        }
        words.retain(|word| word.is_letter_and_number());
        words
    }

    /// The identifiers that are looked for, with their numbers among the words: among those of a
    /// sentence `snake_case` alone.
    fn meant_identifiers(&self) -> Vec<(usize, &QueryWord)> {
        let words = self.query.words().iter().enumerate();
        let words: Vec<_> = words
            .filter(|(_, word)| self.query.is_looked_for(word))
            .collect();
        let count = words.len();
        let mut identifiers = words;
        identifiers.retain(|(_, word)| word.is_identifier());
        let is_sentence = identifiers.len() * 2 < count;
        identifiers.retain(|(_, word)| !is_sentence || word.is_snake_case());
        identifiers
    }

    /// Identifiers, as numbers of words, that no document holds as a whole.
    pub(super) fn absent_identifiers(&self) -> Vec<usize> {
        let identifiers = self.meant_identifiers().into_iter();
        let absent = identifiers.filter(|(_, word)| self.frequencies[word.whole] == 0);
        absent.map(|(number, _)| number).collect()
    }

    /// The term of the identifier that is all that is looked for, or the last part of a qualified
    /// name that is, where many documents hold it.
    fn common_identifier(&self) -> Option<usize> {
        let word = self.query.only_identifier()?;
        let with = self.frequencies[word.whole];
        (MAX_HOLDERS + 1..=MAX_HOLDERS_ALONE)
            .contains(&with)
            .then_some(word.whole)
    }
}
