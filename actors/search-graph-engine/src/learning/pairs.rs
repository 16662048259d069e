//! Training pairs: a piece of a document that asks for the rest of it.

use std::ops::Range;

use super::corpus::DocumentTokens;
use crate::math::Random;

/// Shorter documents say too little to be told apart.
pub(super) const MIN_TOKENS: usize = 8;

/// Tokens of a window that asks.
const WINDOW: std::ops::RangeInclusive<usize> = 4..=15;

/// How often the title asks, where there is one.
const TITLE_ASKS: f32 = 0.4;

/// The stretch of a long document that is learnt from at one look.
const MAX_STRETCH: usize = 512;

/// Pieces that ask for the same rest: the second costs little, its words are at hand.
pub(super) const QUESTIONS: usize = 2;

/// Tokens of the pieces and of the rest, with repetitions.
#[derive(Debug, Default)]
pub(super) struct TrainingPair {
    pub(super) questions: [Vec<u16>; QUESTIONS],
    pub(super) rest: Vec<u16>,
}

impl TrainingPair {
    /// Draws pieces and the rest of a document; `false` when the document gives none.
    pub(super) fn draw(&mut self, document: &DocumentTokens, random: &mut Random) -> bool {
        self.rest.clear();
        let tokens = document.tokens.as_slice();
        if tokens.len() < MIN_TOKENS {
            return false;
        }
        let stretch = sample_range(tokens.len(), random);
        let mut title = 0..document.title.min(tokens.len() - 1);
        let mut taken: [Range<usize>; QUESTIONS] = Default::default();
        for (question, taken) in self.questions.iter_mut().zip(&mut taken) {
            let title_asks = !title.is_empty() && random.chance(TITLE_ASKS);
            let span = if title_asks {
                std::mem::take(&mut title)
            } else {
                window(&stretch, random)
            };
            let drops = random.chance(0.5);
            let piece = tokens[span.clone()].iter();
            question.clear();
            question.extend(piece.filter(|_| !drops || !random.chance(0.2)));
            if !random.chance(0.1) {
                *taken = span;
            }
        }
        let left = stretch.filter(|at| taken.iter().all(|span| !span.contains(at)));
        self.rest.extend(left.map(|at| tokens[at]));
        !self.rest.is_empty() && self.questions.iter().all(|question| !question.is_empty())
    }
}

/// The part of the document that is looked at: all of it, or a stretch of a long one.
fn sample_range(length: usize, random: &mut Random) -> Range<usize> {
    if length <= MAX_STRETCH {
        return 0..length;
    }
    let start = random.below(length - MAX_STRETCH + 1);
    start..start + MAX_STRETCH
}

/// A piece of a stretch of at least 8 tokens: all pieces together leave about half of it.
fn window(stretch: &Range<usize>, random: &mut Random) -> Range<usize> {
    let share = stretch.len() / (2 * QUESTIONS);
    let most = share.clamp(*WINDOW.start(), *WINDOW.end());
    let length = WINDOW.start() + random.below(most + 1 - WINDOW.start());
    let start = stretch.start + random.below(stretch.len() - length + 1);
    start..start + length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{DocumentTokens, MAX_STRETCH, TrainingPair};
    use crate::math::Random;

    proptest! {
        #[test]
        fn both_sides_come_from_the_document(length in 0u16..1500, title in 0usize..20, seed in any::<u64>()) {
            let document = DocumentTokens {
                key: String::new(),
                tokens: (0..length).collect(),
                title: title.min(usize::from(length)),
            };
            let mut pair = TrainingPair::default();
            let drawn = pair.draw(&document, &mut Random::new([seed, 0, 0]));
            // Pieces of few tokens may be dropped whole; two of them, or the title and one, may
            // take all of a short document.
            let short = usize::from(length) < 16 || usize::from(length) <= document.title + 15;
            let excused = pair.questions.iter().any(Vec::is_empty) || short;
            prop_assert!(drawn || excused, "{pair:?}");
            prop_assert!(pair.rest.len() <= MAX_STRETCH && pair.rest.is_sorted());
            for question in &pair.questions {
                prop_assert!(question.len() <= 20 && question.is_sorted());
            }
            prop_assert!(pair.rest.iter().all(|token| *token < length));
        }
    }
}
