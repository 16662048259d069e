//! The parts of an identifier: camelCase, snake_case, letters next to digits.

use std::ops::Range;

/// A run of letters and digits that changes between the two more often than this is a number in
/// another base or a hash, not a name.
const MAX_DIGIT_CHANGES: usize = 4;

/// Identifiers of more parts than this are not taken apart.
pub(crate) const MAX_PARTS: usize = 24;

/// The byte ranges of the parts of `word`; empty when the word is simple (has one part which is
/// the whole word). Single letters are no parts.
pub fn push_parts(word: &str, out: &mut Vec<Range<usize>>) {
    out.clear();
    if is_simple(word.as_bytes()) {
        return;
    }
    let mut start = 0;
    for piece in word.split('_') {
        if !piece.is_empty() {
            split_piece(piece, start, out);
        }
        start += piece.len() + 1;
    }
    if out.len() > MAX_PARTS || (out.len() == 1 && out[0] == (0..word.len())) {
        out.clear();
    }
    out.retain(|part| !is_letter(&word[part.clone()]));
}

/// Plain words, the common case: letters of one case, perhaps with a capital in front, or a number.
fn is_simple(word: &[u8]) -> bool {
    let Some((head, rest)) = word.split_first() else {
        return true;
    };
    head.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase)
        || word.iter().all(u8::is_ascii_uppercase)
        || word.iter().all(u8::is_ascii_digit)
}

fn is_letter(part: &str) -> bool {
    let mut chars = part.chars();
    matches!((chars.next(), chars.next()), (Some(c), None) if c.is_alphabetic())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Upper,
    Lower,
    Digit,
    Other,
}

/// The sort of an ASCII letter or digit.
const fn sort_of_byte(byte: u8) -> Sort {
    match byte {
        b'0'..=b'9' => Sort::Digit,
        b'A'..=b'Z' => Sort::Upper,
        _ => Sort::Lower,
    }
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

/// Cuts what stands between underscores, `start` bytes into the word.
fn split_piece(piece: &str, start: usize, out: &mut Vec<Range<usize>>) {
    if piece.is_ascii() {
        let sorts = piece.bytes().map(sort_of_byte).enumerate();
        cut(piece, start, sorts, out);
    } else {
        let sorts = piece.char_indices().map(|(at, c)| (at, sort_of(c)));
        cut(piece, start, sorts, out);
    }
}

/// Cuts where a capital follows a small letter, before the last capital of a run that a small
/// letter follows (`HTTPServer`), and between letters and digits.
fn cut(
    piece: &str,
    start: usize,
    sorts: impl Iterator<Item = (usize, Sort)> + Clone,
    out: &mut Vec<Range<usize>>,
) {
    let with_digits = splits_digits(piece, sorts.clone().map(|(_, sort)| sort));
    let mut part_start = 0;
    let (mut last_at, mut last, mut before_last) = (0, Sort::Other, Sort::Other);
    for (at, sort) in sorts {
        let seam = match (last, sort) {
            (Sort::Lower, Sort::Upper) => at,
            (Sort::Upper, Sort::Lower) if before_last == Sort::Upper => last_at,
            (Sort::Digit, Sort::Digit) => 0,
            (Sort::Digit, _) | (_, Sort::Digit) if with_digits => at,
            _ => 0,
        };
        if seam > part_start {
            out.push(start + part_start..start + seam);
            part_start = seam;
        }
        (last_at, before_last, last) = (at, last, sort);
    }
    out.push(start + part_start..start + piece.len());
}

/// Whether letters and digits of the piece are names and numbers side by side (`sha256sum`,
/// `100ms`) rather than one number (`0x1f`, `3fa9c1`).
fn splits_digits(piece: &str, sorts: impl Iterator<Item = Sort>) -> bool {
    let mut changes = 0;
    let mut first = None;
    let mut last = false;
    for sort in sorts {
        let digit = sort == Sort::Digit;
        changes += usize::from(first.is_some() && last != digit);
        first.get_or_insert(digit);
        last = digit;
    }
    if first == Some(true) {
        changes <= 1 && !piece.starts_with('0')
    } else {
        changes <= MAX_DIGIT_CHANGES
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::push_parts;

    fn split(word: &str) -> Vec<&str> {
        let mut ranges = Vec::new();
        push_parts(word, &mut ranges);
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
            push_parts(&word, &mut ranges);
            let mut end = 0;
            for range in ranges {
                prop_assert!(range.start >= end && range.end > range.start);
                end = range.end;
                prop_assert!(!word[range].contains('_'));
            }
        }
    }
}
