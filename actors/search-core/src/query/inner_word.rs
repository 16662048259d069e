//! The piece of a regular expression that says most of one word of whatever matches.
//!
//! Words of the index are folded and cut to their stems; the piece tells capitals apart, and is
//! looked for in markup before a page is freed from it.

use regex_syntax::hir::{Hir, HirKind};

use super::shape;

/// Fewer letters say little.
const MIN_LETTERS: usize = 3;

/// The piece: an expression that matches letters, digits and underscores of ASCII alone (but for
/// `ſ` and the sign of Kelvin, whose capitals or small forms are), somewhere in every match of the
/// whole. None where no piece has three letters.
pub(super) fn inner_word(expression: &Hir) -> Option<String> {
    let mut runs = Runs::default();
    runs.add(expression);
    runs.end_run();
    runs.longest.map(|(_, piece)| piece.to_string())
}

/// Whether an expression matches nothing but what stands in one word.
pub(super) fn is_all(expression: &Hir) -> bool {
    shape::shape_of(expression).is_some()
}

/// The pieces of an expression, one after the other.
#[derive(Default)]
struct Runs {
    /// What has stood in one word so far.
    open: Vec<Hir>,
    /// The piece of most letters, and how many it has at least.
    longest: Option<(usize, Hir)>,
}

impl Runs {
    fn add(&mut self, expression: &Hir) {
        match expression.kind() {
            HirKind::Empty => {}
            HirKind::Concat(list) => list.iter().for_each(|one| self.add(one)),
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Literal(literal) => {
                for &byte in &literal.0 {
                    if byte.is_ascii_alphanumeric() || byte == b'_' {
                        self.open.push(Hir::literal([byte]));
                    } else {
                        self.end_run();
                    }
                }
            }
            _ if shape::shape_of(expression).is_some() => self.open.push(expression.clone()),
            _ => self.end_run(),
        }
    }

    /// Here a word ends, or may.
    fn end_run(&mut self) {
        let piece = Hir::concat(std::mem::take(&mut self.open));
        let letters = piece.properties().minimum_len().unwrap_or_default();
        let longest = self.longest.as_ref().map_or(0, |(longest, _)| *longest);
        if letters >= MIN_LETTERS && letters > longest {
            self.longest = Some((letters, piece));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::query::pattern::TextPattern;

    #[test]
    fn i16_the_piece_is_the_longest_of_one_word() {
        for (expression, text, expected) in [
            (r"fn read_\w+_at\(", "read_", true),
            (r"fn read_\w+_at\(", "fn rea d_at(", false),
            ("oubleEnde[a-z_]*or", "DoubleEndedIterator", false),
            ("oubleEnde[a-z_]*or", "DoubleEnded_or", true),
            ("(?i)oubleEnde[a-z_]*or", "doubleendediterator", true),
            ("(foo|barb)_baz", "xbarb_bazx", true),
            ("(foo|barb)_baz", "bar_baz", false),
            ("(get )?User(Name)", "UserName", true),
        ] {
            let pattern = TextPattern::expression(expression, false).expect(expression);
            let finder = pattern.word_finder().expect(expression);
            assert_eq!(finder.is_in(text), expected, "{expression} in {text}");
        }
        for expression in ["=>", r"ab\w*cd", "foo|x y", r"[A-Z]\w*"] {
            let pattern = TextPattern::expression(expression, false).expect(expression);
            assert!(pattern.word_finder().is_none(), "{expression}");
        }
    }

    proptest! {
        #[test]
        fn i16_every_match_holds_the_piece(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "abc", "a", "B_", "[a-z]*", r"\w+", r"\b", "(abc|d)", "(x y)?", " ", "(?i:abK)", "c{2}", "é", ".", "(a(bc)d)", r"\(", "[0-9]?",
            ]), 1..7),
            text in prop::collection::vec(prop::sample::select(vec![
                "abc", "a", "B_", "d", "x y", " ", "ab\u{212a}", "ABK", "cc", "é", "(", "7", "bcd",
            ]), 0..14),
        ) {
            let Ok(pattern) = TextPattern::expression(&pieces.concat(), false) else { return Ok(()) };
            let Some(piece) = pattern.word_finder() else { return Ok(()) };
            let text = text.concat();
            let finder = pattern.finder().expect("it compiled before");
            for place in finder.places(&text) {
                prop_assert!(piece.is_in(&text[place.clone()]), "{:?} {text:?}", pattern);
                for found in piece.places(&text[place]) {
                    prop_assert!(!found.is_empty());
                }
            }
        }
    }
}
