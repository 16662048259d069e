//! Finding a query's words in a text.

use std::cell::RefCell;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::terms::{Prefix, QueryTerm};
use crate::analysis::{MAX_WORD_BYTES, WordAnalyzer, WordTerms, fold, identifier_parts};

thread_local! {
    /// Analyser and buffers of this thread.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

#[derive(Default)]
struct Scratch {
    analyzer: WordAnalyzer,
    terms: WordTerms,
    parts: Vec<Range<usize>>,
    folded: String,
}

/// Terms of at least this length share the first [`START`] letters with all their words;
/// shorter ones may share the first alone (`die`, `dying`).
const LONG: usize = 5;

/// Letters that are compared before a word is stemmed.
const START: usize = 4;

/// Tells whether a raw word of a text matches a query, by the analysis of the index.
#[derive(Debug, Clone, Default)]
pub struct TermMatcher {
    terms: FxHashMap<String, usize>,
    /// First bytes of the terms: a plain word that starts otherwise cannot match, because folding
    /// and stemming keep its first letters. Stemming is what costs, so this comes first.
    starts: Vec<Box<[u8]>>,
    /// Beginnings that any word may go on from, and their numbers behind those of the terms.
    prefixes: Vec<(String, usize)>,
}

impl TermMatcher {
    pub(super) fn new(terms: &[QueryTerm], prefixes: &[Prefix]) -> Self {
        let prefixes = prefixes.iter().zip(terms.len()..);
        let prefixes = prefixes.filter(|(prefix, _)| prefix.scores);
        let looked_for = |(_, term): &(usize, &QueryTerm)| term.count > 0;
        let numbered = || terms.iter().enumerate().filter(looked_for);
        let mut starts: Vec<Box<[u8]>> = numbered().map(|(_, term)| start(&term.text)).collect();
        starts.sort_unstable();
        starts.dedup();
        Self {
            terms: numbered()
                .map(|(index, term)| (term.text.clone(), index))
                .collect(),
            starts,
            prefixes: prefixes
                .map(|(prefix, number)| (prefix.folded.clone(), number))
                .collect(),
        }
    }

    /// The index in [`ParsedQuery::terms`](super::ParsedQuery::terms) of a term that `word` (the
    /// text of an [`analysis::Word`](crate::analysis::Word)) holds: the whole word first, then the
    /// parts of an identifier. Beginnings have the numbers behind those of the terms. `None` when
    /// the word is not looked for.
    #[must_use]
    pub fn matches(&self, word: &str) -> Option<usize> {
        let term = self.matches_term(word);
        term.or_else(|| self.matches_prefix(word))
    }

    /// The number of a beginning that the word or a part of it goes on from.
    fn matches_prefix(&self, word: &str) -> Option<usize> {
        if self.prefixes.is_empty() {
            return None;
        }
        let begins = |word: &str| {
            let word = folded(word);
            let mut prefixes = self.prefixes.iter();
            let found = prefixes.find(|(prefix, _)| word.starts_with(prefix.as_str()));
            found.map(|(_, number)| *number)
        };
        begins(word).or_else(|| {
            let mut parts = Vec::new();
            identifier_parts(word, &mut parts);
            parts.into_iter().find_map(|part| begins(&word[part]))
        })
    }

    fn matches_term(&self, word: &str) -> Option<usize> {
        if is_plain(word) {
            return self
                .may_match(word)
                .then(|| SCRATCH.with_borrow_mut(|scratch| self.analysed(word, scratch)))
                .flatten();
        }
        SCRATCH.with_borrow_mut(|scratch| {
            if word.is_ascii() {
                self.identifier(word, scratch)
            } else {
                self.analysed(word, scratch)
            }
        })
    }

    /// An ASCII word that may be an identifier: only parts that begin like a term are stemmed.
    fn identifier(&self, word: &str, scratch: &mut Scratch) -> Option<usize> {
        identifier_parts(word, &mut scratch.parts);
        if scratch.parts.is_empty() {
            return self.analysed(word, scratch);
        }
        scratch.folded.clear();
        fold(word, &mut scratch.folded);
        if scratch.folded.len() > MAX_WORD_BYTES {
            return None;
        }
        if let Some(&index) = self.terms.get(&scratch.folded) {
            return Some(index);
        }
        let parts = scratch.parts.iter().map(|part| &word[part.clone()]);
        let mut candidates = parts.filter(|part| self.may_match(part));
        candidates.find_map(|part| self.terms.get(&scratch.analyzer.term(part)).copied())
    }

    /// Any word, by its full analysis.
    fn analysed(&self, word: &str, scratch: &mut Scratch) -> Option<usize> {
        scratch.analyzer.analyze(word, &mut scratch.terms);
        scratch
            .terms
            .iter()
            .find_map(|(term, _)| self.terms.get(term).copied())
    }

    /// Whether a word cannot be one of the terms, nor a part of it, by their first letters.
    pub(super) fn rules_out(&self, word: &str) -> bool {
        if !word.is_ascii() || self.may_match(word) {
            return false;
        }
        is_plain(word)
            || SCRATCH.with_borrow_mut(|scratch| {
                identifier_parts(word, &mut scratch.parts);
                let mut parts = scratch.parts.iter();
                !parts.any(|part| self.may_match(&word[part.clone()]))
            })
    }

    /// Number of distinct terms and beginnings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.len() + self.prefixes.len()
    }

    /// Whether nothing can match.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a plain ASCII word starts like one of the terms.
    fn may_match(&self, word: &str) -> bool {
        let word = word.as_bytes();
        let starts_with = |start: &[u8]| {
            word.get(..start.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(start))
        };
        self.starts.iter().any(|start| starts_with(start))
    }
}

/// What the words of a term start with.
fn start(term: &str) -> Box<[u8]> {
    let length = if !term.is_ascii() {
        0
    } else if term.len() < LONG {
        1
    } else {
        START
    };
    term.as_bytes()[..length.min(term.len())].into()
}

/// Whether an ASCII word is a word of letters, not an identifier.
fn is_plain(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.split_first().is_some_and(|(head, rest)| {
        head.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase)
    })
}

/// The folded form of a word, for comparisons.
pub(super) fn folded(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    fold(word, &mut folded);
    folded
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
    fn beginnings_match_words_and_parts() {
        assert_eq!(
            matched("mem* -pag*", "Memory of kmem_memo pages; remember"),
            ["Memory", "kmem_memo"]
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
        /// The quick ways are the slow one.
        #[test]
        fn words_match_as_their_analysis_says(query in "([a-zA-Z_0-9é]{1,12} ){1,4}", text in "([a-zA-Z_0-9é]{1,20} ){0,12}", ending in "(s|es|ing|ed|ation|ly|ies|y)?") {
            // Letters may be `OR` by chance, which is no query.
            let query = parse(&SearchRequest::for_text(query));
            prop_assume!(query.is_ok());
            let query = query.expect("assumed");
            let matcher = query.matcher();
            let varied: Vec<String> = query.words().iter().map(|word| format!("{}{ending}", word.surface)).collect();
            for word in words(&format!("{text} {} {}", varied.join(" "), varied.join("_"))) {
                let mut scratch = super::Scratch::default();
                prop_assert_eq!(matcher.matches(word.text), matcher.analysed(word.text, &mut scratch), "{}", word.text);
            }
        }

        #[test]
        fn a_word_matches_itself(word in "[a-zA-Z0-9_éÀß漢]{1,16}") {
            prop_assume!(word.chars().any(char::is_alphanumeric));
            prop_assume!(parse(&SearchRequest::for_text(&word)).is_ok());
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
