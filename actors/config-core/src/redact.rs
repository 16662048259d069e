//! Which part of a shown source line is a secret and must be masked.
//!
//! A line is shown for any mistake on it, also when the text cannot be parsed; so secrets are
//! found by the look of the line, not by the meaning of the file: the value after a name that ends
//! in `key`, `token`, `secret` or `password`, and the user and password of a URL.

use std::ops::Range;

/// Endings of names whose value is masked.
const ENDINGS: [&str; 5] = ["key", "token", "secret", "password", "passwd"];

/// The byte ranges of `line` that hold secret values.
pub(crate) fn secret_ranges(line: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(separator) = line[from..].find([':', '=']).map(|at| from + at) {
        from = separator + 1;
        if !names_a_secret(&line[..separator]) {
            continue;
        }
        if let Some(range) = value_range(line, separator + 1) {
            from = range.end;
            ranges.push(range);
        }
    }
    ranges.extend(user_infos(line));
    ranges
}

/// The user names and passwords of URLs.
fn user_infos(line: &str) -> impl Iterator<Item = Range<usize>> {
    line.match_indices("://").filter_map(|(at, separator)| {
        let start = at + separator.len();
        let rest = &line[start..];
        let authority = &rest[..rest
            .find(['/', '?', '#', '"', '\'', ' '])
            .unwrap_or(rest.len())];
        authority.rfind('@').map(|length| start..start + length)
    })
}

/// The text with secrets of URLs masked, for messages.
pub(crate) fn without_user_info(text: &str) -> String {
    let mut masked = text.to_owned();
    let ranges: Vec<Range<usize>> = user_infos(text).collect();
    for range in ranges.into_iter().rev() {
        masked.replace_range(range, "***");
    }
    masked
}

/// Whether the text in front of a separator ends in the name of a secret.
fn names_a_secret(before: &str) -> bool {
    let name = before.trim_end().trim_end_matches(['"', '\'']).as_bytes();
    let ends_in = |ending: &&str| {
        let tail = name.len().checked_sub(ending.len()).map(|at| &name[at..]);
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(ending.as_bytes()))
    };
    ENDINGS.iter().any(ends_in)
}

/// The value that begins after `start`, without its quotes; a mere `${VARIABLE}` is no secret.
fn value_range(line: &str, start: usize) -> Option<Range<usize>> {
    let value_start = start + line[start..].find(|c: char| !c.is_whitespace())?;
    let first = line[value_start..].chars().next()?;
    let range = match first {
        '"' | '\'' => {
            let content = value_start + 1;
            content..content + quoted_length(&line[content..], first)
        }
        '{' | '[' => return None,
        _ => {
            let length = line[value_start..].find([',', '}', ']', ' ', '\t']);
            value_start..length.map_or(line.len(), |length| value_start + length)
        }
    };
    let value = &line[range.clone()];
    let reference = value.starts_with("${") && value.find('}') == Some(value.len() - 1);
    (!range.is_empty() && !reference).then_some(range)
}

/// How many bytes stand before the closing quote (the rest of the line when there is none).
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return index,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(line: &str) -> Vec<&str> {
        secret_ranges(line)
            .into_iter()
            .map(|range| &line[range])
            .collect()
    }

    #[test]
    fn values_of_secret_names_are_found() {
        assert_eq!(
            masked(r#"{"cloudllm_api_key": "sk-1\"2", "name": "x"}"#),
            [r#"sk-1\"2"#]
        );
        assert_eq!(masked(r#"API_TOKEN = 'abc' # c"#), ["abc"]);
        assert_eq!(masked(r#""a_key":"1","b_secret":"2""#), ["1", "2"]);
        assert_eq!(
            masked(r#"["http://u:p@a/@b", "https://c/@d", "x://e@f"]"#),
            ["u:p", "e"]
        );
        assert_eq!(masked(r#""api_key": "never closed"#), ["never closed"]);
        assert_eq!(masked(r#""api_key": 12345, "x": 1"#), ["12345"]);
    }

    #[test]
    fn other_values_stay() {
        for line in [
            r#""name": "token""#,
            r#""api_key": "${API_KEY}""#,
            r#""api_key": """#,
            r#""api_key":"#,
            r#""keys": {"a": 1}"#,
            "",
        ] {
            assert!(masked(line).is_empty(), "{line}");
        }
    }
}
