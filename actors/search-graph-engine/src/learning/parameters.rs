//! What is learnt: tables of rows, moved by Adam where a batch touched them.

use std::io::{Read, Write};

use super::corpus::Corpus;
use super::grams::{GRAM_ROWS, gram_rows};
use crate::math::{Random, VectorRow, WIDTH, dot};

const FIRST_DECAY: f32 = 0.9;
const SECOND_DECAY: f32 = 0.999;

/// The size of a step: the rate and the corrections for the moments' youth.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepSize {
    rate: f32,
    first: f32,
    second: f32,
}

impl StepSize {
    /// Of step `number` (from 0) at this rate.
    pub(super) fn new(rate: f32, number: u64) -> Self {
        let youth = |decay: f32| {
            let mut power = 1.0;
            for _ in 0..=number.min(20_000) {
                power *= decay;
            }
            1.0 / (1.0 - power)
        };
        Self {
            rate,
            first: youth(FIRST_DECAY),
            second: youth(SECOND_DECAY),
        }
    }

    #[inline(always)]
    fn apply(self, value: &mut f32, first: &mut f32, second: &mut f32, gradient: f32) {
        *first = FIRST_DECAY * *first + (1.0 - FIRST_DECAY) * gradient;
        *second = SECOND_DECAY * *second + (1.0 - SECOND_DECAY) * gradient * gradient;
        let spread = (*second * self.second).sqrt() + 1e-8;
        *value -= self.rate * (*first * self.first) / spread;
    }
}

/// A table of rows with the moments of their gradients.
#[derive(Debug, Default)]
pub(super) struct ParameterTable {
    pub(super) rows: Vec<VectorRow>,
    first: Vec<VectorRow>,
    second: Vec<f32>,
}

impl ParameterTable {
    fn new(rows: Vec<VectorRow>) -> Self {
        Self {
            first: vec![[0.0; WIDTH]; rows.len()],
            second: vec![0.0; rows.len()],
            rows,
        }
    }

    /// Moves one row. Its gradients share one second moment: the spread of a row's numbers is much
    /// the same, and a third of the memory and of its traffic is saved.
    #[inline(always)]
    pub(super) fn step(&mut self, row: usize, gradient: &VectorRow, size: StepSize) {
        let second = &mut self.second[row];
        let square = dot(gradient, gradient) / WIDTH as f32;
        *second = SECOND_DECAY * *second + (1.0 - SECOND_DECAY) * square;
        let factor = size.rate * size.first / ((*second * size.second).sqrt() + 1e-8);
        let values = self.rows[row].iter_mut().zip(&mut self.first[row]);
        for ((value, first), gradient) in values.zip(gradient) {
            *first = FIRST_DECAY * *first + (1.0 - FIRST_DECAY) * gradient;
            *value -= factor * *first;
        }
    }
}

/// Everything that is learnt.
#[derive(Debug, Default)]
pub(super) struct ModelParameters {
    /// A row for each word of the vocabulary.
    pub(super) words: ParameterTable,
    /// A row for each hashed n-gram.
    pub(super) grams: ParameterTable,
    /// Logarithm of what a word counts for beside its rarity, with its moments.
    pub(super) weights: [Vec<f32>; 3],
}

impl ModelParameters {
    /// Rows drawn at random, of length 1 in the mean; weights of 1.
    pub(super) fn draw(words: usize, seed: u64) -> Self {
        let table = |rows: usize, part: u64| {
            let mut random = Random::new([seed, part, 0]);
            let spread = (WIDTH as f32).sqrt().recip();
            let mut row = || std::array::from_fn(|_| random.bell() * spread);
            ParameterTable::new((0..rows).map(|_| row()).collect())
        };
        Self {
            words: table(words, 1),
            grams: table(GRAM_ROWS, 2),
            weights: std::array::from_fn(|_| vec![0.0; words]),
        }
    }

