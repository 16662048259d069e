//! BM25 and BM25F over the weighted text field.
//!
//! The field holds term frequencies with weights and lengths without, so tantivy's BM25 with
//! block-max WAND (Ding & Suel 2011) over it *is* BM25F with one length norm. Plain BM25 is never
//! above it, because a frequency without weights is never higher: it runs the same way, and what
//! passes the threshold is scored again without the surplus.

mod conditional;
mod definers;
mod disjunction;
mod holders;
mod named;
mod outcome;
mod segment_search;
mod terms;

use search_core::query::ParsedQuery;

use super::error::IndexError;
use super::pool::Pool;
use super::scope::SearchScope;
use conditional::Conditional;
pub(super) use definers::DefiningDocuments;
use disjunction::Disjunction;
pub(super) use holders::IdentifierHolders;
pub(super) use outcome::LexicalMatches;
pub(super) use segment_search::NO_WORD;
pub(super) use terms::{QueryTerms, Scoring};

/// Fills the pool.
pub(super) fn search(
    scope: &SearchScope<'_>,
    query: &ParsedQuery,
    scoring: Scoring,
    pool: &mut Pool,
) -> Result<LexicalMatches, IndexError> {
    let sources = scope.snapshots;
    let terms = QueryTerms::load(sources, query)?;
    let mut outcome = LexicalMatches {
        certain: vec![0; sources.len()],
        open: vec![0; sources.len()],
        missing: terms.missing(sources)?,
        ..LexicalMatches::default()
    };
    if scoring == Scoring::Weighted {
        outcome.holders = IdentifierHolders::find(sources, &terms, scoring)?;
        outcome.definers = DefiningDocuments::find(sources, &terms, scoring)?;
        outcome.named = named::named_documents(scope, &terms, scoring)?;
        outcome.term_weights = terms.weights();
        let literals = 0..query.literals().len();
        let held = &outcome.holders;
        outcome.absent_literals = literals
            .filter(|&one| !held.contains_literal(one))
            .collect();
        if outcome.definers.documents().is_empty() {
            outcome.absent = terms.absent_identifiers();
        }
    }
    let weight = terms.weight(&sources[0])?;
    if let Some(condition) = query.condition() {
        let conditional = Conditional {
            scope,
            terms: &terms,
            scoring,
        };
        conditional.search(condition, weight.as_deref(), pool, &mut outcome)?;
    } else if let Some(weight) = weight {
        let search = Disjunction {
            sources,
            terms: &terms,
            scoring,
            keeps_found: scope.reranker.is_some(),
        };
        search.search(weight.as_ref(), pool, &mut outcome)?;
    }
    outcome.infos = terms.infos;
    Ok(outcome)
}
