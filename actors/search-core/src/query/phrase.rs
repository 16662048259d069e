//! Whether words stand one behind the other in a text, in any of their forms.
//!
//! The rarest word, or the one that looks so, is searched for as excerpts do; around each place the
//! words are compared with the phrase, all beginnings at once, a bit each (Shift-And, Baeza-Yates &
//! Gonnet 1992). An identifier in the text counts as itself and as its parts.

use std::ops::{ControlFlow, Range};

use rustc_hash::FxHashMap;

use super::matcher::TermMatcher;
use super::parsed::ParsedQuery;
use super::terms::QueryTerm;
use super::word_edges::{word_before, word_behind, word_edge};
use crate::analysis::{MAX_WORD_BYTES, TermKind, WordAnalyzer, WordTerms, is_stop_word, words};
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
    /// Bytes around that word that may hold the phrase, to each side.
    margin: usize,
    /// The place of the word that is searched for, where it is one word of the phrase alone.
    anchor_place: Option<usize>,
    /// Rules words out before they are analysed.
    matcher: TermMatcher,
    analyzer: WordAnalyzer,
    terms: WordTerms,
    known: FxHashMap<Box<str>, Steps>,
    /// What a word does that is not in the phrase.
    none: Steps,
}

/// What a word of a text does to the places reached.
#[derive(Debug, Default)]
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
        self.phrase_finder_by(phrase, &[])
    }

    /// The same, where it is known how rare the terms of the query are: the rarest of the phrase is
    /// searched for.
    #[must_use]
    pub fn phrase_finder_by(&self, phrase: usize, rarities: &[f32]) -> PhraseFinder {
        let terms = &self.phrases[phrase].terms;
        let rarity = |place: usize| terms.get(place).and_then(|&term| rarities.get(term));
        PhraseFinder::with_rarity(
            terms.iter().map(|&term| self.terms[term].text.as_str()),
            |place| rarity(place).copied().unwrap_or_default(),
        )
    }
}

