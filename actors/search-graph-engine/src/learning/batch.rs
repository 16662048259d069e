//! One step of learning: the vectors of a batch of pairs, and the gradients of telling them apart.
//!
//! ```text
//! words, n-grams ─► u(word) ─► Σ count · weight · u ─► vectors ─► all products ─► softmax both ways
//!                    ▲                                                                │
//!                    └──────────────────────── gradients ◄────────────────────────────┘
//! ```
//! Each word of the batch has its `u` made and its gradient brought back once, however often it
//! occurs.

use super::options::BATCH;
use super::pairs::{QUESTIONS, TrainingPair};
use super::parameters::{Lexicon, ModelParameters, StepSize};
use super::side::{PairSide, RowNumbering, fill};
use super::terms::document_weight;
use crate::math::{
    FusedMultiplyAdd, PackedMatrix, VectorRow, WIDTH, Work, add_scaled, dot, exp, multiply,
    vectorised,
};

/// Divides products before the softmax.
const TEMPERATURE: f32 = 0.2;

/// A batch of pairs and the room to learn from it; used again and again.
#[derive(Debug)]
pub(super) struct Batch {
    words: RowNumbering,
    grams: RowNumbering,
    counts: Vec<u16>,
    questions: [PairSide; QUESTIONS],
    rests: PairSide,
    /// The vector, the weight, and their gradients of each word of the batch.
    vectors: Vec<VectorRow>,
    weights: Vec<f32>,
    gradients: Vec<VectorRow>,
    weight_gradients: Vec<f32>,
    gram_gradients: Vec<VectorRow>,
    packed: PackedMatrix,
    scores: Vec<f32>,
    flipped: Vec<f32>,
    part: Vec<f32>,
}

impl Batch {
    /// For a vocabulary of this size.
    pub(super) fn new(vocabulary: usize) -> Self {
        Self {
            words: RowNumbering::new(vocabulary),
            grams: RowNumbering::new(super::GRAM_ROWS),
            counts: vec![0; vocabulary],
            questions: Default::default(),
            rests: PairSide::default(),
            vectors: Vec::new(),
            weights: Vec::new(),
            gradients: Vec::new(),
            weight_gradients: Vec::new(),
            // Memory that is never touched is never given.
            gram_gradients: Vec::with_capacity(super::GRAM_ROWS),
            packed: PackedMatrix::default(),
            scores: Vec::new(),
            flipped: Vec::new(),
            part: Vec::new(),
        }
    }

    /// Pairs in the batch.
    pub(super) fn len(&self) -> usize {
        self.rests.ends.len()
    }

    /// Whether there is no room for another pair.
    pub(super) fn is_full(&self) -> bool {
        self.len() == BATCH
    }

    /// Forgets the pairs.
    pub(super) fn clear(&mut self) {
        self.questions.iter_mut().for_each(PairSide::clear);
        self.rests.clear();
        self.words.clear();
    }

    /// Adds a pair.
    pub(super) fn add(&mut self, pair: &TrainingPair) {
        let (words, counts) = (&mut self.words, &mut self.counts);
        for (side, question) in self.questions.iter_mut().zip(&pair.questions) {
            fill(side, question, words, counts, |count| count as f32);
        }
        fill(&mut self.rests, &pair.rest, words, counts, document_weight);
    }

    /// Learns from the batch; gives the mean loss.
    pub(super) fn train(
        &mut self,
        parameters: &mut ModelParameters,
        lexicon: &Lexicon,
        size: StepSize,
    ) -> f32 {
        vectorised(ForwardPass(self, parameters, lexicon));
        let loss = self.compute_loss();
        vectorised(BackwardPass(self, parameters, lexicon, size));
        loss
    }

    #[inline(always)]
    fn word_vectors(&mut self, parameters: &ModelParameters, lexicon: &Lexicon) {
        self.vectors.clear();
        self.weights.clear();
        // Rows are large: no more than are needed.
        self.vectors.reserve_exact(self.words.listed.len());
        for &word in &self.words.listed {
            let word = word as usize;
            let mut vector = [0.0; WIDTH];
            let grams = lexicon.grams(word);
            for &gram in grams {
                add_scaled(&mut vector, 1.0, &parameters.grams.rows[usize::from(gram)]);
            }
            let share = gram_share(grams.len());
            for (value, own) in vector.iter_mut().zip(&parameters.words.rows[word]) {
                *value = *value * share + own;
            }
            self.vectors.push(vector);
            self.weights
                .push(lexicon.rarity[word] * exp(parameters.weights[0][word]));
        }
    }

    /// Scores every question against every rest, and leaves the gradients of both sides' vectors.
    fn compute_loss(&mut self) -> f32 {
        let count = self.len();
        self.scores.resize(count * count, 0.0);
        self.flipped.resize(count * count, 0.0);
        self.rests.gradients.clear();
        self.rests.gradients.resize(count * WIDTH, 0.0);
        self.part.resize(count * WIDTH, 0.0);
        let mut loss = 0.0;
        for side in &mut self.questions {
            let (scores, flipped, packed) = (&mut self.scores, &mut self.flipped, &mut self.packed);
            packed.refill_columns(&self.rests.vectors, WIDTH, count);
            multiply(&side.vectors, packed, scores, FusedMultiplyAdd::Never);
            loss += vectorised(Softmax(scores, flipped, count));
            side.gradients.resize(count * WIDTH, 0.0);
            packed.refill_rows(&self.rests.vectors, count, WIDTH);
            multiply(scores, packed, &mut side.gradients, FusedMultiplyAdd::Never);
            packed.refill_rows(&side.vectors, count, WIDTH);
            multiply(flipped, packed, &mut self.part, FusedMultiplyAdd::Never);
            add_scaled(&mut self.rests.gradients, 1.0, &self.part);
        }
        loss / QUESTIONS as f32
    }

