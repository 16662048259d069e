//! What the matches of a search have in common, and their order by time.

use search_core::facets::FacetCounts;

use super::error::IndexError;
use super::pool::ScoredDocument;
use super::snapshot::IndexSnapshot;

/// What the candidates have in common. Their order may change.
pub(super) fn count_facets(
    sources: &[IndexSnapshot],
    candidates: &mut [ScoredDocument],
) -> Result<FacetCounts, IndexError> {
    candidates.sort_unstable_by_key(|one| (one.source, one.segment));
    let mut counts = FacetCounts::default();
    let same =
        |a: &ScoredDocument, b: &ScoredDocument| (a.source, a.segment) == (b.source, b.segment);
    for group in candidates.chunk_by(same) {
        let facts = sources[group[0].source as usize].facts(group[0].segment)?;
        facts.count(group.iter().map(|one| one.document), &mut counts);
    }
    Ok(counts)
}

/// The candidates by the time of their last change, newest first or oldest first; those of one time
/// by score. What has no time is last.
pub(super) fn sort_by_time(
    sources: &[IndexSnapshot],
    candidates: &[ScoredDocument],
    newest_first: bool,
) -> Result<Vec<ScoredDocument>, IndexError> {
    let mut timed = Vec::with_capacity(candidates.len());
    for one in candidates {
        let facts = sources[one.source as usize].facts(one.segment)?;
        let modified = facts.modified(one.document);
        let key = match modified {
            i64::MIN => i64::MAX,
            known if newest_first => -known,
            known => known,
        };
        timed.push((key, *one));
    }
    timed.sort_by(|(at, a), (bt, b)| {
        let place = |one: &ScoredDocument| (one.source, one.segment, one.document);
        let better = || b.score.total_cmp(&a.score);
        at.cmp(bt)
            .then_with(better)
            .then_with(|| place(a).cmp(&place(b)))
    });
    Ok(timed.into_iter().map(|(_, one)| one).collect())
}
