//! A text that cannot be read because it is of another language, or because a word processor has
//! turned its quotes round: one message that says so, in the place of many that follow from it.

use super::format::ConfigFormat;
use crate::source::{NamedText, SourceFinding, Span};

/// What the text most likely is instead; called when it cannot be read.
pub(super) fn explanation(format: ConfigFormat, source: &NamedText) -> Option<SourceFinding> {
    other_language(format, source).or_else(|| curly_quote(source))
}

fn other_language(format: ConfigFormat, source: &NamedText) -> Option<SourceFinding> {
    let (start, line) = first_line(source.text())?;
    let span = Span::new(start, start + line.len());
    let found = language_of(line)?;
    let (wanted, example) = match format {
        ConfigFormat::Json => ("JSON", "write one object, `{ \"name\": …, … }`"),
        ConfigFormat::Toml => ("TOML", "write `name = …` and `[table]`"),
    };
    let message = format!("this looks like {found}, and the file has to be {wanted}");
    (found != wanted).then(|| SourceFinding::error(span, message).help(example))
}

/// The first line that is neither empty nor a comment, and where it begins.
fn first_line(text: &str) -> Option<(usize, &str)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let begin = start + (line.len() - line.trim_start().len());
        start += line.len();
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            return Some((begin, line));
        }
    }
    None
}

/// What begins with such a line; `None` where it may be a mistake of the right language.
fn language_of(line: &str) -> Option<&'static str> {
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || "_-.".contains(c))
    };
    let table = line
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let table = table.map(|name| name.trim_start_matches('[').trim_end_matches(']').trim());
    if table.is_some_and(|name| is_name(name) && !name.chars().all(|c| c.is_ascii_digit())) {
        return Some("TOML");
    }
    if line.starts_with('{') || line.starts_with("[{") || line == "[" {
        return Some("JSON");
    }
    if line.starts_with('<') {
        return Some("XML or HTML");
    }
    if line == "---" || line.starts_with("%YAML") || line.starts_with("- ") {
        return Some("YAML");
    }
    match line.find([':', '=']) {
        Some(at) if is_name(line[..at].trim_end()) => {
            let after = &line[at + 1..];
            match &line[at..=at] {
                "=" => Some("TOML"),
                _ if after.is_empty() || after.starts_with(' ') => Some("YAML"),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The first curly quote that stands where a value or key begins.
fn curly_quote(source: &NamedText) -> Option<SourceFinding> {
    const DOUBLE: [char; 5] = ['“', '”', '„', '‟', '″'];
    const SINGLE: [char; 4] = ['‘', '’', '‚', '‛'];
    let mut before = '{';
    for (at, character) in source.text().char_indices() {
        let is_curly = DOUBLE.contains(&character) || SINGLE.contains(&character);
        if is_curly && "{[,:=".contains(before) {
            let message = format!("curly quote {character} (U+{:04X})", u32::from(character));
            let finding = SourceFinding::error(Span::new(at, at + character.len_utf8()), message);
            return Some(finding.help(
                "write `\"` here and everywhere: word processors and chats turn quotes round",
            ));
        }
        if character == '\n' {
            // A line of TOML begins with a key.
            before = '{';
        } else if !character.is_whitespace() {
            before = character;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn y8_other_languages_are_told_by_their_first_line() {
        for (line, language) in [
            ("name: Reader", Some("YAML")),
            ("roles:", Some("YAML")),
            ("- name: x", Some("YAML")),
            ("---", Some("YAML")),
            ("name = \"Reader\"", Some("TOML")),
            ("[role]", Some("TOML")),
            ("[[roles]]", Some("TOML")),
            ("<html>", Some("XML or HTML")),
            ("{", Some("JSON")),
            ("[1]", None),
            ("\"name\": 1", None),
            ("http://example.org", None),
            ("// a comment", None),
        ] {
            assert_eq!(language_of(line), language, "{line}");
        }
        assert_eq!(first_line("\n # x\n  a: b\n"), Some((8, "a: b")));
    }
}