    #[inline(always)]
    fn step(&mut self, parameters: &mut ModelParameters, lexicon: &Lexicon, size: StepSize) {
        self.gram_gradients.clear();
        for (slot, &word) in self.words.listed.iter().enumerate() {
            let word = word as usize;
            let gradient = &self.gradients[slot];
            let grams = lexicon.grams(word);
            let share = gram_share(grams.len());
            for &gram in grams {
                let slot = self.grams.slot(usize::from(gram));
                if slot == self.gram_gradients.len() {
                    self.gram_gradients.push([0.0; WIDTH]);
                }
                add_scaled(&mut self.gram_gradients[slot], share, gradient);
            }
            parameters.words.step(word, gradient, size);
            parameters.step_weight(word, self.weight_gradients[slot], size);
        }
        for (gradient, &gram) in self.gram_gradients.iter().zip(&self.grams.listed) {
            parameters.grams.step(gram as usize, gradient, size);
        }
        self.grams.clear();
    }
}

/// From words to the vectors of both sides.
struct ForwardPass<'b>(&'b mut Batch, &'b ModelParameters, &'b Lexicon);

impl Work for ForwardPass<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(batch, parameters, lexicon) = self;
        batch.word_vectors(parameters, lexicon);
        for side in batch.questions.iter_mut().chain([&mut batch.rests]) {
            side.compute_vectors(&batch.vectors, &batch.weights);
        }
    }
}

/// From the gradients of both sides' vectors to a step of the parameters.
struct BackwardPass<'b>(
    &'b mut Batch,
    &'b mut ModelParameters,
    &'b Lexicon,
    StepSize,
);

impl Work for BackwardPass<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(batch, parameters, lexicon, size) = self;
        let (vectors, weights) = (&batch.vectors, &batch.weights);
        batch.gradients.clear();
        batch.gradients.reserve_exact(vectors.len());
        batch.gradients.resize(vectors.len(), [0.0; WIDTH]);
        batch.weight_gradients.clear();
        batch.weight_gradients.resize(vectors.len(), 0.0);
        for side in batch.questions.iter_mut().chain([&mut batch.rests]) {
            let (rows, numbers) = (&mut batch.gradients, &mut batch.weight_gradients);
            side.propagate_gradients(vectors, weights, rows, numbers);
        }
        batch.step(parameters, lexicon, size);
    }
}

struct Softmax<'s>(&'s mut [f32], &'s mut [f32], usize);

impl Work for Softmax<'_> {
    type Output = f32;

    #[inline(always)]
    fn call(self) -> f32 {
        softmax_both_ways(self.0, self.1, self.2)
    }
}

/// What each n-gram of a word counts for in the word's vector.
#[inline(always)]
pub(super) fn gram_share(grams: usize) -> f32 {
    if grams == 0 {
        0.0
    } else {
        (grams as f32).sqrt().recip()
    }
}

/// Turns the scores into their gradients, for questions that choose a rest and for rests that
/// choose a question, and flips a copy of them. Gives the mean loss.
#[inline(always)]
fn softmax_both_ways(scores: &mut [f32], flipped: &mut [f32], count: usize) -> f32 {
    // Vectors have length 1: scores are at most 1, so 1 can be taken off in place of the largest.
    let mut column_sums = [0.0f32; BATCH];
    let mut row_sums = [0.0f32; BATCH];
    let mut loss = 0.0;
    for (number, row) in scores.chunks_exact_mut(count).enumerate() {
        loss -= 2.0 * (row[number] - 1.0) / TEMPERATURE;
        for (value, column_sum) in row.iter_mut().zip(&mut column_sums) {
            *value = exp((*value - 1.0) / TEMPERATURE);
            *column_sum += *value;
        }
        row_sums[number] = dot(row, &[1.0; BATCH][..count]);
    }
    let sums = row_sums[..count].iter().chain(&column_sums[..count]);
    loss += sums.map(|sum| sum.ln()).sum::<f32>();
    let share = (2.0 * TEMPERATURE * count as f32).recip();
    let column_shares = column_sums.map(|sum| share / sum);
    for (number, row) in scores.chunks_exact_mut(count).enumerate() {
        let row_share = share / row_sums[number];
        for (value, column_share) in row.iter_mut().zip(&column_shares) {
            *value *= row_share + column_share;
        }
        row[number] -= 2.0 * share;
    }
    for (number, row) in scores.chunks_exact(count).enumerate() {
        for (at, value) in row.iter().enumerate() {
            flipped[at * count + number] = *value;
        }
    }
    loss / (2.0 * count as f32)
}
