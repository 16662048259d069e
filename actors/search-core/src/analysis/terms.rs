//! From one raw word to its terms.

use std::borrow::Cow;
use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};

use super::fold::fold;
use super::identifier;

/// Words longer than this after folding are encoded data, not language: they give no terms.
pub const MAX_WORD_BYTES: usize = 96;

/// What a term is to its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// The word itself: the stem of a plain word, the folded form of an identifier.
    Whole,
    /// The stem of a part of an identifier, at the same position as the whole.
    Part,
    /// The folded form of a plain word, where its stem differs.
    Exact,
}

/// The terms of one word; a buffer to be used again.
#[derive(Debug, Clone, Default)]
pub struct WordTerms {
    text: String,
    spans: Vec<(Range<usize>, TermKind)>,
    parts: Vec<Range<usize>>,
}

impl WordTerms {
    /// The terms, the whole word first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, TermKind)> {
        self.spans
            .iter()
            .map(|(span, kind)| (&self.text[span.clone()], *kind))
    }

    /// Whether the word gave no term.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The folded word, stem or not.
    #[must_use]
    pub fn folded(&self) -> &str {
        let exact = self.iter().find(|(_, kind)| *kind == TermKind::Exact);
        exact
            .or_else(|| self.iter().next())
            .map_or("", |(text, _)| text)
    }

    fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    fn push(&mut self, term: &str, kind: TermKind) {
        let start = self.text.len();
        self.text.push_str(term);
        self.spans.push((start..self.text.len(), kind));
    }
}

/// Gives the terms of raw words. Keeps no state between words.
pub struct WordAnalyzer {
    stemmer: Stemmer,
}

impl Default for WordAnalyzer {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
        }
    }
}

impl std::fmt::Debug for WordAnalyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WordAnalyzer")
    }
}

impl WordAnalyzer {
    /// The terms of `word` (a [`Word`](super::Word)'s text) into `terms`, replacing what is there.
    pub fn analyze(&self, word: &str, terms: &mut WordTerms) {
        terms.clear();
        let mut folded = String::with_capacity(word.len());
        fold(word, &mut folded);
        if folded.is_empty() || folded.len() > MAX_WORD_BYTES {
            return;
        }
        let mut parts = std::mem::take(&mut terms.parts);
        identifier::push_parts(word, &mut parts);
        if parts.is_empty() {
            let stem = self.stem(&folded);
            terms.push(&stem, TermKind::Whole);
            if stem != folded {
                terms.push(&folded, TermKind::Exact);
            }
        } else {
            terms.push(&folded, TermKind::Whole);
            for part in &parts {
                terms.push(&self.whole_term(&word[part.clone()]), TermKind::Part);
            }
        }
        terms.parts = parts;
    }

    /// The term of a part of an identifier: the one it has as a word by itself.
    pub(crate) fn term(&self, part: &str) -> String {
        self.whole_term(part)
    }

    /// The term of a word as a whole. A part of an identifier has the term it has as a word by
    /// itself.
    fn whole_term(&self, word: &str) -> String {
        let mut folded = String::with_capacity(word.len());
        fold(word, &mut folded);
        let mut parts = Vec::new();
        identifier::push_parts(word, &mut parts);
        match self.stem(&folded) {
            Cow::Owned(stem) if parts.is_empty() => stem,
            _ => folded,
        }
    }

    /// The stem of a folded word; only words of the basic alphabet have one.
    fn stem<'w>(&self, folded: &'w str) -> Cow<'w, str> {
        if folded.len() > 2 && folded.bytes().all(|byte| byte.is_ascii_lowercase()) {
            self.stemmer.stem(folded)
        } else {
            folded.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_WORD_BYTES, TermKind, WordAnalyzer, WordTerms};
    use crate::analysis::identifier_parts;

    fn terms(word: &str) -> Vec<(String, TermKind)> {
        let mut terms = WordTerms::default();
        WordAnalyzer::default().analyze(word, &mut terms);
        terms
            .iter()
            .map(|(text, kind)| (text.to_owned(), kind))
            .collect()
    }

    fn expect(word: &str, expected: &[(&str, TermKind)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(text, kind)| ((*text).to_owned(), *kind))
            .collect();
        assert_eq!(terms(word), expected, "{word}");
    }

    #[test]
    fn a_plain_word_gives_its_stem_and_its_exact_form() {
        expect(
            "Wings",
            &[("wing", TermKind::Whole), ("wings", TermKind::Exact)],
        );
        expect("wing", &[("wing", TermKind::Whole)]);
        expect(
            "Cafés",
            &[("cafe", TermKind::Whole), ("cafes", TermKind::Exact)],
        );
    }

    #[test]
    fn an_identifier_gives_itself_and_the_stems_of_its_parts() {
        expect(
            "getUserNames",
            &[
                ("getusernames", TermKind::Whole),
                ("get", TermKind::Part),
                ("user", TermKind::Part),
                ("name", TermKind::Part),
            ],
        );
    }

    #[test]
    fn encoded_data_gives_nothing() {
        assert!(terms(&"A1b2".repeat(MAX_WORD_BYTES / 4 + 1)).is_empty());
    }

    proptest! {
        #[test]
        fn every_word_has_one_whole_term_first(word in "[a-zA-Z0-9_éÉß漢]{1,24}") {
            prop_assume!(word.chars().any(char::is_alphanumeric));
            let terms = terms(&word);
            prop_assert!(terms.iter().all(|(text, _)| !text.is_empty()));
            let wholes = terms.iter().filter(|(_, kind)| *kind == TermKind::Whole).count();
            prop_assert_eq!(wholes, 1);
            prop_assert_eq!(terms[0].1, TermKind::Whole);
        }

        #[test]
        fn a_part_has_the_term_it_has_by_itself(word in "[a-zA-Z0-9_]{1,24}") {
            let mut parts = Vec::new();
            identifier_parts(&word, &mut parts);
            let parts: Vec<String> = parts.into_iter().map(|part| terms(&word[part])[0].0.clone()).collect();
            let found = terms(&word).into_iter().filter(|(_, kind)| *kind == TermKind::Part);
            prop_assert_eq!(found.map(|(text, _)| text).collect::<Vec<_>>(), parts);
        }

        #[test]
        fn case_makes_no_difference_to_plain_words(word in "[a-z]{1,16}") {
            let upper = word.to_uppercase();
            let capital: String = upper[..1].to_owned() + &word[1..];
            prop_assert_eq!(terms(&word), terms(&upper));
            prop_assert_eq!(terms(&word), terms(&capital));
        }
    }
}
