//! From several scores to one: the lexical score, and the nearness by vectors learnt from the
//! corpus and by an embedding model.
//!
//! A function of the candidates alone, so that the same candidates always come in the same order.

use std::cmp::Ordering;

use search_core::vector_weights::ModelEvidence;
pub use search_core::vector_weights::VectorWeights;

/// A document to rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<'k> {
    /// Identity, which decides between equal scores.
    pub key: &'k str,
    /// Lexical score (BM25F), 0 where no word matches.
    pub lexical: f32,
    /// Cosine to the query by learnt vectors; `None` where the document has none (yet).
    pub learnt: Option<f32>,
    /// Cosine to the query by an embedding model; `None` where the document has none (yet).
    pub model: Option<f32>,
    /// Parts of both in the score.
    pub weights: VectorWeights,
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
    /// What the cosines gave.
    pub vector_part: f32,
    /// The most that they could give.
    pub vector_weight: f32,
}

/// The least and the greatest of some cosines.
#[derive(Debug, Clone, Copy)]
struct Range {
    low: f32,
    high: f32,
}

impl Range {
    fn of(cosines: impl Iterator<Item = f32>) -> Self {
        let none = Self {
            low: f32::INFINITY,
            high: f32::NEG_INFINITY,
        };
        cosines.fold(none, |range, cosine| Self {
            low: range.low.min(cosine),
            high: range.high.max(cosine),
        })
    }

    /// From 0, the lowest, to 1, the highest.
    fn stretch(self, cosine: f32) -> f32 {
        (cosine - self.low) / (self.high - self.low).max(f32::MIN_POSITIVE)
    }
}

/// The scores of a candidate, each from 0 to 1.
struct Scores {
    lexical: f32,
    learnt: Option<f32>,
    model: Option<f32>,
}

fn scores(candidates: &[Candidate<'_>]) -> Vec<Scores> {
    let highest = candidates
        .iter()
        .fold(0.0f32, |high, c| high.max(c.lexical));
    let learnt = Range::of(candidates.iter().filter_map(|c| c.learnt));
    let model = Range::of(candidates.iter().filter_map(|c| c.model));
    let of = |candidate: &Candidate<'_>| Scores {
        lexical: if highest > 0.0 {
            candidate.lexical / highest
        } else {
            0.0
        },
        learnt: candidate.learnt.map(|cosine| learnt.stretch(cosine)),
        model: candidate.model.map(|cosine| model.stretch(cosine)),
    };
    candidates.iter().map(of).collect()
}

/// How much of the model is to be trusted with these candidates. Those that vectors alone have led
/// to say nothing: that they are near is why they are here.
fn trust(scores: &[Scores]) -> f32 {
    let mut evidence = ModelEvidence::default();
    for one in scores {
        if let Some(model) = one.model.filter(|_| one.lexical > 0.0) {
            let without = one
                .learnt
                .map_or(one.lexical, |learnt| (one.lexical + learnt) / 2.0);
            evidence.add(without, model);
        }
    }
    evidence.trust()
}

/// Ranks the candidates, best first: lexical scores are divided by the highest, cosines of each
/// kind are stretched from 0 (the lowest) to 1 (the highest), and all are weighed, the model by the
/// evidence for it. Equal scores are in the order of the keys. Where a candidate lacks a cosine the
/// other kind has its part, and where it has none the lexical score decides alone.
#[must_use]
pub fn fuse(candidates: &[Candidate<'_>]) -> Vec<FusedCandidate> {
    let scores = scores(candidates);
    let trust = trust(&scores);
    let scored = candidates.iter().zip(&scores).enumerate();
    let mut fused: Vec<FusedCandidate> = scored
        .map(|(number, (candidate, scores))| {
            let has = (scores.learnt.is_some(), scores.model.is_some());
            let weights = candidate.weights.for_document(has.0, has.1, trust);
            let learnt = weights.learnt * scores.learnt.unwrap_or(0.0);
            let vector_part = learnt + weights.model * scores.model.unwrap_or(0.0);
            let lexical_part = (1.0 - weights.sum()) * scores.lexical;
            FusedCandidate {
                candidate: number,
                score: lexical_part + vector_part,
                lexical_part,
                vector_part,
                vector_weight: weights.sum(),
            }
        })
        .collect();
    fused.sort_by(|a, b| order(a, b, candidates));
    fused
}

fn order(a: &FusedCandidate, b: &FusedCandidate, candidates: &[Candidate<'_>]) -> Ordering {
    let by_key = || candidates[a.candidate].key.cmp(candidates[b.candidate].key);
    b.score.total_cmp(&a.score).then_with(by_key)
}
