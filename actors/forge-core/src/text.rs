//! Cutting text without cutting a character.

use std::borrow::Cow;

/// The longest prefix of `text` of at most `max_bytes` bytes that ends between two characters.
pub fn truncate(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// `text` in at most `max_bytes` bytes; what is cut off is marked by `…` (3 bytes), as far as there
/// is room for it.
pub fn shorten(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    match max_bytes.checked_sub("…".len()) {
        Some(room) => Cow::Owned(format!("{}…", truncate(text, room).trim_end())),
        None => Cow::Borrowed(truncate(text, max_bytes)),
    }
}

/// `text` on one line in at most `max_chars` characters: runs of white space and control characters
/// become one space, and what is cut off is marked by `…`. For fields that forges limit in
/// characters.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    if line.chars().count() <= max_chars {
        return line;
    }
    let kept: String = line.chars().take(max_chars.saturating_sub(1)).collect();
    let mark = if max_chars == 0 { "" } else { "…" };
    format!("{}{mark}", kept.trim_end())
}
