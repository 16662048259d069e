//! Expressions to tokens.

use super::value::parse_number;
use super::{ExprError, ExprValue};

/// A token and the byte it begins at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExprToken {
    pub(super) kind: TokenKind,
    pub(super) at: usize,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// A number, a text, `true`, `false`, `null`.
    Literal(ExprValue),
    /// A context, a function or a property.
    Name(String),
    /// An operator or a bracket.
    Mark(&'static str),
}

/// Longer marks first.
const MARKS: [&str; 17] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", ",", ".", "*", "?",
];

/// The tokens of `text`.
///
/// # Errors
/// At a character that begins none, and at a text without an end.
pub(super) fn tokens(text: &str) -> Result<Vec<ExprToken>, ExprError> {
    let mut tokens: Vec<ExprToken> = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (kind, length) = if first == '\'' {
            quoted(rest, at)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            (named(&rest[..length], tokens.last()), length)
        } else if begins_number(rest, tokens.last()) {
            number(rest, at)?
        } else {
            let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
            match mark {
                Some(mark) if *mark != "?" => (TokenKind::Mark(mark), mark.len()),
                _ => return Err(unexpected(first, at)),
            }
        };
        tokens.push(ExprToken { kind, at });
        at += length;
    }
    Ok(tokens)
}

fn unexpected(character: char, at: usize) -> ExprError {
    let shown = config_core::quoted(&character.to_string());
    let error = ExprError::new(at, format!("unexpected {shown} in an expression"));
    match character {
        '"' => error.help("texts stand between single quotes"),
        '=' => error.help("equality is `==`"),
        '&' => error.help("and is `&&`"),
        '|' => error.help("or is `||`"),
        '+' | '-' | '/' | '%' | '?' => error.help("expressions have no arithmetic"),
        _ => error,
    }
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

/// A name, or one of the words that are values, unless a `.` makes it a property.
fn named(name: &str, before: Option<&ExprToken>) -> TokenKind {
    let property = before.is_some_and(|token| token.kind == TokenKind::Mark("."));
    match name {
        "true" if !property => TokenKind::Literal(ExprValue::Bool(true)),
        "false" if !property => TokenKind::Literal(ExprValue::Bool(false)),
        "null" if !property => TokenKind::Literal(ExprValue::Null),
        "NaN" if !property => TokenKind::Literal(ExprValue::Number(f64::NAN)),
        "Infinity" if !property => TokenKind::Literal(ExprValue::Number(f64::INFINITY)),
        _ => TokenKind::Name(name.to_owned()),
    }
}

/// A text: up to the next single quote that is not doubled.
fn quoted(rest: &str, at: usize) -> Result<(TokenKind, usize), ExprError> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, character)) = characters.next() {
        if character != '\'' {
            text.push(character);
        } else if characters.next_if(|(_, next)| *next == '\'').is_some() {
            text.push('\'');
        } else {
            return Ok((TokenKind::Literal(text.into()), index + 1));
        }
    }
    Err(ExprError::new(at, "a text has no closing quote").help("write `''` for a quote inside"))
}

/// Whether a number begins here: `.5` is one only where no value stands before it.
fn begins_number(rest: &str, before: Option<&ExprToken>) -> bool {
    let digit_at = |index: usize| rest.as_bytes().get(index).is_some_and(u8::is_ascii_digit);
    match rest.as_bytes().first() {
        Some(b'0'..=b'9') => true,
        Some(b'+') => digit_at(1) || rest[1..].starts_with('.'),
        Some(b'-') => digit_at(1) || rest[1..].starts_with('.') || rest.starts_with("-Infinity"),
        Some(b'.') => {
            let value = before.is_some_and(|token| {
                !matches!(token.kind, TokenKind::Mark(mark) if mark != "]" && mark != ")" && mark != "*")
            });
            digit_at(1) && !value
        }
        _ => false,
    }
}

fn number(rest: &str, at: usize) -> Result<(TokenKind, usize), ExprError> {
    let mut length = 0;
    let mut before = ' ';
    for character in rest.chars() {
        let sign = matches!(character, '+' | '-') && (length == 0 || matches!(before, 'e' | 'E'));
        if !(character.is_ascii_alphanumeric() || character == '.' || sign) {
            break;
        }
        length += character.len_utf8();
        before = character;
    }
    let written = &rest[..length];
    let number = parse_number(written);
    if number.is_nan() {
        let shown = config_core::quoted(written);
        return Err(ExprError::new(at, format!("{shown} is not a number")));
    }
    Ok((TokenKind::Literal(ExprValue::Number(number)), length))
}
