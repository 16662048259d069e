//! Texts that break the language at one place, as while they are typed: without what is broken, so
//! that the fields, quotes and exclusions before it go on to hold.

use super::error::QueryError;
use super::lexer::EXPRESSION;
use super::terms::Field;

/// Things that are left out of one text.
const MAX_FAULTS: usize = 4;

/// Words from which on a text was pasted: its signs are its own.
const PASTED_WORDS: usize = 24;

/// Gives the texts without the first fault, without the second, and so on, to `parse` until it
/// finds none; `None` where that does not lead to a query.
pub(super) fn parse_repaired<Q>(
    text: &str,
    fault: &QueryError,
    mut parse: impl FnMut(&str) -> Result<Q, QueryError>,
) -> Option<(String, Q)> {
    if text.trim().contains('\n') || text.split_whitespace().count() >= PASTED_WORDS {
        return None;
    }
    let mut shorter = without(text, fault)?;
    for _ in 0..MAX_FAULTS {
        match parse(&shorter) {
            Ok(query) => return Some((shorter, query)),
            Err(fault) => shorter = without(&shorter, &fault)?,
        }
    }
    None
}

/// The text without what is at fault; `None` where more than a sign is wrong.
fn without(text: &str, fault: &QueryError) -> Option<String> {
    let QueryError::Syntax { position, .. } = fault else {
        return None;
    };
    let at = text.char_indices().nth(*position).map(|(at, _)| at)?;
    let (before, rest) = text.split_at(at);
    let left_out = |length: usize| Some(format!("{before} {}", &rest[length..]));
    if rest.starts_with(['(', ')']) {
        return left_out(1);
    }
    if rest.starts_with("\"\"") {
        return left_out(2);
    }
    if let Some(phrase) = rest.strip_prefix('"') {
        return Some(format!("{before} {}", words_of(phrase)));
    }
    if let Some(expression) = rest.strip_prefix(EXPRESSION) {
        return Some(format!("{before} {}", words_of(expression)));
    }
    let word = rest.split(|c: char| c.is_whitespace() || c == ')').next()?;
    if matches!(word, "AND" | "OR" | "NOT") {
        return left_out(word.len());
    }
    let (field, _) = word.split_once(':')?;
    let is_field = Field::ALL.into_iter().any(|one| one.as_str() == field);
    is_field.then(|| left_out(word.len()))?
}

/// What stands behind something that is not closed: its words, where no sign means anything.
fn words_of(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "\"():*`".contains(c)) {
        let word = word.trim_start_matches('-');
        match word {
            "" => {}
            "AND" | "OR" | "NOT" => words.push(word.to_lowercase()),
            _ => words.push(word.to_owned()),
        }
    }
    words.join(" ")
}
