//! One side of the pairs of a batch: bags of words, their vectors, and the way back.

use crate::math::{VectorRow, WIDTH, add_scaled, dot, norm};

const NO_SLOT: u32 = u32::MAX;

/// Numbers things as they come, and forgets them cheaply.
#[derive(Debug)]
pub(super) struct RowNumbering {
    slot_of: Vec<u32>,
    pub(super) listed: Vec<u32>,
}

impl RowNumbering {
    pub(super) fn new(size: usize) -> Self {
        Self {
            slot_of: vec![NO_SLOT; size],
            listed: Vec::new(),
        }
    }

    #[inline(always)]
    pub(super) fn slot(&mut self, thing: usize) -> usize {
        let slot = &mut self.slot_of[thing];
        if *slot == NO_SLOT {
            *slot = self.listed.len() as u32;
            self.listed.push(thing as u32);
        }
        *slot as usize
    }

    pub(super) fn clear(&mut self) {
        for thing in self.listed.drain(..) {
            self.slot_of[thing as usize] = NO_SLOT;
        }
    }
}

/// One side of all pairs: bags of words, their vectors and gradients.
#[derive(Debug, Default)]
pub(super) struct PairSide {
    /// Slot and count of each distinct word, one bag after the other.
    words: Vec<(u32, f32)>,
    pub(super) ends: Vec<usize>,
    pub(super) vectors: Vec<f32>,
    lengths: Vec<f32>,
    pub(super) gradients: Vec<f32>,
}

impl PairSide {
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
    }

    fn bag(&self, number: usize) -> std::ops::Range<usize> {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[number]
    }
}

/// Appends a bag of the tokens: each distinct word with what it counts for.
pub(super) fn fill(
    side: &mut PairSide,
    tokens: &[u16],
    words: &mut RowNumbering,
    counts: &mut [u16],
    weight: impl Fn(u32) -> f32,
) {
    let start = side.words.len();
    for &token in tokens {
        let count = &mut counts[usize::from(token)];
        if *count == 0 {
            side.words.push((u32::from(token), 0.0));
        }
        *count += 1;
    }
    for (word, weighed) in &mut side.words[start..] {
        let count = std::mem::take(&mut counts[*word as usize]);
        *weighed = weight(u32::from(count));
        *word = words.slot(*word as usize) as u32;
    }
    side.ends.push(side.words.len());
}

impl PairSide {
    /// The vector of each bag, of length 1.
    #[inline(always)]
    pub(super) fn compute_vectors(&mut self, vectors: &[VectorRow], weights: &[f32]) {
        self.vectors.clear();
        self.vectors.resize(self.ends.len() * WIDTH, 0.0);
        self.lengths.clear();
        for number in 0..self.ends.len() {
            let mut sum = [0.0; WIDTH];
            for &(slot, count) in &self.words[self.bag(number)] {
                add_scaled(
                    &mut sum,
                    count * weights[slot as usize],
                    &vectors[slot as usize],
                );
            }
            let length = norm(&sum).max(1e-6);
            let vector = &mut self.vectors[number * WIDTH..(number + 1) * WIDTH];
            add_scaled(vector, length.recip(), &sum);
            self.lengths.push(length);
        }
    }

    /// Brings the gradients of the bags' vectors back to their words.
    #[inline(always)]
    pub(super) fn propagate_gradients(
        &self,
        vectors: &[VectorRow],
        weights: &[f32],
        gradients: &mut [VectorRow],
        weight_gradients: &mut [f32],
    ) {
        for number in 0..self.ends.len() {
            let range = number * WIDTH..(number + 1) * WIDTH;
            let vector = &self.vectors[range.clone()];
            let mut gradient = [0.0; WIDTH];
            let radial = dot(vector, &self.gradients[range.clone()]);
            let scale = self.lengths[number].recip();
            add_scaled(&mut gradient, scale, &self.gradients[range]);
            add_scaled(&mut gradient, -radial * scale, vector);
            for &(slot, count) in &self.words[self.bag(number)] {
                let slot = slot as usize;
                let factor = count * weights[slot];
                add_scaled(&mut gradients[slot], factor, &gradient);
                weight_gradients[slot] += factor * dot(&gradient, &vectors[slot]);
            }
        }
    }
}
