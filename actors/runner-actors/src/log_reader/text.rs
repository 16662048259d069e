//! The text of a line as people read it.

/// A line without the colours of terminals: other sequences stay.
pub(super) fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'));
        match end.and_then(|end| part[end..].strip_prefix('m')) {
            Some(rest) => out.push_str(rest),
            None => {
                out.push_str("\u{1b}[");
                out.push_str(part);
            }
        }
    }
    out
}

/// At most so many bytes of a text; whole characters.
pub(super) fn cut(text: &mut String, most: usize) -> bool {
    let is_longer = text.len() > most;
    if is_longer {
        text.truncate(text.floor_char_boundary(most));
    }
    is_longer
}
