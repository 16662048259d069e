//! The words that most documents hold.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use tantivy::termdict::TermStreamer;
use tantivy::{InvertedIndexReader, TantivyError};

use super::error::IndexError;
use super::snapshot::IndexSnapshot;

/// Shorter words need no completion.
const MIN_LETTERS: usize = 3;

/// Words that fewer documents hold are not frequent.
const MIN_DOCUMENTS: u32 = 2;

impl IndexSnapshot {
    /// Words as people write them (folded, not cut to their stems) with the number of documents
    /// that hold each: those of at least two documents, the most frequent first, at most `limit`.
    /// Looks at the whole vocabulary, in the order of the alphabet in all segments at once, so that
    /// only those are held that are among the most frequent so far.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn frequent_words(&self, limit: usize) -> Result<Vec<(String, u32)>, IndexError> {
        let views = self.segments().iter();
        let dictionaries: Vec<Arc<InvertedIndexReader>> = views
            .map(|view| view.reader.inverted_index(self.fields().exact))
            .collect::<tantivy::Result<_>>()?;
        let mut streams: Vec<TermStreamer<'_>> = Vec::with_capacity(dictionaries.len());
        for dictionary in &dictionaries {
            let stream = dictionary.terms().stream();
            let mut stream = stream.map_err(TantivyError::from)?;
            if stream.advance() {
                streams.push(stream);
            }
        }
        let mut most = FrequentWords::new(limit);
        let mut word = Vec::new();
        while let Some(next) = streams.iter().map(TermStreamer::key).min() {
            word.clear();
            word.extend_from_slice(next);
            let mut documents = 0;
            streams.retain_mut(|stream| {
                if stream.key() != word {
                    return true;
                }
                documents += stream.value().doc_freq;
                stream.advance()
            });
            if documents >= MIN_DOCUMENTS
                && let Ok(word) = std::str::from_utf8(&word)
            {
                most.add(word, documents);
            }
        }
        Ok(most.finish())
    }
}

/// The most frequent of words that come in the order of the alphabet.
struct FrequentWords {
    limit: usize,
    /// The one to go first on top: the rarest, and of such the last.
    kept: BinaryHeap<(Reverse<u32>, String)>,
}

impl FrequentWords {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: BinaryHeap::new(),
        }
    }

    fn add(&mut self, word: &str, documents: u32) {
        let is_full = self.kept.len() >= self.limit;
        // Of words in as many documents the first stay.
        let is_rare = || {
            let rarest = self.kept.peek();
            rarest.is_none_or(|(Reverse(rarest), _)| documents <= *rarest)
        };
        let is_sound = || word.len() >= MIN_LETTERS && word.chars().all(char::is_alphabetic);
        if is_full && is_rare() || !is_sound() {
            return;
        }
        if is_full {
            self.kept.pop();
        }
        self.kept.push((Reverse(documents), word.to_owned()));
    }

    /// The most frequent first.
    fn finish(self) -> Vec<(String, u32)> {
        let sorted = self.kept.into_sorted_vec().into_iter();
        sorted
            .map(|(Reverse(documents), word)| (word, documents))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use search_core::document::ExtractedDocument;

    use crate::index::{Durability, FileState, IndexOptions, SourceIndex};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn i16_frequent_words_are_those_of_a_count_of_all(
            documents in prop::collection::vec(prop::collection::btree_set("(flow|wing|lift|a|x1|tree|moon)s", 0..8), 1..20),
            limit in 0_usize..9,
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let opened = SourceIndex::open(folder.path(), IndexOptions::default());
            let (mut index, _) = opened.expect("the index opens");
            let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
            for (number, words) in documents.iter().enumerate() {
                let document = ExtractedDocument {
                    key: number.to_string(),
                    body: words.iter().map(|word| format!("{word} ")).collect(),
                    ..ExtractedDocument::default()
                };
                index.put(&document, FileState::default()).expect("the document is put");
                if number % 5 == 4 {
                    index.commit(Durability::Fast).expect("the commit succeeds");
                }
                for word in words {
                    *counts.entry(word).or_default() += 1;
                }
            }
            let snapshot = index.commit(Durability::Fast).expect("the commit succeeds");
            let all = snapshot.frequent_words(1_000).expect("reads");
            // What has no exact form of its own is not among them.
            let mut expected: Vec<(String, u32)> = all.clone();
            expected.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            for (word, documents) in &expected {
                prop_assert_eq!(counts.get(word.as_str()), Some(documents));
            }
            let frequent = ["flows", "wings", "lifts", "trees", "moons"];
            let held = |word: &&str| counts.get(word).is_some_and(|documents| *documents >= 2);
            for word in frequent.iter().filter(|word| held(word)) {
                prop_assert!(expected.iter().any(|(one, _)| one == word), "{word}");
            }
            prop_assert_eq!(&all, &expected);
            expected.truncate(limit);
            prop_assert_eq!(snapshot.frequent_words(limit).expect("reads"), expected);
        }
    }
}
