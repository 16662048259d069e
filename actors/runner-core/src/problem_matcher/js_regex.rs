//! Regular expressions as problem matchers write them (ECMAScript) for the `regex` crate, which
//! takes linear time and therefore knows neither look-arounds nor backreferences.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

use super::MAX_REGEX_BYTES;

/// Why an expression is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsRegexError {
    /// It is right, and cannot be done in linear time.
    #[error("{0} are not supported: expressions run in linear time here")]
    Unsupported(&'static str),
    /// It is none.
    #[error("{0}")]
    Wrong(String),
}

/// Compiles an ECMAScript expression (without flags).
pub(super) fn compile(expression: &str) -> Result<Regex, JsRegexError> {
    let translated = translate(expression)?;
    let mut builder = RegexBuilder::new(&translated);
    builder.size_limit(MAX_REGEX_BYTES);
    builder.dfa_size_limit(MAX_REGEX_BYTES).nest_limit(50);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(limit) => {
            JsRegexError::Wrong(format!("it takes more than {limit} bytes of memory"))
        }
        // The crate draws the expression over several lines; the last one says what is wrong.
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            JsRegexError::Wrong(last.trim_start_matches("error: ").to_owned())
        }
    })
}

/// The same expression in the crate's syntax, as far as the two differ.
fn translate(expression: &str) -> Result<String, JsRegexError> {
    let mut chars = expression.chars().peekable();
    let mut out = String::with_capacity(expression.len() + 16);
    while let Some(next) = chars.next() {
        match next {
            '\\' => escape(&mut chars, false, &mut out)?,
            '[' => class(&mut chars, &mut out)?,
            '(' => group(&mut chars, &mut out)?,
            '{' if !is_count(chars.clone()) => out.push_str("\\{"),
            '}' if !closes_count(&out) => out.push_str("\\}"),
            other => out.push(other),
        }
    }
    Ok(out)
}

