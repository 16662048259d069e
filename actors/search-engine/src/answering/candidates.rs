//! Candidates of a search, and their order by words and vectors together.

use rustc_hash::FxHashSet;
use search_graph_engine::fuse::{FusionCandidate, VectorWeights, fuse};
use search_graph_engine::space::{CosineDistribution, NearDocument};

use crate::index::{LexicalResult, Nearness, RerankedDocument};

/// Documents that only vectors found are shown down to this share of the best one's nearness.
const NEAR_ENOUGH: f32 = 0.5;

/// Documents that only vectors found are left out below this score.
const LEAST_OF_NEAR: f32 = 0.004;

/// A candidate on its way to a place.
pub(super) struct PooledDocument {
    pub(super) source: usize,
    pub(super) key: String,
    pub(super) lexical: f32,
    /// What it has for words that it lacks and may say otherwise.
    pub(super) otherwise: f32,
    /// Cosines to the query by the vectors that its source has.
    pub(super) learnt: Option<f32>,
    pub(super) model: Option<f32>,
    /// Passages that the model has embedded of it.
    pub(super) passages: usize,
    /// Which of several is the nearest to the query.
    pub(super) nearest: Option<usize>,
}

impl PooledDocument {
    fn nearness(&self) -> Nearness {
        match (self.learnt, self.model) {
            (None, None) => Nearness::Unknown,
            (Some(_), None) => Nearness::Learnt,
            (None, Some(_)) => Nearness::Model,
            (Some(_), Some(_)) => Nearness::Blended,
        }
    }
}

/// The candidates that words found.
pub(super) fn pooled(results: &[LexicalResult]) -> Vec<PooledDocument> {
    let documents = results.iter().map(|result| PooledDocument {
        source: result.source,
        key: result.key.clone(),
        lexical: result.score,
        otherwise: 0.0,
        learnt: None,
        model: None,
        passages: 0,
        nearest: None,
    });
    documents.collect()
}

/// Adds those of the documents `near` a query, nearest first, that are not found yet and near
/// enough.
pub(super) fn add_near(source: usize, near: Vec<NearDocument>, found: &mut Vec<PooledDocument>) {
    let least = NEAR_ENOUGH * near.first().map_or(0.0, |best| best.cosine.max(0.0));
    let known: FxHashSet<String> = found
        .iter()
        .filter(|one| one.source == source)
        .map(|one| one.key.clone())
        .collect();
    let new = near
        .into_iter()
        .filter(|document| document.cosine > least && !known.contains(&document.key));
    found.extend(new.map(|document| PooledDocument {
        source,
        key: document.key,
        lexical: 0.0,
        otherwise: 0.0,
        learnt: None,
        model: None,
        passages: 0,
        nearest: None,
    }));
}

/// Makes the cosines of sources that learnt vectors of their own comparable: each becomes the
/// number of standard deviations by which it stands out in its source. `spreads` holds none for one
/// source alone, whose cosines stay as they are.
pub(super) fn normalize_scores(
    spreads: &[Option<CosineDistribution>],
    found: &mut [PooledDocument],
) {
    for one in found {
        if let (Some(spread), Some(cosine)) = (spreads[one.source], &mut one.learnt) {
            *cosine = spread.standing(*cosine);
        }
    }
}

/// The candidates, best first; `weights` are the parts of the cosines for a source.
pub(super) fn ranked(
    found: &[PooledDocument],
    weights: impl Fn(usize) -> VectorWeights,
) -> Vec<RerankedDocument> {
    let candidates: Vec<FusionCandidate<'_>> = found
        .iter()
        .map(|one| FusionCandidate {
            key: &one.key,
            lexical: one.lexical,
            otherwise: one.otherwise,
            learnt: one.learnt,
            model: one.model,
            weights: weights(one.source),
        })
        .collect();
    let mut fused = fuse(&candidates);
    // What is as far as the farthest is no answer beside documents with the words.
    if found.iter().any(|one| one.lexical > 0.0) {
        fused.retain(|one| found[one.candidate].lexical > 0.0 || one.score >= LEAST_OF_NEAR);
    }
    let fused = fused.into_iter();
    let mut ranked: Vec<RerankedDocument> = fused
        .map(|fused| {
            let one = &found[fused.candidate];
            RerankedDocument {
                source: one.source,
                key: one.key.clone(),
                score: fused.score,
                lexical_part: fused.lexical_part,
                otherwise_part: fused.otherwise_part,
                concept_part: fused.vector_part,
                vector_weight: fused.vector_weight,
                vectors: one.passages.max(1),
                nearest: one.nearest,
                nearness: one.nearness(),
                concepts: Vec::new(),
            }
        })
        .collect();
    ranked.sort_by(|a, b| {
        let names = || (a.source, &a.key).cmp(&(b.source, &b.key));
        b.score.total_cmp(&a.score).then_with(names)
    });
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_what_is_near_by_nothing_is_no_result() {
        let document = |key: &str, lexical, learnt| PooledDocument {
            source: 0,
            key: key.to_owned(),
            lexical,
            otherwise: 0.0,
            learnt: Some(learnt),
            model: None,
            passages: 0,
            nearest: None,
        };
        let keys = |found: &[PooledDocument]| -> Vec<String> {
            let ranked = ranked(found, |_| VectorWeights::LEARNT);
            ranked.into_iter().map(|one| one.key).collect()
        };
        let found = [
            document("word", 3.0, 0.5),
            document("near", 0.0, 0.4),
            document("far", 0.0, 0.1),
            document("as far", 0.0, 0.101),
        ];
        assert_eq!(keys(&found), ["word", "near"]);
        assert_eq!(keys(&found[1..]).len(), 3);
    }
}
