//! The parts of an identifier: camelCase, snake_case, letters next to digits.

use std::ops::Range;

/// A run of letters and digits that changes between the two more often than this is a number in
/// another base or a hash, not a name.
const MAX_DIGIT_CHANGES: usize = 4;

/// Identifiers of more parts than this are not taken apart.
const MAX_PARTS: usize = 24;

/// The byte ranges of the parts of `word`; empty when the word is simple (has one part which is
/// the whole word). Single letters are no parts.
pub fn parts(word: &str, out: &mut Vec<Range<usize>>) {
    out.clear();
    if is_simple(word) {
        return;
    }
    for piece in pieces(word) {
        split_piece(word, piece, out);
    }
    if out.len() > MAX_PARTS || (out.len() == 1 && out[0] == (0..word.len())) {
        out.clear();
    }
    out.retain(|part| !is_letter(&word[part.clone()]));
}

/// Plain words, the common case: letters of one case, perhaps with a capital in front, or a number.
fn is_simple(word: &str) -> bool {
    let bytes = word.as_bytes();
    let rest = bytes.get(1..).unwrap_or_default();
    rest.iter().all(u8::is_ascii_lowercase) && !bytes[0].is_ascii_digit() && bytes[0] != b'_'
        || bytes.iter().all(u8::is_ascii_uppercase)
        || bytes.iter().all(u8::is_ascii_digit)
}

fn is_letter(part: &str) -> bool {
    let mut chars = part.chars();
    matches!((chars.next(), chars.next()), (Some(c), None) if c.is_alphabetic())
}

/// The ranges between underscores.
fn pieces(word: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let base = word.as_ptr() as usize;
    word.split('_')
        .filter(|piece| !piece.is_empty())
        .map(move |piece| {
            let start = piece.as_ptr() as usize - base;
            start..start + piece.len()
        })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Upper,
    Lower,
    Digit,
    Other,
}

fn sort_of(c: char) -> Sort {
    if c.is_numeric() {
        Sort::Digit
    } else if c.is_uppercase() {
        Sort::Upper
    } else if c.is_lowercase() {
        Sort::Lower
    } else {
        Sort::Other
    }
}

/// Cuts a piece where a capital follows a small letter, before the last capital of a run that a
/// small letter follows (`HTTPServer`), and between letters and digits.
fn split_piece(word: &str, piece: Range<usize>, out: &mut Vec<Range<usize>>) {
    let with_digits = splits_digits(&word[piece.clone()]);
    let mut start = piece.start;
    let mut before: Option<(usize, Sort)> = None;
    let mut before_that = Sort::Other;
    for (offset, c) in word[piece.clone()].char_indices() {
        let at = piece.start + offset;
        let sort = sort_of(c);
        if let Some((last_at, last)) = before {
            let cut = match (last, sort) {
                (Sort::Lower, Sort::Upper) => Some(at),
                (Sort::Upper, Sort::Lower) if before_that == Sort::Upper => Some(last_at),
                (Sort::Digit, Sort::Digit) => None,
                (Sort::Digit, _) | (_, Sort::Digit) if with_digits => Some(at),
                _ => None,
            };
            if let Some(cut) = cut.filter(|&cut| cut > start) {
                out.push(start..cut);
                start = cut;
            }
            before_that = last;
        }
        before = Some((at, sort));
    }
    out.push(start..piece.end);
}

/// Whether letters and digits of the piece are names and numbers side by side (`sha256sum`,
/// `100ms`) rather than one number (`0x1f`, `3fa9c1`).
fn splits_digits(piece: &str) -> bool {
    let mut changes = 0;
    let mut last: Option<bool> = None;
    for c in piece.chars() {
        let digit = c.is_numeric();
        changes += usize::from(last.is_some_and(|last| last != digit));
        last = Some(digit);
    }
    let starts_with_digit = piece.starts_with(|c: char| c.is_numeric());
    let hexadecimal = piece.len() > 1 && piece.as_bytes()[0] == b'0';
    changes
        <= if starts_with_digit {
            1
        } else {
            MAX_DIGIT_CHANGES
        }
        && !(hexadecimal && starts_with_digit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parts;

    fn split(word: &str) -> Vec<&str> {
        let mut ranges = Vec::new();
        parts(word, &mut ranges);
        ranges.into_iter().map(|range| &word[range]).collect()
    }

    #[test]
    fn names_come_apart_at_their_seams() {
        for (word, expected) in [
            ("getUserName", vec!["get", "User", "Name"]),
            ("HTTPServer", vec!["HTTP", "Server"]),
            ("kmem_cache_alloc", vec!["kmem", "cache", "alloc"]),
            ("__init__", vec!["init"]),
            ("MAX_ORDER", vec!["MAX", "ORDER"]),
            ("sha256sum", vec!["sha", "256", "sum"]),
            ("utf8", vec!["utf", "8"]),
            ("100ms", vec!["100", "ms"]),
            ("x86_64", vec!["86", "64"]),
            ("GetÉtat", vec!["Get", "État"]),
        ] {
            assert_eq!(split(word), expected, "{word}");
        }
    }

    #[test]
    fn plain_words_numbers_and_hashes_stay_whole() {
        for word in [
            "memory",
            "Memory",
            "NASA",
            "1969",
            "0x1f3c",
            "a94a8fe5ccb19ba6",
            "état",
            "x",
        ] {
            assert_eq!(split(word), Vec::<&str>::new(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn parts_are_disjoint_and_in_order(word in "[a-zA-Z0-9_éÉß漢]{1,24}") {
            let mut ranges = Vec::new();
            parts(&word, &mut ranges);
            let mut end = 0;
            for range in ranges {
                prop_assert!(range.start >= end && range.end > range.start);
                end = range.end;
                prop_assert!(!word[range].contains('_'));
            }
        }
    }
}
