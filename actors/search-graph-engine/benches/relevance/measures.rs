//! Measures of retrieval quality with the definitions of `trec_eval`.
//!
//! nDCG with linear gain and log2 discount (Järvelin & Kekäläinen 2002), reciprocal rank, recall.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

/// The measures of one query, or their mean over queries; each from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Measures {
    /// Normalised discounted cumulative gain of the first ten results.
    pub(crate) ndcg_at_10: f64,
    /// One over the rank of the first relevant result among the first ten, else 0.
    pub(crate) mrr_at_10: f64,
    /// Share of the relevant documents found among the first hundred results.
    pub(crate) recall_at_100: f64,
}

/// Judges one ranking: `relevance` holds the grades of the judged documents (grades of 0 and below
/// mean not relevant), `ranking` the documents found, best first. A document found again counts
/// once, at its first rank. `None` when no document is relevant: such queries are left out of
/// means.
#[must_use]
pub(crate) fn judge<S: BuildHasher>(
    relevance: &HashMap<String, i32, S>,
    ranking: &[impl AsRef<str>],
) -> Option<Measures> {
    let mut ideal: Vec<f64> = relevance
        .values()
        .filter(|&&grade| grade > 0)
        .map(|&grade| grade.into())
        .collect();
    if ideal.is_empty() {
        return None;
    }
    ideal.sort_by(|a, b| b.total_cmp(a));
    let mut seen = HashSet::new();
    let gains: Vec<f64> = ranking
        .iter()
        .map(AsRef::as_ref)
        .filter(|&document| seen.insert(document))
        .take(100)
        .map(|document| relevance.get(document).copied().unwrap_or(0).max(0).into())
        .collect();
    let found = gains.iter().filter(|&&gain| gain > 0.0).count();
    let first = gains.iter().take(10).position(|&gain| gain > 0.0);
    Some(Measures {
        ndcg_at_10: discounted_gain(&gains) / discounted_gain(&ideal),
        mrr_at_10: first.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
        recall_at_100: found as f64 / ideal.len() as f64,
    })
}

/// Share of the relevant documents that are among those found, however often; 1 of none.
#[must_use]
pub(crate) fn recall(relevant: &[impl AsRef<str>], found: &[impl AsRef<str>]) -> f64 {
    let is_found = |document: &&_| {
        let document: &str = AsRef::as_ref(*document);
        found.iter().any(|one| one.as_ref() == document)
    };
    if relevant.is_empty() {
        return 1.0;
    }
    relevant.iter().filter(is_found).count() as f64 / relevant.len() as f64
}

/// Discounted cumulative gain of the first ten gains.
fn discounted_gain(gains: &[f64]) -> f64 {
    let discounted = gains.iter().take(10).enumerate();
    discounted
        .map(|(rank, gain)| gain / (rank as f64 + 2.0).log2())
        .sum()
}

/// The mean over queries; zeros when there are none.
#[must_use]
pub(crate) fn mean(queries: &[Measures]) -> Measures {
    let count = queries.len().max(1) as f64;
    let mean_of = |measure: fn(&Measures) -> f64| queries.iter().map(measure).sum::<f64>() / count;
    Measures {
        ndcg_at_10: mean_of(|m| m.ndcg_at_10),
        mrr_at_10: mean_of(|m| m.mrr_at_10),
        recall_at_100: mean_of(|m| m.recall_at_100),
    }
}
