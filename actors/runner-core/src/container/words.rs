//! A line split into words as a shell would, without expansions: `options` and `args`.

/// The words of a line: white space parts them, quotes and backslashes keep it.
///
/// # Errors
/// When a quote is not closed.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = letters.next();
                let kept = match (quote, next) {
                    // A line that goes on: nothing is left of it.
                    (_, Some('\n')) => continue,
                    (Some(_), Some(next)) if !matches!(next, '"' | '\\' | '$' | '`') => {
                        word.get_or_insert_default().push('\\');
                        next
                    }
                    (_, Some(next)) => next,
                    (_, None) => '\\',
                };
                word.get_or_insert_default().push(kept);
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(open) = quote {
        return Err(format!("a quote {open} is not closed"));
    }
    words.extend(word);
    Ok(words)
}

/// One word for a shell.
#[must_use]
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