/// Whether what follows an opening brace is `3}`, `3,}` or `3,5}`.
fn is_count(chars: Peekable<Chars<'_>>) -> bool {
    let inside: String = chars.take_while(|c| *c != '}').take(12).collect();
    let (least, most) = inside.split_once(',').unwrap_or((&inside, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

/// Whether the text ends in the open count of a repetition.
fn closes_count(out: &str) -> bool {
    let Some((before, inside)) = out.rsplit_once('{') else {
        return false;
    };
    let counted = inside.chars().all(|c| c.is_ascii_digit() || c == ',');
    counted && !inside.is_empty() && !before.ends_with('\\')
}

/// What follows an opening parenthesis.
fn group(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), JsRegexError> {
    out.push('(');
    let mut ahead = chars.clone();
    if ahead.next() != Some('?') {
        return Ok(());
    }
    match (ahead.next(), ahead.next()) {
        (Some('=' | '!'), _) => Err(JsRegexError::Unsupported("lookaheads (`(?=`, `(?!`)")),
        (Some('<'), Some('=' | '!')) => {
            Err(JsRegexError::Unsupported("lookbehinds (`(?<=`, `(?<!`)"))
        }
        _ => Ok(()),
    }
}

/// `[…]`, in which the crate knows sets within sets and operators, and ECMAScript does not.
fn class(chars: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), JsRegexError> {
    let negated = chars.next_if_eq(&'^').is_some();
    if chars.next_if_eq(&']').is_some() {
        // `[^]` is any character, `[]` none.
        out.push_str(if negated { "(?s:.)" } else { "[^\\s\\S]" });
        return Ok(());
    }
    out.push_str(if negated { "[^" } else { "[" });
    if chars.next_if_eq(&'-').is_some() {
        out.push_str("\\-");
    }
    while let Some(next) = chars.next() {
        match next {
            ']' => {
                out.push(']');
                return Ok(());
            }
            '\\' => escape(chars, true, out)?,
            '[' | '&' | '~' | '^' => out.extend(['\\', next]),
            '-' if out.ends_with('-') && !out.ends_with("\\-") => out.push_str("\\-"),
            other => out.push(other),
        }
    }
    Err(JsRegexError::Wrong("a `[` is not closed".to_owned()))
}

/// What follows a backslash. `\d` and `\w` are of ASCII, as in ECMAScript.
fn escape(
    chars: &mut Peekable<Chars<'_>>,
    in_class: bool,
    out: &mut String,
) -> Result<(), JsRegexError> {
    let wrong = |text: &str| Err(JsRegexError::Wrong(text.to_owned()));
    let Some(next) = chars.next() else {
        return wrong("it ends in a backslash");
    };
    match next {
        'd' if in_class => out.push_str("0-9"),
        'w' if in_class => out.push_str("0-9A-Za-z_"),
        'd' => out.push_str("[0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'D' => out.push_str("[^0-9]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'b' if in_class => out.push_str("\\x08"),
        'b' => out.push_str("(?-u:\\b)"),
        's' | 'S' | 'B' | 'n' | 'r' | 't' | 'v' | 'f' => out.extend(['\\', next]),
        '0' => out.push_str("\\x00"),
        '1'..='9' if in_class => return wrong("a number is escaped in a `[…]`"),
        '1'..='9' => return Err(JsRegexError::Unsupported("backreferences (`\\1`)")),
        'k' => return Err(JsRegexError::Unsupported("backreferences (`\\k`)")),
        'x' | 'u' => {
            let digits = if next == 'x' { 2 } else { 4 };
            let mut ahead = chars.clone();
            let hex: String = ahead.by_ref().take(digits).collect();
            match u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32) {
                Some(meant) if hex.len() == digits => {
                    *chars = ahead;
                    out.push_str(&format!("\\x{{{:X}}}", u32::from(meant)));
                }
                // Without its digits it is the letter itself.
                _ => out.push(next),
            }
        }
        // All others stand for themselves; `\<` would be the beginning of a word to the crate.
        other if other.is_ascii_alphanumeric() || matches!(other, '<' | '>') => out.push(other),
        other if other.is_ascii() => out.extend(['\\', other]),
        other => out.push(other),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_expressions_mean_what_they_mean_in_ecmascript() {
        for (expression, text, holds) in [
            (
                r"^(?:\s+\d+\>)?([^\s].*)\((\d+),(\d+)\)$",
                "a.ts(3,4)",
                true,
            ),
            (
                r"^(?:\s+\d+\>)?([^\s].*)\((\d+),(\d+)\)$",
                " 1>a.ts(3,4)",
                true,
            ),
            (r"\<x\>", "<x>", true),
            (r"a\/b\-c\'\_", "a/b-c'_", true),
            (r"^[[\]&&~~]+$", "[]&~", true),
            (r"^[--9]+$", "-9.", true),
            (r"^[+--]+$", "+,-", true),
            (r"^[a-]+$", "a-", true),
            (r"^[^]$", "x", true),
            (r"[]", "x", false),
            (r"{a}", "{a}", true),
            (r"^a{2}$", "aa", true),
            (r"^a{2,}$", "aaa", true),
            (r"^a{1,2}$", "aaa", false),
            (r"^a{,2}$", "a{,2}", true),
            (r"^\d+$", "٣", false),
            (r"^[\w.]+$", "a_1.b", true),
            (r"^[\w.]+$", "ä", false),
            (r"\bname\b", "a name.", true),
            (r"^\u001b\x41\u$", "\u{1b}Au", true),
            (r"^(?<file>.+):(?<line>\d+)$", "a:1", true),
            (r"^[^^]+$", "ab", true),
        ] {
            let compiled =
                compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
            assert_eq!(compiled.is_match(text), holds, "{expression} on {text}");
        }
    }

    #[test]
    fn i17_what_takes_more_than_linear_time_is_refused_and_named() {
        for (expression, named) in [
            ("a(?=b)", "lookaheads"),
            ("a(?!b)", "lookaheads"),
            ("(?<=a)b", "lookbehinds"),
            ("(?<!a)b", "lookbehinds"),
            (r"(a)\1", "backreferences"),
            (r"(?<x>a)\k<x>", "backreferences"),
        ] {
            let error = compile(expression).expect_err(expression);
            assert!(
                matches!(error, JsRegexError::Unsupported(_)),
                "{expression}"
            );
            assert!(error.to_string().contains(named), "{error}");
        }
        for expression in ["(", "[a", "*", "\\", "(a{1000}){1000}"] {
            let error = compile(expression).expect_err(expression);
            assert!(
                matches!(error, JsRegexError::Wrong(_)),
                "{expression}: {error}"
            );
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
