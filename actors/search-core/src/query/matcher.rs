//! Finding a query's words in a text.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::QueryTerm;
use crate::analysis::{WordAnalyzer, WordTerms, fold};

thread_local! {
    /// Analyser and buffers of this thread.
    static SCRATCH: RefCell<(WordAnalyzer, WordTerms, String)> = RefCell::default();
}

/// Tells whether a raw word of a text matches a query, by the analysis of the index.
#[derive(Debug, Clone, Default)]
pub struct TermMatcher {
    terms: FxHashMap<String, usize>,
    /// First bytes of the terms: a plain word that starts otherwise cannot match, because folding
    /// and stemming keep its first letter.
    first: Vec<u8>,
}

impl TermMatcher {
    pub(super) fn new(terms: &[QueryTerm]) -> Self {
        let numbered = terms.iter().enumerate();
        let mut first: Vec<u8> = terms
            .iter()
            .filter_map(|term| term.text.bytes().next())
            .collect();
        first.sort_unstable();
        first.dedup();
        Self {
            terms: numbered
                .map(|(index, term)| (term.text.clone(), index))
                .collect(),
            first,
        }
    }

    /// The index in [`ParsedQuery::terms`](super::ParsedQuery::terms) of a term that `word` (the
    /// text of an [`analysis::Word`](crate::analysis::Word)) holds: the whole word first, then the
    /// parts of an identifier. `None` when the word is not looked for.
    #[must_use]
    pub fn matches(&self, word: &str) -> Option<usize> {
        if self.is_ruled_out(word) {
            return None;
        }
        SCRATCH.with_borrow_mut(|(analyzer, terms, _)| {
            analyzer.analyze(word, terms);
            terms
                .iter()
                .find_map(|(term, _)| self.terms.get(term).copied())
        })
    }

    /// Number of distinct terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether nothing can match.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a plain ASCII word starts with a letter that no term starts with.
    fn is_ruled_out(&self, word: &str) -> bool {
        let bytes = word.as_bytes();
        let Some((&head, rest)) = bytes.split_first() else {
            return true;
        };
        let plain = head.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase);
        plain && !self.first.contains(&head.to_ascii_lowercase())
    }
}

/// The folded form of a word, for comparisons.
pub(super) fn folded(word: &str) -> String {
    SCRATCH.with_borrow_mut(|(_, _, buffer)| {
        buffer.clear();
        fold(word, buffer);
        buffer.clone()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::analysis::{is_stop_word, words};
    use crate::query::{SearchRequest, parse};

    fn matched(query: &str, text: &str) -> Vec<String> {
        let query = parse(&SearchRequest::for_text(query)).expect("a short query parses");
        let matcher = query.matcher();
        let found = words(text).filter(|word| matcher.matches(word.text).is_some());
        found.map(|word| word.text.to_owned()).collect()
    }

    #[test]
    fn other_forms_of_a_word_match_and_stop_words_do_not() {
        assert_eq!(
            matched(
                "how to allocate the memory",
                "The page allocates MEMORY; how?"
            ),
            ["allocates", "MEMORY"]
        );
    }

    #[test]
    fn identifiers_match_by_their_parts_and_as_a_whole() {
        assert_eq!(
            matched("cache", "kmem_cache_alloc getCacheSize x"),
            ["kmem_cache_alloc", "getCacheSize"]
        );
        assert_eq!(
            matched("getUserName", "user names, GETUSERNAME"),
            ["user", "names", "GETUSERNAME"]
        );
    }

    proptest! {
        #[test]
        fn a_word_matches_itself(word in "[a-zA-Z0-9_éÀß漢]{1,16}") {
            prop_assume!(word.chars().any(char::is_alphanumeric));
            let text = format!("x {word}");
            let mut expected: Vec<String> = words(&word).map(|word| word.text.to_owned()).collect();
            expected.retain(|word| !is_stop_word(&super::folded(word)));
            let found = matched(&word, &text);
            for word in expected {
                prop_assert!(found.contains(&word), "{word} not in {found:?}");
            }
        }
    }
}
