//! Whether words stand one behind the other in a text, in any of their forms.
//!
//! The rarest-looking word is searched for as excerpts do; around each place the words are compared
//! with the phrase, all beginnings at once, a bit each (Shift-And, Baeza-Yates & Gonnet 1992). An
//! identifier in the text counts as itself and as its parts.

use std::ops::{ControlFlow, Range};

use rustc_hash::FxHashMap;

use super::matcher::TermMatcher;
use super::parsed::ParsedQuery;
use super::terms::QueryTerm;
use crate::analysis::{TermKind, WordAnalyzer, WordTerms, is_stop_word, words};
use crate::snippet::TermFinder;

/// Most words of a phrase, parts of identifiers included.
pub const MAX_PHRASE_WORDS: usize = 64;

/// Bytes around a word that may hold the phrase, for each word of it: words and what parts them.
const BYTES_PER_WORD: usize = 48;

/// Forms of words that are remembered before the memory is emptied.
const MAX_KNOWN: usize = 8192;

/// Finds one phrase in texts. Keeps what it learnt about words: use one for many texts.
#[derive(Debug)]
pub struct PhraseFinder {
    /// By term: the places of the phrase it stands at, a bit each.
    places: FxHashMap<String, u64>,
    /// The last place.
    last: u64,
    length: usize,
    anchor: TermFinder,
    /// Rules words out before they are analysed.
    matcher: TermMatcher,
    analyzer: WordAnalyzer,
    terms: WordTerms,
    known: FxHashMap<Box<str>, Steps>,
}

/// What a word of a text does to the places reached.
#[derive(Debug, Clone, Default)]
struct Steps {
    /// The places of the word as a whole.
    whole: u64,
    /// The places of each part of an identifier.
    parts: Box<[u64]>,
}

impl ParsedQuery {
    /// Finds a phrase in texts.
    #[must_use]
    pub fn phrase_finder(&self, phrase: usize) -> PhraseFinder {
        let terms = self.phrases[phrase].terms.iter();
        PhraseFinder::new(terms.map(|&term| self.terms[term].text.as_str()))
    }
}

