//! A search for any of the words: what most people type.

use search_core::query::QueryWord;
use tantivy::query::Weight;

use super::outcome::LexicalMatches;
use super::segment_search::{SegmentSearch, score_exactly};
use super::terms::{QueryTerms, Scoring};
use crate::index::bitmap::Bitmap;
use crate::index::error::IndexError;
use crate::index::pool::Pool;
use crate::index::snapshot::IndexSnapshot;

/// A search without a condition.
pub(super) struct Disjunction<'s> {
    pub(super) sources: &'s [IndexSnapshot],
    pub(super) terms: &'s QueryTerms<'s>,
    pub(super) scoring: Scoring,
    /// Whether the sets of found documents are wanted, beside their number.
    pub(super) keeps_found: bool,
}

impl Disjunction<'_> {
    pub(super) fn search(
        &self,
        weight: &dyn Weight,
        pool: &mut Pool,
        outcome: &mut LexicalMatches,
    ) -> Result<(), IndexError> {
        let numbered = self.numbered();
        if !numbered.is_empty() && !self.numbers_decide(weight, &numbered, pool, outcome)? {
            outcome.unheld.clone_from(&numbered);
        }
        if numbered.is_empty() || !outcome.unheld.is_empty() {
            self.any_term(weight, pool, outcome)?;
        }
        score_exactly(self.sources, self.terms, self.scoring, pool)
    }

    /// The words looked for that are names with a number (`topic5`, `sha256`).
    fn numbered(&self) -> Vec<usize> {
        let query = self.terms.query;
        let words = query.words().iter().enumerate();
        words
            .filter(|(_, word)| word.is_numbered() && query.is_looked_for(word))
            .map(|(index, _)| index)
            .collect()
    }

    /// Any term is enough.
    fn any_term(
        &self,
        weight: &dyn Weight,
        pool: &mut Pool,
        outcome: &mut LexicalMatches,
    ) -> Result<(), IndexError> {
        for place in self.terms.segment_searches(self.sources, self.scoring) {
            if place.present().next().is_some() {
                place.rank(weight, None, pool)?;
            }
            let is_one = place.present().nth(1).is_none();
            let one = place.present().next().filter(|_| is_one);
            outcome.certain[place.source as usize] += match one {
                Some(info) if !self.keeps_found => {
                    place.snapshot.live_frequency(place.segment, info)?
                }
                _ => {
                    let any = place.any()?;
                    let count = place.count(&any);
                    if self.keeps_found {
                        outcome.found.push(any);
                    }
                    count
                }
            };
        }
        Ok(())
    }

    /// The number of a name with a number is part of what is asked for: documents with the name and
    /// another number are not meant. Says whether any document was found.
    fn numbers_decide(
        &self,
        weight: &dyn Weight,
        numbered: &[usize],
        pool: &mut Pool,
        outcome: &mut LexicalMatches,
    ) -> Result<bool, IndexError> {
        let mut sets = Vec::new();
        let mut counts = vec![0; outcome.certain.len()];
        for place in self.terms.segment_searches(self.sources, self.scoring) {
            let found = place.with_numbers(numbered)?;
            counts[place.source as usize] += place.count(&found);
            sets.push(found);
        }
        if counts.iter().all(|&count| count == 0) {
            return Ok(false);
        }
        for (place, found) in self
            .terms
            .segment_searches(self.sources, self.scoring)
            .zip(&sets)
        {
            if !found.is_empty() {
                place.rank(weight, Some(found), pool)?;
            }
        }
        outcome.certain = counts;
        if self.keeps_found {
            outcome.found = sets;
        }
        Ok(true)
    }
}

impl SegmentSearch<'_> {
    /// The documents that hold any of the words, where those that are names with a number have to
    /// be held with it.
    fn with_numbers(&self, numbered: &[usize]) -> Result<Bitmap, IndexError> {
        let query = self.terms.query;
        let mut any = Bitmap::new(self.view.reader.max_doc());
        for (index, word) in query.words().iter().enumerate() {
            if !query.is_looked_for(word) {
                continue;
            }
            if numbered.contains(&index) {
                any.unite(&self.numbered_documents(word)?);
                continue;
            }
            for &term in word.parts.iter().chain([&word.whole]) {
                any.unite(&self.term_documents(term)?);
            }
        }
        Ok(any)
    }

    fn numbered_documents(&self, word: &QueryWord) -> Result<Bitmap, IndexError> {
        let is_held = self.terms.frequencies[word.whole] > 0;
        if word.parts_stand_for_it(is_held) {
            return self.word_documents(word);
        }
        self.term_documents(word.whole)
    }
}
