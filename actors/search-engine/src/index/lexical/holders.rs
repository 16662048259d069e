//! Documents that hold an identifier of the query whole, where few do: nobody who types
//! `read_exact_at` means a document with `read`, `exact` and `at`.

use rustc_hash::FxHashMap;

use super::terms::{Scoring, Terms};
use crate::index::cursor::ExactScorer;
use crate::index::error::IndexError;
use crate::index::pool::Candidate;
use crate::index::snapshot::IndexSnapshot;

/// An identifier that more documents hold decides nothing.
pub(in crate::index) const MAX_HOLDERS: u64 = 10;

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
        let mut found = Self::default();
        if rare.is_empty() {
            return Ok(found);
        }
        for place in terms.segment_searches(sources, scoring) {
            let mut counts: Vec<(u32, u32)> = Vec::new();
            for &term in &rare {
                for document in place.term_documents(term)?.iter() {
                    if place.view.reader.is_deleted(document) {
                        continue;
                    }
                    match counts.iter_mut().find(|(known, _)| *known == document) {
                        Some((_, count)) => *count += 1,
                        None => counts.push((document, 1)),
                    }
                }
            }
            counts.sort_unstable();
            let mut exact = ExactScorer::open(place.view, place.infos, terms, scoring)?;
            for (document, count) in counts {
                let candidate = place.candidate(document, exact.score(document));
                found.counts.insert(candidate.place(), count);
                found.holders.push(candidate);
            }
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
