//! The words of a concept space.

use super::best::NearestDocuments;
use super::near_words::NearWords;
use super::vector::ConceptVector;
use crate::columns::{Column, TextColumns, TextsBuilder, f32_column};
use crate::learning::{GRAM_ROWS, gram_rows};
use crate::math::{
    Bytes, Multiplier, VectorRow, WIDTH, Work, add_bytes, norm, quantise, vectorised,
};

/// A word found by its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct NearWord {
    /// The term, as the index holds it.
    pub term: String,
    /// Cosine of the angle to what was asked for.
    pub cosine: f32,
}

/// Vectors of words, and of the letters of words that are not among them.
#[derive(Debug, Default)]
pub struct WordTable {
    /// The words in alphabetical order.
    pub(super) terms: TextColumns,
    pub(super) vectors: Column,
    /// Factor of each vector, with what the word counts for in it.
    pub(super) factors: Column,
    /// One over the length of each row of bytes.
    pub(super) lengths: Column,
    pub(super) grams: Column,
    pub(super) gram_factors: Column,
    /// What an unknown word counts for: as much as the rarest known one.
    pub(super) unknown_weight: f32,
    /// What was found near directions that were looked for.
    pub(super) near: NearWords,
}

impl WordTable {
    /// Number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether no word is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word of this number.
    #[must_use]
    pub fn term(&self, word: u32) -> &str {
        self.terms.get(word as usize)
    }

    /// The vector of a word in bytes, and its factor.
    #[inline]
    fn word(&self, word: u32) -> (Bytes, f32) {
        let row = self.vectors.rows()[word as usize];
        (signed(&row), self.factors.f32(word as usize))
    }

    /// The number of a word.
    #[must_use]
    pub fn find(&self, term: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.len() as u32);
        while low < high {
            let middle = low.midpoint(high);
            match self.term(middle).cmp(term) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// The direction of a bag of words with what each counts for. The bag's order does not matter.
    pub(crate) fn vector(&self, mut bag: Vec<(u32, f32)>) -> Option<ConceptVector> {
        bag.sort_unstable_by_key(|(word, _)| *word);
        let mut sum = [0.0; WIDTH];
        for (word, weight) in bag {
            let (row, factor) = self.word(word);
            add_bytes(&mut sum, weight * factor, &row);
        }
        ConceptVector::new(&sum)
    }

    pub(super) fn query_vector<'t>(
        &self,
        terms: impl IntoIterator<Item = (&'t str, u32)>,
    ) -> Option<ConceptVector> {
        let mut sum = [0.0; WIDTH];
        for (term, count) in terms {
            let count = count as f32;
            match self.find(term) {
                Some(word) => {
                    let (row, factor) = self.word(word);
                    add_bytes(&mut sum, count * factor, &row);
                }
                None => self.add_unknown(term, count, &mut sum),
            }
        }
        ConceptVector::new(&sum)
    }

    /// Adds a word that has no vector, by its letters.
    fn add_unknown(&self, term: &str, count: f32, sum: &mut VectorRow) {
        let mut rows = Vec::new();
        gram_rows(term, &mut rows);
        let share = (rows.len().max(1) as f32).sqrt().recip() * count * self.unknown_weight;
        for row in rows {
            let row = usize::from(row);
            let gram = signed(&self.grams.rows()[row]);
            add_bytes(sum, share * self.gram_factors.f32(row), &gram);
        }
    }

    /// The words nearest to a direction, nearest first. Compares it with every word, unless it was
    /// looked for lately.
    #[must_use]
    pub fn nearest(&self, vector: &ConceptVector, limit: usize) -> Vec<NearWord> {
        let nearest = self
            .near
            .get_or_find(vector, limit, || self.search(vector, limit));
        let near = nearest.iter().map(|&(cosine, word)| NearWord {
            term: self.terms.get(word).to_owned(),
            cosine,
        });
        near.collect()
    }

    /// How often a direction was compared with every word since the words were learnt or opened.
    #[must_use]
    pub fn searches(&self) -> u64 {
        self.near.searches()
    }

    /// Compares a direction with every word.
    fn search(&self, vector: &ConceptVector, limit: usize) -> Vec<(f32, usize)> {
        let mut best = NearestDocuments::new(limit);
        vectorised(Scan(self, vector, &mut best));
        let mut found = best.into_found();
        found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.truncate(limit);
        found
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let columns = [
            &self.vectors,
            &self.factors,
            &self.lengths,
            &self.grams,
            &self.gram_factors,
        ];
        columns.map(Column::heap_bytes).iter().sum::<usize>() + self.terms.heap_bytes()
    }
}

struct Scan<'s>(&'s WordTable, &'s ConceptVector, &'s mut NearestDocuments);

impl Work for Scan<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(words, vector, best) = self;
        let multiplier = Multiplier::new(&vector.bytes);
        let rows = words.vectors.rows().iter().zip(words.lengths.rows());
        for (word, (row, length)) in rows.enumerate() {
            let product = multiplier.dot(&signed(row)) as f32;
            let cosine = product * f32::from_le_bytes(*length) * vector.factor;
            if best.is_candidate(cosine) {
                best.add(cosine, word);
            }
        }
    }
}

/// Makes a [`WordTable`].
#[derive(Debug)]
pub(crate) struct WordTableBuilder {
    words: Vec<(String, Bytes, f32)>,
    grams: Vec<u8>,
    gram_factors: Vec<f32>,
    unknown_weight: f32,
}

impl WordTableBuilder {
    pub(crate) fn new(unknown_weight: f32) -> Self {
        Self {
            words: Vec::new(),
            grams: Vec::with_capacity(WIDTH * GRAM_ROWS),
            gram_factors: Vec::with_capacity(GRAM_ROWS),
            unknown_weight,
        }
    }

    /// Adds a word with what it counts for.
    pub(crate) fn add_word(&mut self, term: &str, weight: f32, vector: &VectorRow) {
        let (bytes, factor) = quantise(vector);
        self.words.push((term.to_owned(), bytes, factor * weight));
    }

    /// Adds the next row of the table of n-grams.
    pub(crate) fn add_gram(&mut self, row: &VectorRow) {
        let (bytes, factor) = quantise(row);
        self.grams.extend(bytes.map(|byte| byte as u8));
        self.gram_factors.push(factor);
    }

    pub(crate) fn finish(mut self) -> WordTable {
        debug_assert_eq!(self.gram_factors.len(), GRAM_ROWS);
        self.words.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut terms = TextsBuilder::default();
        let mut vectors = Vec::with_capacity(WIDTH * self.words.len());
        for (term, bytes, _) in &self.words {
            terms.push(term);
            vectors.extend(bytes.map(|byte| byte as u8));
        }
        WordTable {
            terms: terms.finish(),
            vectors: vectors.into(),
            factors: f32_column(self.words.iter().map(|(.., factor)| *factor)),
            lengths: f32_column(self.words.iter().map(|(_, bytes, _)| inverse_length(bytes))),
            grams: self.grams.into(),
            gram_factors: f32_column(self.gram_factors),
            unknown_weight: self.unknown_weight,
            near: NearWords::default(),
        }
    }
}

fn inverse_length(bytes: &Bytes) -> f32 {
    let length = norm(&bytes.map(f32::from));
    if length > 0.0 { length.recip() } else { 0.0 }
}

/// A row as it lies in a file.
#[inline(always)]
fn signed(row: &[u8; WIDTH]) -> Bytes {
    row.map(|byte| byte as i8)
}
