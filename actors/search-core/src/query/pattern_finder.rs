//! Finding an expression in texts, a stretch at a time, so that whoever looks can stop.

use std::ops::Range;

use regex_automata::Input;
use regex_automata::meta::{BuildError, Config, Regex};
use regex_syntax::hir::Hir;

use super::reach::MatchReach;

/// Bytes that are looked through before anybody asks whether to go on.
const STRETCH_BYTES: usize = 64 * 1024;

/// Finds one pattern in texts.
#[derive(Debug, Clone)]
pub struct PatternFinder {
    regex: Regex,
    reach: MatchReach,
}

/// A part of a text: all matches that begin before `next` end before `end`.
struct MatchWindow {
    next: usize,
    end: usize,
}

impl PatternFinder {
    /// Compiles an expression, which takes at most so much memory.
    pub(super) fn new(expression: &Hir, most_bytes: usize) -> Result<Self, Box<BuildError>> {
        let config = Config::new()
            .nfa_size_limit(Some(most_bytes))
            .hybrid_cache_capacity(2 * most_bytes);
        let regex = Regex::builder()
            .configure(config)
            .build_from_hir(expression)
            .map_err(Box::new)?;
        Ok(Self {
            regex,
            reach: MatchReach::from_expression(expression),
        })
    }

    /// Whether it stands in `text`.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.is_in_while(text, &mut || true) == Some(true)
    }

    /// Whether it stands in `text`. Between two stretches of it `goes_on` is asked; none where that
    /// said no before all of it was looked through. Where matches may hold any number of lines, or
    /// a line is of any length, that is one stretch.
    pub fn is_in_while(&self, text: &str, goes_on: &mut dyn FnMut() -> bool) -> Option<bool> {
        let mut at = 0;
        loop {
            let MatchWindow { next, end } = self.window_at(text, at);
            if self.regex.is_match(Input::new(text).range(at..end)) {
                return Some(true);
            }
            if end == text.len() {
                return Some(false);
            }
            if !goes_on() {
                return None;
            }
            at = next;
        }
    }

    /// The first `most` places where it stands, in bytes, ascending, and whether all of the text
    /// was looked through for them: `goes_on` is asked behind each stretch and each place.
    pub fn places_while(
        &self,
        text: &str,
        most: usize,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> (Vec<Range<usize>>, bool) {
        let mut places = Vec::new();
        let mut at = 0;
        let mut stretch = self.window_at(text, at);
        while places.len() < most {
            let found = self.regex.find(Input::new(text).range(at..stretch.end));
            let is_last = stretch.end == text.len();
            match found.filter(|found| is_last || found.start() < stretch.next) {
                Some(found) => {
                    places.push(found.range());
                    at = found.end();
                }
                None if is_last => break,
                None => at = stretch.next,
            }
            if at >= stretch.next && !is_last {
                stretch = self.window_at(text, at);
            }
            if places.len() < most && !goes_on() {
                return (places, false);
            }
        }
        (places, true)
    }

    /// The places where it stands, in bytes, ascending.
    pub fn places<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        self.regex.find_iter(text).map(|found| found.range())
    }

    /// The stretch of a text that begins at a byte.
    fn window_at(&self, text: &str, from: usize) -> MatchWindow {
        let next = text.ceil_char_boundary(from.saturating_add(STRETCH_BYTES));
        match self.reach {
            MatchReach::Bytes(most) => MatchWindow {
                next,
                end: text.ceil_char_boundary(next.saturating_add(most)),
            },
            MatchReach::Line => {
                let rest = &text.as_bytes()[next..];
                let line = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
                MatchWindow {
                    next: next + line,
                    end: next + line,
                }
            }
            MatchReach::Lines => MatchWindow {
                next: text.len(),
                end: text.len(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::STRETCH_BYTES;
    use crate::query::pattern::TextPattern;

    fn finder(expression: &str) -> super::PatternFinder {
        let pattern = TextPattern::expression(expression, false).expect(expression);
        pattern.finder().expect("it compiled before")
    }

    /// Lines of so many bytes in all.
    fn lines(bytes: usize) -> String {
        "some words of a line\n".repeat(bytes / 21)
    }

    #[test]
    fn i16_a_costly_expression_ends_where_nobody_goes_on() {
        let text = lines(6 * STRETCH_BYTES);
        for expression in [
            r"[ -~\n]{300}[\x01-\x08]",
            r"(?-u:\w){30}",
            r"[a-z ]+[\x01-\x08]",
            "(?-u:[ -~]){0,250}\u{1}",
        ] {
            let finder = finder(expression);
            for most in [1, 3] {
                let mut asked = 0;
                let mut goes_on = || {
                    asked += 1;
                    asked < most
                };
                assert_eq!(finder.is_in_while(&text, &mut goes_on), None);
                assert_eq!(asked, most, "{expression}");
                let mut asked = 0;
                let mut goes_on = || {
                    asked += 1;
                    asked < most
                };
                let found = finder.places_while(&text, 9, &mut goes_on);
                assert_eq!((found, asked), ((Vec::new(), false), most), "{expression}");
            }
            let mut stretches = 1;
            let mut goes_on = || {
                stretches += 1;
                true
            };
            assert_eq!(finder.is_in_while(&text, &mut goes_on), Some(false));
            assert!((5..=7).contains(&stretches), "{expression}: {stretches}");
        }
    }

    #[test]
    fn i16_what_stands_over_the_end_of_a_stretch_is_found() {
        for at in (STRETCH_BYTES - 20..STRETCH_BYTES + 5).step_by(3) {
            let text = "é\n".repeat(at / 3) + "begin of\nthe end" + &lines(3 * STRETCH_BYTES);
            for expression in [
                r"begin of\nthe end",
                "^begin of$",
                r"\bbegin.*$",
                r"begin\s+of\s+the",
                r"(?s)gin.{0,5}the e",
            ] {
                let finder = finder(expression);
                assert!(finder.is_in(&text), "{expression} at {at}");
                let all: Vec<_> = finder.places(&text).collect();
                assert_eq!(all.len(), 1, "{expression} at {at}");
                let found = finder.places_while(&text, usize::MAX, &mut || true);
                assert_eq!(found, (all, true), "{expression} at {at}");
            }
            for expression in [r"begin\b\w", "of$the", r"\Athe end", r"begin of\z"] {
                assert!(!finder(expression).is_in(&text), "{expression} at {at}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// A text that is looked through in stretches has the places that it has as a whole.
        #[test]
        fn i16_stretches_find_what_the_whole_holds(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "ab", "b", r"\b", r"\s", "^", "$", ".{0,9}", ".*", "[a-z]{2,5}", "(?s:.){1,40}", "é", "[^a]", r"\w+", "(b|ba)",
            ]), 1..5),
            before in STRETCH_BYTES - 60..STRETCH_BYTES + 10,
            text in prop::collection::vec(prop::sample::select(vec!["ab", "b", " ", "\n", "é", "ba", "zz"]), 0..60),
        ) {
            let Ok(pattern) = TextPattern::expression(&pieces.concat(), false) else { return Ok(()) };
            let finder = pattern.finder().expect("it compiled before");
            let text = "-\n".repeat(before / 2) + &text.concat() + &"-\n".repeat(STRETCH_BYTES / 2);
            let all: Vec<_> = finder.places(&text).collect();
            prop_assert_eq!(finder.is_in(&text), !all.is_empty());
            prop_assert_eq!(finder.places_while(&text, usize::MAX, &mut || true), (all, true));
        }
    }
}