impl PhraseFinder {
    pub(super) fn new<'t>(terms: impl Iterator<Item = &'t str>) -> Self {
        let terms: Vec<&str> = terms.take(MAX_PHRASE_WORDS).collect();
        let mut places: FxHashMap<String, u64> = FxHashMap::default();
        for (place, term) in terms.iter().enumerate() {
            *places.entry((*term).to_owned()).or_default() |= 1 << place;
        }
        // Long words are rare; the first of them, so that the choice is always the same.
        let weight = |term: &str| if is_stop_word(term) { 0 } else { term.len() };
        let anchor = terms.iter().rev().max_by_key(|term| weight(term));
        let anchor = looked_for(anchor.copied().unwrap_or_default());
        let looked_for: Vec<QueryTerm> = terms.iter().map(|term| looked_for(term)).collect();
        Self {
            matcher: TermMatcher::new(&looked_for, &[]),
            last: 1 << terms.len().saturating_sub(1),
            length: terms.len(),
            places,
            anchor: TermFinder::of_terms(
                TermMatcher::new(std::slice::from_ref(&anchor), &[]),
                &[anchor],
            ),
            analyzer: WordAnalyzer::default(),
            terms: WordTerms::default(),
            known: FxHashMap::default(),
        }
    }

    /// A finder for the words of a text, in their order.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let (analyzer, mut buffer) = (WordAnalyzer::default(), WordTerms::default());
        let mut terms: Vec<String> = Vec::new();
        for word in words(text) {
            analyzer.analyze(word.text, &mut buffer);
            let wanted = if buffer.iter().any(|(_, kind)| kind == TermKind::Part) {
                TermKind::Part
            } else {
                TermKind::Whole
            };
            let found = buffer.iter().filter(|(_, kind)| *kind == wanted);
            terms.extend(found.map(|(term, _)| term.to_owned()));
        }
        Self::new(terms.iter().map(String::as_str))
    }

    /// Whether the phrase stands in `text`.
    pub fn is_in(&mut self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// The first place of the phrase: from its first byte to behind its last word.
    pub fn find(&mut self, text: &str) -> Option<Range<usize>> {
        if self.length == 0 {
            return None;
        }
        let margin = self.length * BYTES_PER_WORD;
        let mut anchor = std::mem::replace(
            &mut self.anchor,
            TermFinder::of_terms(TermMatcher::default(), &[]),
        );
        let mut found = None;
        let mut pending: Option<Range<usize>> = None;
        anchor.scan(text, |hit| {
            let near = hit.start.saturating_sub(margin)..(hit.end + margin).min(text.len());
            match &mut pending {
                // Places close together are looked at once.
                Some(open) if near.start <= open.end => open.end = near.end,
                open => {
                    let former = open.replace(near);
                    found = former.and_then(|former| self.find_near(text, former));
                }
            }
            if found.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        self.anchor = anchor;
        found.or_else(|| pending.and_then(|open| self.find_near(text, open)))
    }

    /// Looks for the phrase among the words of a piece of the text.
    fn find_near(&mut self, text: &str, near: Range<usize>) -> Option<Range<usize>> {
        let start = word_edge(text, near.start);
        let end = text.ceil_char_boundary(near.end.max(start));
        let mut reached = 0_u64;
        let mut starts = [0_usize; MAX_PHRASE_WORDS];
        for word in words(&text[start..end]) {
            let steps = self.steps(word.text);
            let begin = start + word.start;
            let whole = step(reached, steps.whole);
            let mut next = whole;
            let mut is_complete = whole & self.last != 0;
            let mut inner = reached;
            for (number, places) in steps.parts.iter().enumerate() {
                inner = step(inner, *places);
                is_complete |= inner & self.last != 0;
                if number + 1 == steps.parts.len() {
                    next |= inner;
                }
            }
            // `starts[n]` is where the attempt began that has reached place n last.
            if is_complete {
                let first = self.length - 1;
                let begin = if self.length == 1 {
                    begin
                } else {
                    starts[first.saturating_sub(1)].min(begin)
                };
                return Some(begin..start + word.end());
            }
            for place in (0..self.length).rev() {
                if next >> place & 1 == 1 {
                    starts[place] = place.checked_sub(1).map_or(begin, |before| starts[before]);
                }
            }
            reached = next;
        }
        None
    }

    fn steps(&mut self, word: &str) -> Steps {
        if self.matcher.rules_out(word) {
            return Steps::default();
        }
        if !self.known.contains_key(word) {
            if self.known.len() >= MAX_KNOWN {
                self.known.clear();
            }
            let steps = self.analysed(word);
            self.known.insert(word.into(), steps);
        }
        self.known[word].clone()
    }

    fn analysed(&mut self, word: &str) -> Steps {
        self.analyzer.analyze(word, &mut self.terms);
        let places = |term: &str| self.places.get(term).copied().unwrap_or_default();
        let mut steps = Steps::default();
        let mut parts = Vec::new();
        for (term, kind) in self.terms.iter() {
            match kind {
                TermKind::Whole => steps.whole = places(term),
                TermKind::Part => parts.push(places(term)),
                TermKind::Exact => {}
            }
        }
        steps.parts = parts.into();
        steps
    }
}

fn looked_for(term: &str) -> QueryTerm {
    QueryTerm {
        text: term.to_owned(),
        count: 1,
    }
}

/// The places reached behind a word that stands at `places`.
fn step(reached: u64, places: u64) -> u64 {
    (reached << 1 | 1) & places
}

/// The end of the word that `at` may have cut.
fn word_edge(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    if at == 0 {
        return 0;
    }
    let gap = text[at..].find(|character: char| !character.is_alphanumeric() && character != '_');
    at + gap.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::query::{SearchRequest, parse};

    fn finder(phrase: &str) -> PhraseFinder {
        let query = parse(&SearchRequest::for_text(format!("\"{phrase}\""))).expect("parses");
        query.phrase_finder(0)
    }

    #[test]
    fn words_have_to_stand_one_behind_the_other() {
        for (phrase, text, expected) in [
            (
                "error handling",
                "Notes on error handling.",
                Some("error handling"),
            ),
            ("error handling", "handling of an error", None),
            ("error handling", "error, handling", Some("error, handling")),
            (
                "error handling",
                "ERRORS\n  handled here",
                Some("ERRORS\n  handled"),
            ),
            ("the state of the art", "a state of the art", None),
            (
                "the state of the art",
                "x the State of the Art y",
                Some("the State of the Art"),
            ),
            (
                "user name",
                "get_user_name() and userName",
                Some("get_user_name"),
            ),
            ("get user", "getUserName", Some("getUserName")),
            (
                "getUserName now",
                "get user name now",
                Some("get user name now"),
            ),
            (
                "spinlock held",
                "a spinlock is held; spinlock held",
                Some("spinlock held"),
            ),
            ("a b a c", "a b a b a c", Some("a b a c")),
            ("naïve café", "un Naive cafe", Some("Naive cafe")),
        ] {
            let found = finder(phrase).find(text).map(|range| &text[range]);
            assert_eq!(found, expected, "{phrase} in {text}");
        }
    }

    #[test]
    fn a_phrase_far_into_a_text_is_found() {
        let text = format!("{}error handling", "error of handling it ".repeat(5_000));
        assert_eq!(
            finder("error handling").find(&text),
            Some(text.len() - 14..text.len())
        );
    }

    /// Word after word, without any shortcut.
    fn naive(phrase: &[String], text: &[String]) -> bool {
        text.windows(phrase.len()).any(|window| window == phrase)
    }

    proptest! {
        #[test]
        fn it_finds_what_a_slow_search_finds(
            phrase in prop::collection::vec("(red|fox|dog|tree)", 2..4),
            text in prop::collection::vec("(red|fox|dog|tree|sky)", 0..40),
        ) {
            let found = finder(&phrase.join(" ")).is_in(&text.join(" "));
            prop_assert_eq!(found, naive(&phrase, &text));
        }
    }
}
