//! Scores that are compared with each other.

use super::super::rerank::RankedCandidate;

/// The highest scores, for comparison.
pub(super) struct Scale {
    /// The highest lexical score.
    pub(super) lexical: f32,
    /// What it is worth in the scores given: the lexical score itself, or 1 where they are fused.
    pub(super) unit: f32,
}

impl Scale {
    pub(super) fn from_ranked(ranked: &[RankedCandidate]) -> Self {
        let lexical = |one: &RankedCandidate| {
            let fusion = one.fusion.as_ref();
            fusion.map_or(one.candidate.score, |fusion| fusion.lexical_score)
        };
        let lexical = ranked.iter().map(lexical).fold(0.0, f32::max);
        let is_fused = ranked.iter().any(|one| one.fusion.is_some());
        Self {
            lexical,
            unit: if is_fused { 1.0 } else { lexical },
        }
    }
}

/// What was not looked at follows, with scores that are not above those before.
pub(super) fn append_below(ranked: &mut Vec<RankedCandidate>, rest: Vec<RankedCandidate>) {
    let lowest = ranked.last().map_or(f32::MAX, |last| last.candidate.score);
    let highest = rest.first().map_or(0.0, |first| first.candidate.score);
    let factor = if highest > lowest {
        lowest / highest
    } else {
        1.0
    };
    ranked.extend(rest.into_iter().map(|mut one| {
        one.candidate.score *= factor;
        one
    }));
}
