//! The parts that a format finds in a text.

/// The parts a format finds in a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TextParts {
    /// Empty where the text names none.
    pub(crate) title: String,
    /// Whether the title was the first of the headings.
    pub(crate) title_is_heading: bool,
    pub(crate) headings: Vec<String>,
    pub(crate) tags: Vec<String>,
    /// Names of what is linked to.
    pub(crate) links: Vec<String>,
    /// When the text says that it was written or changed, in seconds since the Unix epoch.
    pub(crate) written: Option<i64>,
    pub(crate) body: String,
}

/// One line: white space and control characters become single spaces, at most `max_chars` long.
pub(crate) fn fold_line(text: &str, max_chars: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max_chars));
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => line[..end].trim_end().to_owned(),
        None => line,
    }
}