    /// Room for parameters that are read from a checkpoint.
    pub(super) fn zeroed(words: usize) -> Self {
        Self {
            words: ParameterTable::new(vec![[0.0; WIDTH]; words]),
            grams: ParameterTable::new(vec![[0.0; WIDTH]; GRAM_ROWS]),
            weights: std::array::from_fn(|_| vec![0.0; words]),
        }
    }

    /// Moves the weight of a word.
    #[inline(always)]
    pub(super) fn step_weight(&mut self, word: usize, gradient: f32, size: StepSize) {
        let [values, first, second] = &mut self.weights;
        size.apply(
            &mut values[word],
            &mut first[word],
            &mut second[word],
            gradient,
        );
    }

    /// The tables in the order they are saved in; with the moments or without.
    fn tables(&mut self, moments: bool) -> (Vec<&mut Vec<VectorRow>>, Vec<&mut Vec<f32>>) {
        let Self {
            words,
            grams,
            weights,
        } = self;
        let mut rows = vec![&mut words.rows, &mut grams.rows];
        if moments {
            rows.extend([&mut words.first, &mut grams.first]);
        }
        let kept = if moments { 3 } else { 1 };
        let mut numbers: Vec<&mut Vec<f32>> = weights.iter_mut().take(kept).collect();
        if moments {
            numbers.extend([&mut words.second, &mut grams.second]);
        }
        (rows, numbers)
    }

    /// Writes the parameters.
    pub(super) fn save(&mut self, moments: bool, output: &mut dyn Write) -> std::io::Result<()> {
        let (rows, numbers) = self.tables(moments);
        let mut bytes = Vec::with_capacity(4 * WIDTH);
        let rows = rows
            .into_iter()
            .flat_map(|table| table.iter().map(VectorRow::as_slice));
        let numbers = numbers.into_iter().flat_map(|table| table.chunks(WIDTH));
        for chunk in rows.chain(numbers) {
            bytes.clear();
            bytes.extend(chunk.iter().flat_map(|value| value.to_le_bytes()));
            output.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Reads what [`save`](Self::save) wrote for as many words.
    pub(super) fn load(&mut self, moments: bool, input: &mut dyn Read) -> std::io::Result<()> {
        let (rows, numbers) = self.tables(moments);
        let mut bytes = vec![0; 4 * WIDTH];
        let rows = rows
            .into_iter()
            .flat_map(|table| table.iter_mut().map(VectorRow::as_mut_slice));
        let numbers = numbers
            .into_iter()
            .flat_map(|table| table.chunks_mut(WIDTH));
        for chunk in rows.chain(numbers) {
            let bytes = &mut bytes[..4 * chunk.len()];
            input.read_exact(bytes)?;
            for (value, bytes) in chunk.iter_mut().zip(bytes.as_chunks().0) {
                *value = f32::from_le_bytes(*bytes);
            }
        }
        Ok(())
    }
}

/// What is known of each word of the vocabulary before anything is learnt.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    /// How much a word tells, by the number of documents that hold it.
    pub(super) rarity: Vec<f32>,
    /// The rows of the words' n-grams, one word's after the other.
    rows: Vec<u16>,
    /// Where each word's rows end.
    ends: Vec<u32>,
}

impl Lexicon {
    pub(super) fn new(corpus: &Corpus) -> Self {
        let mut lexicon = Self::default();
        let mut rows = Vec::new();
        for term in corpus.vocabulary() {
            lexicon.rarity.push(rarity(corpus.len(), term.documents));
            gram_rows(&term.text, &mut rows);
            lexicon.rows.extend_from_slice(&rows);
            lexicon.ends.push(lexicon.rows.len() as u32);
        }
        lexicon
    }

    /// The n-gram rows of a word.
    #[inline(always)]
    pub(super) fn grams(&self, word: usize) -> &[u16] {
        let start = word.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.rows[start as usize..self.ends[word] as usize]
    }
}

/// How much a word tells that `documents` of `all` hold.
pub(super) fn rarity(all: usize, documents: u32) -> f32 {
    let (all, documents) = (all as f32, documents as f32);
    (1.0 + (all - documents + 0.5).max(0.0) / (documents + 0.5)).ln()
}
