//! Which of the terms that are looked for a result does not hold.

use std::cell::RefCell;

use search_core::query::ParsedQuery;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TantivyError};

use super::error::IndexError;
use super::lexical::{LexicalMatches, QueryTerms};
use super::pool::ScoredDocument;
use super::snapshot::IndexSnapshot;

/// A term that is looked for, where a document does not hold it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LackedTerm {
    /// Its number among those looked for.
    pub term: usize,
    /// What it is worth: its rarity, times how often it was typed.
    pub weight: f32,
}

/// Tells which terms the results of a search do not hold. The index is asked for it once somebody
/// wants to know.
pub struct LackedTerms<'l> {
    pub(super) sources: &'l [IndexSnapshot],
    pub(super) query: &'l ParsedQuery,
    pub(super) outcome: &'l LexicalMatches,
    pub(super) candidates: &'l [ScoredDocument],
    /// Why the index could not be read.
    pub(super) failure: RefCell<Option<IndexError>>,
}

impl LackedTerms<'_> {
    /// Those of each result, in the order of the results.
    #[must_use]
    pub fn of_results(&self) -> Vec<Vec<LackedTerm>> {
        let found = missing_terms(self.sources, self.query, self.outcome, self.candidates);
        found.unwrap_or_else(|failure| {
            // The search fails by it.
            self.failure.replace(Some(failure));
            vec![Vec::new(); self.candidates.len()]
        })
    }

    /// Why they are not known.
    pub(super) fn into_failure(self) -> Option<IndexError> {
        self.failure.into_inner()
    }
}

/// The terms that each candidate does not hold, numbered among those of the query that rank. Terms
/// that no document holds are not among them: nothing is known of what they mean.
fn missing_terms(
    sources: &[IndexSnapshot],
    query: &ParsedQuery,
    outcome: &LexicalMatches,
    candidates: &[ScoredDocument],
) -> Result<Vec<Vec<LackedTerm>>, IndexError> {
    let mut lacked = vec![Vec::new(); candidates.len()];
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_unstable_by_key(|&at| candidates[at].location());
    let segment = |at: usize| (candidates[at].source, candidates[at].segment);
    for group in order.chunk_by(|a, b| segment(*a) == segment(*b)) {
        let documents: Vec<DocId> = group.iter().map(|&at| candidates[at].document).collect();
        let (source, segment) = segment(group[0]);
        let view = &sources[source as usize].segments()[segment as usize];
        let infos = outcome
            .infos
            .get(QueryTerms::place_of(sources, source, segment));
        let ranking = query.terms().iter().enumerate();
        let ranking = ranking.filter(|(_, term)| term.count > 0);
        for (term, (place, _)) in ranking.enumerate() {
            let weight = outcome.term_weights.get(place).copied().unwrap_or(0.0);
            if weight <= 0.0 {
                continue;
            }
            let info = infos.and_then(|infos| infos.get(place)?.as_ref());
            let postings = info.map(|info| {
                let option = IndexRecordOption::Basic;
                view.text.read_postings_from_terminfo(info, option)
            });
            let mut postings = postings.transpose().map_err(TantivyError::from)?;
            for (&at, &document) in group.iter().zip(&documents) {
                let is_held = postings.as_mut().is_some_and(|postings| {
                    if postings.doc() < document {
                        postings.seek(document);
                    }
                    postings.doc() == document
                });
                if !is_held {
                    lacked[at].push(LackedTerm { term, weight });
                }
            }
        }
    }
    Ok(lacked)
}
