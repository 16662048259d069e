//! Ranked search over the indexes of several sources with the statistics of all of them.

use search_core::query::ParsedQuery;
use search_core::role::RelevanceFunction;

use super::error::IndexError;
use super::lexical;
use super::pool::{Candidate, Pool};
use super::record::DocumentRecord;
use super::snapshot::IndexSnapshot;
use super::title;

/// Most results one call gives.
pub const MAX_LIMIT: usize = 1000;

/// Most results one call skips.
pub const MAX_SKIP: usize = 10_000;

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which of the snapshots the document is from.
    pub source: usize,
    /// Relevance, higher is better; comparable within one answer.
    pub score: f32,
    /// What the index knows of the document.
    pub record: DocumentRecord,
}

/// The answer to a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hits {
    /// Number of documents that match, not only those given.
    pub total: u64,
    /// The same by source, in the order of the snapshots.
    pub totals: Vec<u64>,
    /// The results asked for, best first; equal scores are in the order of source and key.
    pub hits: Vec<Hit>,
}

/// Searches the sources together: term statistics are those of all of them, so scores compare.
/// Gives the results from `skip` on, at most `limit` of them.
///
/// # Errors
/// An index cannot be read.
pub fn search_across(
    sources: &[IndexSnapshot],
    query: &ParsedQuery,
    function: RelevanceFunction,
    skip: usize,
    limit: usize,
) -> Result<Hits, IndexError> {
    if query.is_empty() || sources.is_empty() {
        return Ok(Hits {
            totals: vec![0; sources.len()],
            ..Hits::default()
        });
    }
    let limit = limit.min(MAX_LIMIT);
    let skip = skip.min(MAX_SKIP);
    let mut pool = Pool::new(skip + limit);
    let totals = match function {
        RelevanceFunction::TitleScorer => title::search(sources, query, &mut pool)?,
        RelevanceFunction::BM25 => {
            lexical::search(sources, query, lexical::Scoring::Plain, &mut pool)?
        }
        // ServiceGraph re-ranks a lexical pool by vectors; without vectors it is lexical.
        RelevanceFunction::BM25F | RelevanceFunction::ServiceGraph => {
            lexical::search(sources, query, lexical::Scoring::Weighted, &mut pool)?
        }
    };
    let ranked = pool.into_ranked(skip, limit, |candidate| {
        sources[candidate.source as usize].key(candidate.segment, candidate.document)
    })?;
    let hits = ranked.into_iter().map(|candidate| hit(sources, candidate));
    Ok(Hits {
        total: totals.iter().sum(),
        totals,
        hits: hits.collect::<Result<_, _>>()?,
    })
}

fn hit(sources: &[IndexSnapshot], candidate: Candidate) -> Result<Hit, IndexError> {
    let source = candidate.source as usize;
    Ok(Hit {
        source,
        score: candidate.score,
        record: sources[source].record(candidate.segment, candidate.document)?,
    })
}
