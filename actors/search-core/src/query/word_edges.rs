//! Where a word of a text ends, and which words stand beside it.

use crate::analysis::words;

/// Bytes beside a word in which the next one is looked for.
pub(super) const MAX_GAP: usize = 64;

/// The first word of a text; none where it is not ASCII, far away, or cut.
pub(super) fn word_behind(text: &str) -> Option<&str> {
    let near = text.as_bytes();
    let near = &near[..near.len().min(MAX_GAP)];
    if !near.is_ascii() {
        return None;
    }
    let word = words(&text[..near.len()]).next()?;
    (word.end() < near.len() || near.len() == text.len()).then_some(word.text)
}

/// The last word of a text; none where it is not ASCII, far away, or may be more than letters: a
/// contraction, `C++`.
pub(super) fn word_before(text: &str) -> Option<&str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let bytes = text.as_bytes();
    let from = bytes.len().saturating_sub(MAX_GAP);
    let near = &bytes[from..];
    let end = near.iter().rposition(is_part)? + 1;
    let start = near[..end].iter().rposition(|byte| !is_part(byte))? + 1;
    let is_joined = |byte: &u8| !byte.is_ascii() || matches!(byte, b'\'' | b'+' | b'#');
    let beside = near[start - 1..start].iter().chain(&near[end..]);
    let has_letter = near[start..end].iter().any(u8::is_ascii_alphanumeric);
    let is_word = has_letter && !beside.into_iter().any(is_joined);
    is_word.then(|| &text[from + start..from + end])
}

/// The end of the word that `at` may have cut.
pub(super) fn word_edge(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    if at == 0 {
        return 0;
    }
    let gap = text[at..].find(|character: char| !character.is_alphanumeric() && character != '_');
    at + gap.unwrap_or(0)
}
