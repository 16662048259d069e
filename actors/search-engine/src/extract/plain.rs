//! Plain text and reStructuredText: headings are lines with a line of punctuation below them
//! (docutils, "reStructuredText Markup Specification", Sections).

use super::parts::{TextParts, fold_line};

/// Characters that adorn section titles in practice.
const ADORNMENT: &[u8] = b"=-~^\"'`#*+.:_";

/// Shortest underline that counts; shorter ones occur in tables and lists.
const MIN_UNDERLINE: usize = 3;

pub(super) fn parse_parts(text: String) -> TextParts {
    let mut headings = headings(&text);
    let title = if headings.is_empty() {
        String::new()
    } else {
        headings.remove(0)
    };
    TextParts {
        title_is_heading: !title.is_empty(),
        title,
        headings,
        tags: Vec::new(),
        written: None,
        body: text,
        links: Vec::new(),
    }
}

fn headings(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut headings = Vec::new();
    let (mut before, mut start) = (0..0, 0);
    for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
        let line = start..end;
        if ADORNMENT.contains(bytes.get(start).unwrap_or(&b' '))
            && is_underline(&bytes[line.clone()])
        {
            headings.extend(heading(
                &text[before.clone()],
                text[line.clone()].trim_end().len(),
            ));
        }
        before = line;
        start = (end + 1).min(bytes.len());
    }
    headings
}

fn is_underline(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    line.len() >= MIN_UNDERLINE && line.iter().all(|byte| *byte == line[0])
}

/// The line above an underline, if it reads like a title: not empty, not longer than its underline
/// (an East Asian character is two columns wide, hence a third more), no table, no adornment.
fn heading(line: &str, underline: usize) -> Option<String> {
    let title = line.trim();
    let wide = title.chars().count() > underline + 1;
    let adorned = is_underline(title.as_bytes()) && !title.as_bytes()[0].is_ascii_alphanumeric();
    let words = title.chars().any(char::is_alphanumeric) && !title.contains('|');
    (!wide && !adorned && words).then(|| fold_line(title, 200))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (String, Vec<String>) {
        let parts = parse_parts(text.to_owned());
        assert_eq!(parts.body, text);
        (parts.title, parts.headings)
    }

    #[test]
    fn underlined_lines_are_headings() {
        let (title, headings) = found(
            "=====\nTitle\n=====\n\ntext\n\nFirst part\n----------\nmore\r\n\r\nSecond\r\n~~~~~~\r\n",
        );
        assert_eq!(title, "Title");
        assert_eq!(headings, ["First part", "Second"]);
    }

    #[test]
    fn rules_and_tables_are_not() {
        for text in [
            "",
            "a\n",
            "\n-----\n",
            "---\n---\n",
            "a much longer line than its rule\n---\n",
            "| a | b |\n---------\n",
            "====  ====\nx     y\n====  ====",
        ] {
            assert_eq!(found(text), (String::new(), vec![]), "{text:?}");
        }
    }
}