impl PhraseFinder {
    fn new<'t>(terms: impl Iterator<Item = &'t str>) -> Self {
        Self::with_rarity(terms, |_| 0.0)
    }

    /// `rarity` is that of a place, 0 where it is not known.
    fn with_rarity<'t>(
        terms: impl Iterator<Item = &'t str>,
        rarity: impl Fn(usize) -> f32,
    ) -> Self {
        let terms: Vec<&str> = terms.take(MAX_PHRASE_WORDS).collect();
        let mut places: FxHashMap<String, u64> = FxHashMap::default();
        for (place, term) in terms.iter().enumerate() {
            *places.entry((*term).to_owned()).or_default() |= 1 << place;
        }
        // Long words are rare; the first of them, so that the choice is always the same.
        let weight = |term: &str| if is_stop_word(term) { 0 } else { term.len() };
        let longest = (0..terms.len())
            .rev()
            .max_by_key(|&place| weight(terms[place]));
        let rarest = (0..terms.len())
            .rev()
            .max_by(|&a, &b| rarity(a).total_cmp(&rarity(b)))
            .filter(|&place| rarity(place) > 0.0);
        // Whichever is searched for, what lies around the longest word is looked at.
        let margin = terms.len() * BYTES_PER_WORD;
        let margin = if rarest.is_none_or(|rarest| longest == Some(rarest)) {
            margin
        } else {
            2 * margin + MAX_WORD_BYTES
        };
        let anchor = rarest.or(longest).map(|place| terms[place]);
        let anchor = plain_term(anchor.unwrap_or_default());
        let at = places.get(&anchor.text).copied().unwrap_or_default();
        let looked_for: Vec<QueryTerm> = terms.iter().map(|term| plain_term(term)).collect();
        Self {
            matcher: TermMatcher::new(&looked_for, &[]),
            last: 1 << terms.len().saturating_sub(1),
            length: terms.len(),
            margin,
            anchor_place: (at.count_ones() == 1).then(|| at.trailing_zeros() as usize),
            places,
            anchor: TermFinder::from_terms(
                TermMatcher::new(std::slice::from_ref(&anchor), &[]),
                &[anchor],
            ),
            analyzer: WordAnalyzer::default(),
            terms: WordTerms::default(),
            known: FxHashMap::default(),
            none: Steps::default(),
        }
    }

    /// A finder for the words of a text, in their order.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
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
        let margin = self.margin;
        let mut anchor = std::mem::replace(
            &mut self.anchor,
            TermFinder::from_terms(TermMatcher::default(), &[]),
        );
        let mut found = None;
        let mut pending: Option<Range<usize>> = None;
        anchor.scan(text, |hit| {
            if !self.may_stand_at(text, hit.start..hit.end) {
                return ControlFlow::Continue(());
            }
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

    /// Whether the phrase may stand around a word that is searched for, by the word before and the
    /// one behind alone. Most places of frequent words are ruled out so, without looking at all
    /// words near them.
    fn may_stand_at(&mut self, text: &str, word: Range<usize>) -> bool {
        let Some(place) = self.anchor_place else {
            return true;
        };
        // Parts of an identifier stand beside each other in it.
        let is_plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphabetic());
        let inside = text[word.clone()].bytes().skip(1);
        if !is_plain(&text[word.clone()]) || inside.clone().any(|byte| byte.is_ascii_uppercase()) {
            return true;
        }
        if place + 1 < self.length
            && let Some(next) = word_behind(&text[word.end..])
        {
            let steps = self.steps(next);
            let first = steps.parts.first().copied().unwrap_or_default();
            if (steps.whole | first) >> (place + 1) & 1 == 0 {
                return false;
            }
        }
        if place > 0
            && let Some(before) = word_before(&text[..word.start])
        {
            let steps = self.steps(before);
            let last = steps.parts.last().copied().unwrap_or_default();
            return (steps.whole | last) >> (place - 1) & 1 == 1;
        }
        true
    }

    /// Looks for the phrase among the words of a piece of the text.
    fn find_near(&mut self, text: &str, near: Range<usize>) -> Option<Range<usize>> {
        let start = word_edge(text, near.start);
        let end = text.ceil_char_boundary(near.end.max(start));
        let (length, last) = (self.length, self.last);
        let mut reached = 0_u64;
        let mut starts = [0_usize; MAX_PHRASE_WORDS];
        for word in words(&text[start..end]) {
            let steps = self.steps(word.text);
            let begin = start + word.start;
            let whole = step(reached, steps.whole);
            let mut next = whole;
            let mut is_complete = whole & last != 0;
            let mut inner = reached;
            for (number, places) in steps.parts.iter().enumerate() {
                inner = step(inner, *places);
                is_complete |= inner & last != 0;
                if number + 1 == steps.parts.len() {
                    next |= inner;
                }
            }
            // `starts[n]` is where the attempt began that has reached place n last.
            if is_complete {
                let first = length - 1;
                let begin = if length == 1 {
                    begin
                } else {
                    starts[first.saturating_sub(1)].min(begin)
                };
                return Some(begin..start + word.end());
            }
            for place in (0..length).rev() {
                if next >> place & 1 == 1 {
                    starts[place] = place.checked_sub(1).map_or(begin, |before| starts[before]);
                }
            }
            reached = next;
        }
        None
    }

    fn steps(&mut self, word: &str) -> &Steps {
        if self.matcher.rules_out(word) {
            return &self.none;
        }
        if !self.known.contains_key(word) {
            if self.known.len() >= MAX_KNOWN {
                self.known.clear();
            }
            let steps = self.analysed(word);
            self.known.insert(word.into(), steps);
        }
        &self.known[word]
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

fn plain_term(term: &str) -> QueryTerm {
    QueryTerm {
        text: term.to_owned(),
        count: 1,
    }
}

/// The places reached behind a word that stands at `places`.
fn step(reached: u64, places: u64) -> u64 {
    (reached << 1 | 1) & places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::word_edges::MAX_GAP;
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

    /// Whichever word is searched for, the phrase is found where it was.
    #[test]
    fn i16_the_rarest_word_leads_to_the_same_places() {
        let query = parse(&SearchRequest::for_text("\"pub const sys\"")).expect("parses");
        let rarities = |rarest: &str| -> Vec<f32> {
            let terms = query.terms().iter();
            terms
                .map(|term| if term.text == rarest { 5.0 } else { 1.0 })
                .collect()
        };
        let dashes = "-".repeat(90);
        for text in [
            "pub const SYS_read: c_long = 0;".to_owned(),
            "pub const A: B; pub const sys: C".to_owned(),
            format!("pub /* {dashes} */ const /* {dashes} */ sys"),
            "pub fn const x sys".to_owned(),
            "PubConstSys".to_owned(),
        ] {
            let expected = query.phrase_finder(0).find(&text);
            for rarest in ["pub", "const", "sys"] {
                let found = query.phrase_finder_by(0, &rarities(rarest)).find(&text);
                assert_eq!(found, expected, "{rarest} in {text}");
            }
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

    /// What stands beside the word that is searched for rules places out; never one that counts.
    #[test]
    fn i16_the_words_beside_one_rule_places_out() {
        for (phrase, text, expected) in [
            (
                "is handled here",
                "it is not handled here, is\thandled, here",
                Some("is\thandled, here"),
            ),
            ("don't handle", "they don't handle it", Some("don't handle")),
            ("c++ handler", "a C++ handler", Some("C++ handler")),
            ("handler c#", "the handler C# has", Some("handler C#")),
            ("read handler", "a_read handler", Some("a_read handler")),
            ("handler read", "handler readAll", Some("handler readAll")),
            ("read handler", "read … handler", Some("read … handler")),
            ("read handler", "read ___ handler", Some("read ___ handler")),
            (
                "handle a",
                "handle é a; handle\u{301} a",
                Some("handle\u{301} a"),
            ),
            ("café handled", "Café handled", Some("Café handled")),
        ] {
            let found = finder(phrase).find(text).map(|range| &text[range]);
            assert_eq!(found, expected, "{phrase} in {text}");
        }
        let far = format!("handling{}errors", " ".repeat(90));
        assert!(finder("handling errors").find(&far).is_some());
        let cut = format!("handling {}er", "-".repeat(MAX_GAP - 3));
        assert!(finder("handling er").find(&cut).is_some());
    }

    /// Word after word, without any shortcut.
    fn naive(phrase: &[String], text: &[String]) -> bool {
        text.windows(phrase.len()).any(|window| window == phrase)
    }

    proptest! {
        #[test]
        fn i16_places_that_are_ruled_out_hold_no_phrase(
            phrase in prop::collection::vec("(fox|handled|it's|C\\+\\+|get_user|user)", 2..4),
            text in prop::collection::vec(
                "(fox|handled|it's|C\\+\\+|get_user|user|getUser|é|_|User)[ ,.'\\-(]{1,3}",
                0..40,
            ),
        ) {
            let (mut quick, mut slow) = (finder(&phrase.join(" ")), finder(&phrase.join(" ")));
            slow.anchor_place = None;
            let text = text.concat();
            prop_assert_eq!(quick.find(&text).is_some(), slow.find(&text).is_some());
        }

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
