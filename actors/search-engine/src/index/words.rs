//! The words that most documents hold.

use rustc_hash::FxHashMap;
use tantivy::TantivyError;

use super::error::IndexError;
use super::snapshot::IndexSnapshot;

/// Shorter words need no completion.
const MIN_LETTERS: usize = 3;

/// Words that fewer documents hold are not frequent.
const MIN_DOCUMENTS: u32 = 2;

/// Words that are counted at most.
const MAX_COUNTED: usize = 500_000;

impl IndexSnapshot {
    /// Words as people write them (folded, not cut to their stems) with the number of documents
    /// that hold each: those of at least two documents, the most frequent first, at most `limit`.
    /// Looks at the whole vocabulary.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn frequent_words(&self, limit: usize) -> Result<Vec<(String, u32)>, IndexError> {
        let mut counts: FxHashMap<String, u32> = FxHashMap::default();
        for view in self.segments() {
            let inverted = view.reader.inverted_index(self.fields().exact)?;
            let stream = inverted.terms().stream();
            let mut stream = stream.map_err(TantivyError::from)?;
            while stream.advance() {
                let Ok(word) = std::str::from_utf8(stream.key()) else {
                    continue;
                };
                let sound = word.len() >= MIN_LETTERS && word.chars().all(char::is_alphabetic);
                if let Some(count) = counts.get_mut(word) {
                    *count += stream.value().doc_freq;
                } else if sound && counts.len() < MAX_COUNTED {
                    counts.insert(word.to_owned(), stream.value().doc_freq);
                }
            }
        }
        let mut words: Vec<(String, u32)> = counts
            .into_iter()
            .filter(|(_, count)| *count >= MIN_DOCUMENTS)
            .collect();
        words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        words.truncate(limit);
        Ok(words)
    }
}
