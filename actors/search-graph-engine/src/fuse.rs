//! From several scores to one: the lexical score, and the nearness by vectors learnt from the
//! corpus and by an embedding model.
//!
//! A function of the candidates alone, so that the same candidates always come in the same order.

use std::cmp::Ordering;

use search_core::vector_weights::ModelEvidence;
pub use search_core::vector_weights::VectorWeights;

/// A document less near to a word than this says nothing of it.
const UNRELATED: f32 = 0.2;

/// Which part of a word's weight a document has that lacks the word and is so near to it by learnt
/// vectors: it may say the same in other words.
#[must_use]
pub fn paraphrase_score(cosine: f32) -> f32 {
    (cosine - UNRELATED).max(0.0)
}

/// A document to rank.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionCandidate<'k> {
    /// Identity, which decides between equal scores.
    pub key: &'k str,
    /// Lexical score (BM25F), 0 where no word matches.
    pub lexical: f32,
    /// What it has in addition for words that it lacks and may [say
    /// otherwise](paraphrase_score).
    pub otherwise: f32,
    /// Cosine to the query by learnt vectors; `None` where the document has none (yet).
    pub learnt: Option<f32>,
    /// Cosine to the query by an embedding model; `None` where the document has none (yet).
    pub model: Option<f32>,
    /// Parts of both in the score.
    pub weights: VectorWeights,
}

impl FusionCandidate<'_> {
    /// What of the score of its words is said otherwise.
    fn other_fraction(&self) -> f32 {
        let all = self.lexical + self.otherwise;
        if all > 0.0 { self.otherwise / all } else { 0.0 }
    }
}

/// A ranked candidate and the parts of its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusedCandidate {
    /// Place of the candidate in the list given.
    pub candidate: usize,
    /// Sum of the parts, from 0 to 1.
    pub score: f32,
    /// What the lexical score gave, with what is said otherwise.
    pub lexical_part: f32,
    /// What of it is said otherwise.
    pub otherwise_part: f32,
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
    fn from_cosines(cosines: impl Iterator<Item = f32>) -> Self {
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
    fn normalize(self, cosine: f32) -> f32 {
        (cosine - self.low) / (self.high - self.low).max(f32::MIN_POSITIVE)
    }
}

/// The scores of a candidate, each from 0 to 1.
struct Scores {
    lexical: f32,
    learnt: Option<f32>,
    model: Option<f32>,
}

fn scores(candidates: &[FusionCandidate<'_>]) -> Vec<Scores> {
    let highest = candidates
        .iter()
        .fold(0.0f32, |high, c| high.max(c.lexical + c.otherwise));
    let learnt = Range::from_cosines(candidates.iter().filter_map(|c| c.learnt));
    let model = Range::from_cosines(candidates.iter().filter_map(|c| c.model));
    let of = |candidate: &FusionCandidate<'_>| Scores {
        lexical: if highest > 0.0 {
            (candidate.lexical + candidate.otherwise) / highest
        } else {
            0.0
        },
        learnt: candidate.learnt.map(|cosine| learnt.normalize(cosine)),
        model: candidate.model.map(|cosine| model.normalize(cosine)),
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
/// other kind has its part. One that has none, of a source without vectors, has what those with
/// about its lexical score have on average: as a whole share of words it would come before them.
/// Where no candidate has any, the lexical score decides alone.
#[must_use]
pub fn fuse(candidates: &[FusionCandidate<'_>]) -> Vec<FusedCandidate> {
    let scores = scores(candidates);
    let trust = trust(&scores);
    let scored = candidates.iter().zip(&scores).enumerate();
    let each: Vec<FusedCandidate> = scored
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
                otherwise_part: lexical_part * candidate.other_fraction(),
                vector_part,
                vector_weight: weights.sum(),
            }
        })
        .collect();
    let mut fused = each.clone();
    for one in fused.iter_mut().filter(|one| one.vector_weight == 0.0) {
        *one = with_usual_part(one, &each, &scores);
    }
    fused.sort_by(|a, b| order(a, b, candidates));
    fused
}

/// How near lexical scores have to be to say much of each other.
const ALIKE: f64 = 0.01;

/// A candidate without vectors, with the part that they have in those like it, which weigh more the
/// nearer their lexical scores are. The sums are in whole steps: their order makes no difference.
fn with_usual_part(
    one: &FusedCandidate,
    each: &[FusedCandidate],
    scores: &[Scores],
) -> FusedCandidate {
    let lexical = scores[one.candidate].lexical;
    let (mut weight, mut part, mut all) = (0_i64, 0_i64, 0_i64);
    for other in each.iter().filter(|other| other.vector_weight > 0.0) {
        let lexical_of_other = scores[other.candidate].lexical;
        if lexical_of_other <= 0.0 {
            continue;
        }
        let apart = f64::from((lexical_of_other - lexical).abs()) / ALIKE + 1.0;
        let says = 1e6 / apart.powi(3);
        all += says as i64;
        weight += (says * f64::from(other.vector_weight)) as i64;
        part += (says * f64::from(other.vector_part)) as i64;
    }
    if all == 0 {
        return *one;
    }
    let vector_weight = (weight as f64 / all as f64) as f32;
    let vector_part = (part as f64 / all as f64) as f32;
    let lexical_part = (1.0 - vector_weight) * lexical;
    FusedCandidate {
        candidate: one.candidate,
        score: lexical_part + vector_part,
        lexical_part,
        // It has no vectors to say so.
        otherwise_part: 0.0,
        vector_part,
        vector_weight,
    }
}

fn order(a: &FusedCandidate, b: &FusedCandidate, candidates: &[FusionCandidate<'_>]) -> Ordering {
    let by_key = || candidates[a.candidate].key.cmp(candidates[b.candidate].key);
    b.score.total_cmp(&a.score).then_with(by_key)
}
