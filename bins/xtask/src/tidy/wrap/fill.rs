//! Words of one paragraph put on lines, so that Markdown reads the same from them as before.

/// Puts `text` on lines of at most `width` columns; the first begins with `first`, the others with
/// `rest`. A word that fits nowhere stands alone.
pub(super) fn fill(text: &str, first: &str, rest: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in words(text) {
        let space = usize::from(!empty);
        if !empty && columns(&line) + space + columns(&word) > width {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(&word);
        empty = false;
    }
    lines.push(line);
    lines
}

/// How wide the text is shown, near enough: one column a character.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// What must stay on one line: words, code spans with their spaces, and a word together with a
/// following one that would mean something else at the beginning of a line.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let spans = code_spans(text);
    for (at, word) in word_offsets(text) {
        let inside = spans.iter().any(|(start, end)| *start < at && at < *end);
        match words.last_mut() {
            Some(last) if inside || starts_a_block(word) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// The words with where they begin.
fn word_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr() as usize;
    text.split([' ', '\t'])
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - start, word))
}

/// Where code spans begin and end: as many backticks on both sides.
fn code_spans(text: &str) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let length = text[start..].len() - text[start..].trim_start_matches('`').len();
        runs.push((start, length));
        at = start + length;
    }
    let mut spans = Vec::new();
    let mut next = 0;
    while let Some((start, length)) = runs.get(next).copied() {
        let escaped = text[..start].ends_with('\\');
        let close = (next + 1..runs.len()).find(|other| runs[*other].1 == length);
        match close.filter(|_| !escaped) {
            Some(close) => {
                spans.push((start, runs[close].0 + length));
                next = close + 1;
            }
            None => next += 1,
        }
    }
    spans
}

/// Whether a line that begins with this word would be no line of a paragraph any more.
pub(super) fn starts_a_block(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < word.len() && (digits == "." || digits == ")");
    let ruler = |mark: char| !word.is_empty() && word.chars().all(|c| c == mark);
    let heading = !word.is_empty() && word.len() <= 6 && ruler('#');
    let html = word.strip_prefix('<').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c))
            && !rest.contains("://")
    });
    numbered
        || heading
        || html
        || matches!(word, "-" | "+" | "*" | "***" | "___")
        || ruler('-')
        || ruler('=')
        || word.starts_with(['>', '|'])
        || word.starts_with("```")
        || word.starts_with("~~~")
        || word.starts_with("[^")
        || (word.starts_with('[') && word.contains("]:"))
}
