//! Rust source as text: enough lexing to tell code from comments, literals and tests.

use std::collections::BTreeSet;

/// The source with comments, literals' contents and `#[cfg(test)]` modules blanked out; every
/// line keeps its number.
pub(super) fn code_only(source: &str) -> String {
    without_test_modules(&without_comments_and_literals(source))
}

/// Whether a file holds tests only: named so, or in a folder named so.
pub(super) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
        || path.contains("/tests/")
        || path.contains("/benches/")
}

/// The lines, from 0, that hold nothing but a `//` comment.
pub(super) fn line_comments(source: &str) -> BTreeSet<usize> {
    let mut lines = BTreeSet::new();
    let (mut line, mut counted) = (0, 0);
    for (start, _) in not_code(source)
        .into_iter()
        .filter(|(start, _)| source[*start..].starts_with("//"))
    {
        line += source[counted..start].matches('\n').count();
        counted = start;
        let before = source[..start].rsplit('\n').next().unwrap_or_default();
        if before.trim().is_empty() {
            lines.insert(line);
        }
    }
    lines
}

fn without_comments_and_literals(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    for (start, end) in not_code(source) {
        code.push_str(&source[at..start]);
        blank(&mut code, &source[start..end]);
        at = end;
    }
    code.push_str(&source[at..]);
    code
}

/// Where comments and literals begin and end.
fn not_code(source: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let length = if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            Some(block_comment(rest))
        } else if let Some(length) = raw_string(rest, source[..at].chars().next_back()) {
            Some(length)
        } else if first == '"' {
            Some(quoted(rest, '"'))
        } else {
            character(rest)
        };
        found.extend(length.map(|length| (at, at + length)));
        at += length.unwrap_or(first.len_utf8());
    }
    found
}

/// Spaces in place of `text`, its line ends kept.
fn blank(code: &mut String, text: &str) {
    code.extend(text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

/// The length of a block comment; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let here = &text[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of `r"…"`, `r#"…"#` and their byte and C forms, when `text` starts with one.
fn raw_string(text: &str, before: Option<char>) -> Option<usize> {
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let after_prefix = text
        .strip_prefix('b')
        .or_else(|| text.strip_prefix('c'))
        .unwrap_or(text);
    let after_r = after_prefix.strip_prefix('r')?;
    let opened = after_r.trim_start_matches('#');
    let hashes = "#".repeat(after_r.len() - opened.len());
    let body = opened.strip_prefix('"')?;
    let end = format!("\"{hashes}");
    let start = text.len() - body.len();
    Some(
        body.find(&end)
            .map_or(text.len(), |at| start + at + end.len()),
    )
}

/// The length of a literal between two `quote`s, escapes respected.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// The length of a character literal; `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    let mut characters = body.chars();
    let first = characters.next()?;
    if first == '\\' {
        return Some(quoted(text, '\''));
    }
    (characters.next()? == '\'').then(|| 2 + first.len_utf8())
}

fn without_test_modules(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        kept.push_str(&rest[..at]);
        let length = item_length(&rest[at..]);
        blank(&mut kept, &rest[at..at + length]);
        rest = &rest[at + length..];
    }
    kept.push_str(rest);
    kept
}

/// The length of the item that `text` starts with: up to its `;` or its closing brace.
fn item_length(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_that_stand_alone_are_told_from_others() {
        let source =
            "//! a\n\nf(); // b\n    // c\nlet x = \"\n// d\n\";\n/* \n// e\n*/\n/// f\n//// g\n";
        assert_eq!(
            line_comments(source).into_iter().collect::<Vec<_>>(),
            [0, 3, 10, 11]
        );
    }

    #[test]
    fn only_code_is_left() {
        for (source, expected) in [
            ("a // std::fs\nb", "a \nb"),
            ("a /* x /* y */ z */ b", "a  b"),
            ("f(\"std::fs \\\" x\")", "f()"),
            ("f(r#\"a \" b\"#, c)", "f(, c)"),
            ("br\"x\" + parser\"y\"", " + parser"),
            ("'\"' + '\\'' + x", " +  + x"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            (
                "a\n#[cfg(test)]\nmod tests {\n fn f() {}\n}\nb",
                "a\n\n\n\n\nb",
            ),
            ("#[cfg(test)]\nmod tests;\nb", "\n\nb"),
        ] {
            let code = code_only(source);
            assert_eq!(code.lines().count(), source.lines().count(), "{source}");
            let squeezed = |text: &str| text.replace(' ', "");
            assert_eq!(squeezed(&code), squeezed(expected), "{source}");
        }
    }
}
