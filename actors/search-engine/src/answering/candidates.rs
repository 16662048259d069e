//! Candidates of a search, and their order by words and vectors together.

use rustc_hash::FxHashSet;
use search_graph_engine::fuse::{Candidate, fuse};
use search_graph_engine::space::{NearDocument, Spread};

use crate::index::{Nearness, RerankedDocument};

/// Documents that only vectors found are shown down to this share of the best one's nearness.
const NEAR_ENOUGH: f32 = 0.5;

/// A candidate on its way to a place.
pub(super) struct PooledDocument {
    pub(super) source: usize,
    pub(super) key: String,
    pub(super) lexical: f32,
    pub(super) cosine: Option<f32>,
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
        cosine: Some(document.cosine),
    }));
}

/// Makes the cosines of sources that learnt vectors of their own comparable: each becomes the
/// number of standard deviations by which it stands out in its source. `spreads` holds none for one
/// source alone, whose cosines stay as they are.
pub(super) fn on_one_scale(spreads: &[Option<Spread>], found: &mut [PooledDocument]) {
    for one in found {
        if let (Some(spread), Some(cosine)) = (spreads[one.source], &mut one.cosine) {
            *cosine = spread.standing(*cosine);
        }
    }
}

/// The candidates, best first; `weight` is the part of the cosine for a source.
pub(super) fn ranked(
    found: &[PooledDocument],
    nearness: Nearness,
    weight: impl Fn(usize) -> f32,
) -> Vec<RerankedDocument> {
    let candidates: Vec<Candidate<'_>> = found
        .iter()
        .map(|one| Candidate {
            key: &one.key,
            lexical: one.lexical,
            cosine: one.cosine,
        })
        .collect();
    let highest = found.iter().fold(0.0f32, |high, one| high.max(one.lexical));
    let mut weights: Vec<f32> = found.iter().map(|one| weight(one.source)).collect();
    weights.sort_unstable_by(f32::total_cmp);
    weights.dedup();
    let fused = weights.iter().flat_map(|dense| {
        let of_weight = fuse(&candidates, *dense).into_iter();
        of_weight.filter(|one| weight(found[one.candidate].source) == *dense)
    });
    let mut ranked: Vec<RerankedDocument> = fused
        .map(|fused| {
            let one = &found[fused.candidate];
            // Without a vector the words decide alone: a small source is not at a disadvantage.
            let (lexical_part, concept_part) = match one.cosine {
                Some(_) => (fused.lexical_part, fused.dense_part),
                None => (one.lexical / highest.max(f32::MIN_POSITIVE), 0.0),
            };
            RerankedDocument {
                source: one.source,
                key: one.key.clone(),
                score: lexical_part + concept_part,
                lexical_part,
                concept_part,
                nearness: one.cosine.map_or(Nearness::Unknown, |_| nearness),
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
