//! Hashes and numbers that texts hold in another form than they were typed: the first digits of a
//! commit's hash, numbers whose thousands are set apart.

use search_core::query::ParsedQuery;

use crate::index::{IndexError, IndexSnapshot, words_beginning};

/// Digits of a short hash: git gives no fewer, and a hash has no more.
const HASH_DIGITS: std::ops::RangeInclusive<usize> = 7..=40;

/// Digits of a number that may stand in groups.
const GROUPED_DIGITS: std::ops::RangeInclusive<usize> = 4..=12;

/// Digits of a group.
const GROUP: usize = 3;

/// Whether a word may be the beginning of a commit's hash.
pub(super) fn is_short_hash(word: &str) -> bool {
    let has = |wanted: fn(&u8) -> bool| word.bytes().any(|byte| wanted(&byte));
    HASH_DIGITS.contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && has(u8::is_ascii_digit)
}

/// The words of the sources that begin so, and are hashes.
pub(super) fn hashes_beginning(
    snapshots: &[IndexSnapshot],
    word: &str,
) -> Result<Vec<String>, IndexError> {
    words_beginning(snapshots, word, |found| {
        found.len() > word.len() && found.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// A number in groups of three, as `12,499`, `12.499` and `12 499` have it: `12 499`; none for what
/// is no whole number of four digits or more.
pub(super) fn grouped(word: &str) -> Option<String> {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit()) && !word.starts_with('0');
    if !is_number || !GROUPED_DIGITS.contains(&word.len()) {
        return None;
    }
    let mut groups = String::with_capacity(word.len() * 4 / 3 + 1);
    for (at, digit) in word.chars().enumerate() {
        if at > 0 && (word.len() - at).is_multiple_of(GROUP) {
            groups.push(' ');
        }
        groups.push(digit);
    }
    Some(groups)
}

/// A query text in which numbers that nothing holds are phrases of their groups, and these phrases;
/// none where there is no such number.
pub(super) fn with_groups(
    text: &str,
    query: &ParsedQuery,
    missing: &[usize],
) -> Option<(String, Vec<String>)> {
    let mut phrases = Vec::new();
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    for &index in missing {
        let word = &query.words()[index];
        let Some(groups) = grouped(&word.surface).filter(|_| word.is_plain) else {
            continue;
        };
        let typed = words.iter_mut().filter(|typed| **typed == word.surface);
        for typed in typed {
            *typed = format!("\"{groups}\"");
            phrases.push(groups.clone());
        }
    }
    (!phrases.is_empty()).then(|| (words.join(" "), phrases))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_hashes_and_groups_are_told_from_other_words() {
        for hash in ["9fceb02", "d0ae598e95", "12345678"] {
            assert!(is_short_hash(hash), "{hash}");
        }
        for other in ["9fceb0", "defaced", "9fceb02g", "topic5"] {
            assert!(!is_short_hash(other), "{other}");
        }
        let grouped = |word: &str| grouped(word).unwrap_or_default();
        assert_eq!(grouped("12499"), "12 499");
        assert_eq!(grouped("1250000"), "1 250 000");
        assert_eq!(grouped("499"), "");
        assert_eq!(grouped("01234"), "");
        assert_eq!(grouped("1234x"), "");
    }
}
