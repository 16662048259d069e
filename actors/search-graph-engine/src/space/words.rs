//! The words of a concept space.

use crate::learning::{GRAM_ROWS, gram_rows};
use crate::math::{Bytes, Row, WIDTH, add_bytes, norm, quantise, quantised_dot};
use crate::space::ConceptVector;

/// A word found by its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct NearWord {
    /// The term, as the index holds it.
    pub term: String,
    /// Cosine of the angle to what was asked for.
    pub cosine: f32,
}

/// Vectors of words, and of the letters of words that are not among them.
#[derive(Debug, Default, PartialEq)]
pub struct WordTable {
    /// The words in alphabetical order, one after the other, and where each ends.
    pub(super) text: String,
    pub(super) ends: Vec<u32>,
    pub(super) vectors: Vec<Bytes>,
    /// Factor of each vector, with what the word counts for in it.
    pub(super) factors: Vec<f32>,
    /// One over the length of each row of bytes.
    pub(super) lengths: Vec<f32>,
    pub(super) grams: Vec<Bytes>,
    pub(super) gram_factors: Vec<f32>,
    /// What an unknown word counts for: as much as the rarest known one.
    pub(super) unknown_weight: f32,
}

impl WordTable {
    /// Number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether no word is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The word of this number.
    #[must_use]
    pub fn term(&self, word: u32) -> &str {
        let word = word as usize;
        let start = word.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[word] as usize]
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
            let word = word as usize;
            add_bytes(&mut sum, weight * self.factors[word], &self.vectors[word]);
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
                    let word = word as usize;
                    add_bytes(&mut sum, count * self.factors[word], &self.vectors[word]);
                }
                None => self.add_unknown(term, count, &mut sum),
            }
        }
        ConceptVector::new(&sum)
    }

    /// Adds a word that has no vector, by its letters.
    fn add_unknown(&self, term: &str, count: f32, sum: &mut Row) {
        let mut rows = Vec::new();
        gram_rows(term, &mut rows);
        let share = (rows.len().max(1) as f32).sqrt().recip() * count * self.unknown_weight;
        for row in rows {
            let row = usize::from(row);
            add_bytes(sum, share * self.gram_factors[row], &self.grams[row]);
        }
    }

    /// The words nearest to a direction, nearest first.
    #[must_use]
    pub fn nearest(&self, vector: &ConceptVector, limit: usize) -> Vec<NearWord> {
        let rows = self.vectors.iter().zip(&self.lengths).enumerate();
        let products = rows.map(|(word, (bytes, length))| {
            let product = quantised_dot(bytes, &vector.bytes) as f32;
            (product * length * vector.factor, word as u32)
        });
        let mut found: Vec<(f32, u32)> = products.collect();
        let by_nearness = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if found.len() > limit && limit > 0 {
            found.select_nth_unstable_by(limit - 1, by_nearness);
        }
        found.truncate(limit);
        found.sort_unstable_by(by_nearness);
        let near = found.into_iter().map(|(cosine, word)| NearWord {
            term: self.term(word).to_owned(),
            cosine,
        });
        near.collect()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.text.capacity()
            + 4 * (self.ends.capacity() + self.factors.capacity() + self.lengths.capacity())
            + WIDTH * (self.vectors.capacity() + self.grams.capacity())
            + 4 * self.gram_factors.capacity()
    }
}

/// Makes a [`WordTable`].
#[derive(Debug)]
pub(crate) struct WordTableBuilder {
    words: Vec<(String, Bytes, f32)>,
    table: WordTable,
}

impl WordTableBuilder {
    pub(crate) fn new(unknown_weight: f32) -> Self {
        Self {
            words: Vec::new(),
            table: WordTable {
                unknown_weight,
                ..WordTable::default()
            },
        }
    }

    /// Adds a word with what it counts for.
    pub(crate) fn add_word(&mut self, term: &str, weight: f32, vector: &Row) {
        let (bytes, factor) = quantise(vector);
        self.words.push((term.to_owned(), bytes, factor * weight));
    }

    /// Adds the next row of the table of n-grams.
    pub(crate) fn add_gram(&mut self, row: &Row) {
        let (bytes, factor) = quantise(row);
        self.table.grams.push(bytes);
        self.table.gram_factors.push(factor);
    }

    pub(crate) fn finish(mut self) -> WordTable {
        debug_assert_eq!(self.table.grams.len(), GRAM_ROWS);
        self.words.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (term, bytes, factor) in self.words {
            self.table.text.push_str(&term);
            self.table.ends.push(self.table.text.len() as u32);
            self.table.vectors.push(bytes);
            self.table.factors.push(factor);
        }
        self.table.measure();
        self.table
    }
}

impl WordTable {
    /// Computes what follows from the rows, and gives back spare room.
    pub(super) fn measure(&mut self) {
        let inverse = |bytes: &Bytes| {
            let length = norm(&std::array::from_fn::<f32, WIDTH, _>(|at| {
                f32::from(bytes[at])
            }));
            if length > 0.0 { length.recip() } else { 0.0 }
        };
        self.lengths = self.vectors.iter().map(inverse).collect();
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.vectors.shrink_to_fit();
        self.factors.shrink_to_fit();
    }
}
