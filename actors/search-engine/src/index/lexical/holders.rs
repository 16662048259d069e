//! Documents that hold an identifier of the query whole, where few do: nobody who types
//! `read_exact_at` means a document with `read`, `exact` and `at`. And such as hold a literal of it
//! (`--json`).

use rustc_hash::FxHashMap;

use super::segment_search::SegmentSearch;
use super::terms::{Scoring, Terms};
use crate::index::bitmap::Bitmap;
use crate::index::cursor::ExactScorer;
use crate::index::error::IndexError;
use crate::index::pool::Candidate;
use crate::index::snapshot::{IndexSnapshot, documents_of, find_term};

/// An identifier that more documents hold decides nothing.
pub(in crate::index) const MAX_HOLDERS: u64 = 10;

/// A literal (`--json`) that more documents of a segment hold decides nothing.
const MAX_LITERAL_HOLDERS: u64 = 20_000;

/// Holders that are ranked whatever their words come to, those with the best words.
const MAX_RANKED: usize = 200;

/// The documents that hold rare identifiers whole, with their lexical scores.
#[derive(Debug, Default)]
pub(in crate::index) struct IdentifierHolders {
    holders: Vec<Candidate>,
    /// Number of identifiers each of them holds.
    counts: FxHashMap<(u32, u32, u32), u32>,
}

impl IdentifierHolders {
    /// Looks the query's identifiers up.
    pub(super) fn find(
        sources: &[IndexSnapshot],
        terms: &Terms<'_>,
        scoring: Scoring,
    ) -> Result<Self, IndexError> {
        let rare = terms.rare_identifiers();
        let literals = terms.query.literals();
        let mut found = Self::default();
        if rare.is_empty() && literals.is_empty() {
            return Ok(found);
        }
        for place in terms.segment_searches(sources, scoring) {
            let mut counts: Vec<(u32, u32)> = Vec::new();
            let mut sets = Vec::with_capacity(rare.len() + literals.len());
            for &term in &rare {
                sets.push(place.term_documents(term)?);
            }
            for literal in literals {
                sets.extend(place.literal_documents(literal)?);
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
                found.counts.insert(candidate.place(), count);
                found.holders.push(candidate);
            }
        }
        if found.holders.len() > MAX_RANKED {
            let holders = &mut found.holders;
            holders.sort_unstable_by(|a, b| {
                b.score.total_cmp(&a.score).then(a.place().cmp(&b.place()))
            });
            holders.truncate(MAX_RANKED);
        }
        Ok(found)
    }

    /// How many rare identifiers of the query a document holds.
    pub(in crate::index) fn count(&self, candidate: &Candidate) -> u32 {
        self.counts.get(&candidate.place()).copied().unwrap_or(0)
    }

    /// The documents.
    pub(super) fn documents(&self) -> &[Candidate] {
        &self.holders
    }
}

impl SegmentSearch<'_> {
    /// The documents that hold a literal; none where they are too many.
    fn literal_documents(&self, literal: &str) -> Result<Option<Bitmap>, IndexError> {
        let field = self.snapshot.fields().exact;
        let inverted = self.view.reader.inverted_index(field)?;
        let info = find_term(&inverted, field, literal)?;
        let info = info.filter(|info| u64::from(info.doc_freq) <= MAX_LITERAL_HOLDERS);
        info.map(|info| documents_of(&inverted, &info, self.view.reader.max_doc()))
            .transpose()
    }
}

impl Terms<'_> {
    /// The terms of identifiers that are looked for and stand in few documents. Among the words of
    /// a sentence only `snake_case` is one: `siRNA` and `GitHub` are words of a language.
    fn rare_identifiers(&self) -> Vec<usize> {
        let words = self.query.words().iter();
        let words: Vec<_> = words
            .filter(|word| self.query.is_looked_for(word))
            .collect();
        let identifiers = words.iter().filter(|word| word.is_identifier());
        let is_sentence = identifiers.clone().count() * 2 < words.len();
        let mut terms: Vec<usize> = identifiers
            .filter(|word| !is_sentence || word.is_snake_case())
            .map(|word| word.whole)
            .filter(|&term| (1..=MAX_HOLDERS).contains(&self.frequencies[term]))
            .collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }
}
