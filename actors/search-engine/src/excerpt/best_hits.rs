//! Which hits of a text are kept to choose a place from: the first ones, and of those behind them
//! such that say more than any place before, with what stands near them.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use search_core::snippet::{TermWeights, TextHit, best_window, contains_all_terms};

/// Once all words of the query were seen together, so much further a denser place is looked for.
const LOOK_FURTHER: usize = 1024;

/// Hits that are enough to choose from.
pub(super) const MAX_HITS: usize = 512;

/// Adds the hits of a text, in ascending order, to those before it.
pub(super) struct TellingHits<'h> {
    hits: &'h mut Vec<TextHit>,
    weights: &'h TermWeights,
    /// Hits farther apart than this are not shown together.
    span: usize,
    /// All terms of the query.
    terms: u64,
    /// Where to stop, once all terms were seen together.
    stop_at: usize,
    /// What was found, from the moment on where only what says more is kept.
    best: Option<BestExcerpt>,
    /// Hits that were not kept, and may stand near one that is.
    passed: VecDeque<TextHit>,
}

/// The best of what was found so far.
struct BestExcerpt {
    /// All terms that were seen.
    seen: u64,
    /// What the best place says.
    says: f32,
    /// What ends before this stands near a hit that was kept.
    near_until: usize,
    /// The terms weighed last, and their weight.
    weighed: (u64, f32),
}

impl<'h> TellingHits<'h> {
    pub(super) fn new(
        hits: &'h mut Vec<TextHit>,
        weights: &'h TermWeights,
        span: usize,
        terms: u64,
    ) -> Self {
        Self {
            hits,
            weights,
            span,
            terms,
            stop_at: usize::MAX,
            best: None,
            passed: VecDeque::new(),
        }
    }

    /// Adds the next hit, unless others say as much. Breaks where there are enough.
    pub(super) fn add(&mut self, hit: TextHit) -> ControlFlow<()> {
        if hit.start > self.stop_at || self.hits.len() >= 2 * MAX_HITS {
            return ControlFlow::Break(());
        }
        if self.hits.len() >= MAX_HITS && !self.is_better(hit) {
            return ControlFlow::Continue(());
        }
        self.hits.push(hit);
        if self.stop_at == usize::MAX && contains_all_terms(self.hits, self.span, self.terms) {
            self.stop_at = hit.end + LOOK_FURTHER;
        }
        ControlFlow::Continue(())
    }

    /// Whether a hit says more with those before it than any place did, or stands near such a one.
    fn is_better(&mut self, hit: TextHit) -> bool {
        let (hits, weights, span) = (&mut *self.hits, self.weights, self.span);
        let terms_of = |hits: &[TextHit]| hits.iter().fold(0, |all, hit| all | hit.terms);
        let best = self.best.get_or_insert_with(|| {
            let window = best_window(hits, span, weights);
            BestExcerpt {
                seen: terms_of(hits),
                says: window.map_or(0.0, |window| weights.total(terms_of(&hits[window]))),
                near_until: 0,
                weighed: (0, 0.0),
            }
        });
        if hit.end <= best.near_until {
            return true;
        }
        let is_far = |before: &mut TextHit| before.start + span < hit.end;
        while self.passed.pop_front_if(is_far).is_some() {}
        let before = self.passed.iter().fold(0, |all, hit| all | hit.terms);
        let near = before | hit.terms;
        if near != best.weighed.0 {
            best.weighed = (near, weights.total(near));
        }
        if hit.terms & !best.seen == 0 && best.weighed.1 <= best.says {
            self.passed.push_back(hit);
            return false;
        }
        best.seen |= near;
        best.says = best.says.max(best.weighed.1);
        best.near_until = hit.end + span;
        hits.extend(self.passed.drain(..));
        true
    }
}
