//! Measures of retrieval quality with the definitions of `trec_eval`.
//!
//! nDCG with linear gain and log2 discount (Järvelin & Kekäläinen 2002), reciprocal rank, recall.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

/// The measures of one query, or their mean over queries; each from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measures {
    /// Normalised discounted cumulative gain of the first ten results.
    pub ndcg_at_10: f64,
    /// One over the rank of the first relevant result among the first ten, else 0.
    pub mrr_at_10: f64,
    /// Share of the relevant documents found among the first hundred results.
    pub recall_at_100: f64,
}

/// Judges one ranking: `relevance` holds the grades of the judged documents (grades of 0 and below
/// mean not relevant), `ranking` the documents found, best first. A document found again counts
/// once, at its first rank. `None` when no document is relevant: such queries are left out of
/// means.
#[must_use]
pub fn judge<S: BuildHasher>(
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
pub fn recall(relevant: &[impl AsRef<str>], found: &[impl AsRef<str>]) -> f64 {
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
pub fn mean(queries: &[Measures]) -> Measures {
    let count = queries.len().max(1) as f64;
    let mean_of = |measure: fn(&Measures) -> f64| queries.iter().map(measure).sum::<f64>() / count;
    Measures {
        ndcg_at_10: mean_of(|m| m.ndcg_at_10),
        mrr_at_10: mean_of(|m| m.mrr_at_10),
        recall_at_100: mean_of(|m| m.recall_at_100),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{Measures, judge, mean, recall};

    fn relevance(grades: &[(&str, i32)]) -> HashMap<String, i32> {
        grades
            .iter()
            .map(|&(document, grade)| (document.to_owned(), grade))
            .collect()
    }

    fn check(grades: &[(&str, i32)], ranking: &[&str], expected: [f64; 3]) {
        let found = judge(&relevance(grades), ranking).expect("there is a relevant document");
        for (got, want) in [found.ndcg_at_10, found.mrr_at_10, found.recall_at_100]
            .iter()
            .zip(expected)
        {
            assert!((got - want).abs() < 1e-4, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn tables_worked_out_by_hand() {
        // One relevant document, first: everything is perfect.
        check(&[("a", 1)], &["a", "b"], [1.0, 1.0, 1.0]);
        // Third: 1 / log2(4) = 0.5.
        check(&[("a", 1)], &["x", "y", "a"], [0.5, 1.0 / 3.0, 1.0]);
        // Grades 2 and 1 the wrong way round: (1 + 2/1.58496) / (2 + 1/1.58496).
        check(&[("a", 2), ("b", 1)], &["b", "a"], [0.85972, 1.0, 1.0]);
        // Half of the relevant ones found: 1 / (1 + 0.63093).
        check(&[("a", 1), ("b", 1)], &["a"], [0.61315, 1.0, 0.5]);
        // Not relevant (grade 0 and below) neither gains nor costs.
        check(
            &[("a", 1), ("b", 0), ("c", -1)],
            &["b", "c", "a"],
            [0.5, 1.0 / 3.0, 1.0],
        );
        // Found again counts once, and does not take a rank.
        check(&[("a", 1)], &["x", "x", "a", "a"], [0.63093, 0.5, 1.0]);
        check(&[("a", 1)], &[], [0.0, 0.0, 0.0]);
    }

    #[test]
    fn i16_recall_is_the_share_of_what_is_found() {
        let relevant = ["a", "b", "c", "d"];
        assert_eq!(recall(&relevant, &["b", "x", "b", "d", "b"]), 0.5);
        assert_eq!(recall(&relevant, &[] as &[&str]), 0.0);
        assert_eq!(recall(&[] as &[&str], &["a"]), 1.0);
    }

    #[test]
    fn ranks_beyond_ten_count_for_recall_alone() {
        let ranking: Vec<String> = (0..200).map(|n| n.to_string()).collect();
        let found = judge(&relevance(&[("10", 1), ("99", 1), ("100", 1)]), &ranking);
        let expected = Measures {
            recall_at_100: 2.0 / 3.0,
            ..Measures::default()
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn queries_without_a_relevant_document_are_left_out() {
        assert_eq!(judge(&relevance(&[("a", 0)]), &["a"]), None);
        assert_eq!(mean(&[]), Measures::default());
        let half = mean(&[
            Measures {
                mrr_at_10: 1.0,
                ..Measures::default()
            },
            Measures::default(),
        ]);
        assert!((half.mrr_at_10 - 0.5).abs() < 1e-12);
    }
}
