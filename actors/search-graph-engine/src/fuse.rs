//! From two scores to one: the lexical score and the nearness of concepts or embeddings.
//!
//! A function of the candidates alone, so that the same candidates always come in the same order.

use std::cmp::Ordering;

/// Part of the concept vectors in a fused score; the lexical score has the rest.
pub const CONCEPT_WEIGHT: f32 = 0.5;

/// Lexical candidates that are worth ranking again.
pub const LEXICAL_DEPTH: usize = 200;

/// A document to rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<'k> {
    /// Identity, which decides between equal scores.
    pub key: &'k str,
    /// Lexical score (BM25F), 0 where no word matches.
    pub lexical: f32,
    /// Cosine to the query; `None` where the document has no vector (yet).
    pub cosine: Option<f32>,
}

/// A ranked candidate and the parts of its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusedCandidate {
    /// Place of the candidate in the list given.
    pub candidate: usize,
    /// Sum of the parts, from 0 to 1.
    pub score: f32,
    /// What the lexical score gave.
    pub lexical_part: f32,
    /// What the cosine gave.
    pub dense_part: f32,
}

/// Ranks the candidates, best first: lexical scores are divided by the highest, cosines are
/// stretched from 0 (the lowest) to 1 (the highest), and both are weighed (`dense_weight` for the
/// cosines). Equal scores are in the order of the keys. Where no cosine is known the order is the
/// lexical one.
#[must_use]
pub fn fuse(candidates: &[Candidate<'_>], dense_weight: f32) -> Vec<FusedCandidate> {
    let highest = candidates
        .iter()
        .fold(0.0f32, |high, c| high.max(c.lexical));
    let cosines = candidates.iter().filter_map(|c| c.cosine);
    let (low, high) = cosines.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), cosine| {
        (low.min(cosine), high.max(cosine))
    });
    let dense_weight = if low <= high { dense_weight } else { 0.0 };
    let spread = (high - low).max(f32::MIN_POSITIVE);
    let fused = candidates.iter().enumerate().map(|(number, candidate)| {
        let lexical = if highest > 0.0 {
            candidate.lexical / highest
        } else {
            0.0
        };
        let dense = candidate
            .cosine
            .map_or(0.0, |cosine| (cosine - low) / spread);
        let lexical_part = (1.0 - dense_weight) * lexical;
        let dense_part = dense_weight * dense;
        FusedCandidate {
            candidate: number,
            score: lexical_part + dense_part,
            lexical_part,
            dense_part,
        }
    });
    let mut fused: Vec<FusedCandidate> = fused.collect();
    fused.sort_by(|a, b| order(a, b, candidates));
    fused
}

fn order(a: &FusedCandidate, b: &FusedCandidate, candidates: &[Candidate<'_>]) -> Ordering {
    let by_key = || candidates[a.candidate].key.cmp(candidates[b.candidate].key);
    b.score.total_cmp(&a.score).then_with(by_key)
}
