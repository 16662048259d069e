//! The text of a line as people read it.

/// At most so many bytes of a text; whole characters.
pub(super) fn cut(text: &mut String, most: usize) -> bool {
    let is_longer = text.len() > most;
    if is_longer {
        text.truncate(text.floor_char_boundary(most));
    }
    is_longer
}
