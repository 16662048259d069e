//! TOML text to a tree.

use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeString, DeTable, DeValue, Error};

use super::toml_depth::first_too_deep;
use crate::source::{Finding, Source, Span};
use crate::tree::{Entry, Node, Text, Value};

/// The one error after which the tree can still be trusted: the first of both values is kept.
const DUPLICATE_KEY: &str = "duplicate key";

pub(super) fn parse(source: &Source, findings: &mut Vec<Finding>) -> Option<Node> {
    if let Some(span) = first_too_deep(source.text()) {
        findings.push(super::format::too_deep(span));
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let readable = errors.iter().all(|error| error.message() == DUPLICATE_KEY);
    findings.extend(errors.iter().map(syntax_error));
    readable.then(|| Node {
        span: Span::new(0, 0),
        value: entries(table.get_ref()),
    })
}

fn syntax_error(error: &Error) -> Finding {
    let span = error
        .span()
        .map_or(Span::default(), |span| Span::new(span.start, span.end));
    Finding::error(span, error.message())
}

/// The entries in the order of the text (the parser's map sorts them by name).
fn entries(table: &DeTable<'_>) -> Value {
    let mut entries: Vec<Entry> = table.iter().map(|(key, value)| entry(key, value)).collect();
    entries.sort_by_key(|entry| entry.key_span);
    Value::Table(entries)
}

fn entry(key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) -> Entry {
    let key_span = Span::new(key.span().start, key.span().end);
    Entry {
        key: key.get_ref().to_string(),
        key_span,
        node: node(value),
    }
}

fn node(value: &Spanned<DeValue<'_>>) -> Node {
    let converted = match value.get_ref() {
        DeValue::String(text) => Value::String(Text::new(text.as_ref())),
        DeValue::Integer(integer) => self::integer(integer),
        DeValue::Float(float) => self::float(float),
        DeValue::Boolean(boolean) => Value::Boolean(*boolean),
        DeValue::Datetime(_) => Value::DateTime,
        DeValue::Array(items) => Value::Array(items.iter().map(node).collect()),
        DeValue::Table(table) => entries(table),
    };
    Node {
        span: Span::new(value.span().start, value.span().end),
        value: converted,
    }
}

fn integer(integer: &DeInteger<'_>) -> Value {
    i128::from_str_radix(integer.as_str(), integer.radix()).map_or(Value::Huge, Value::Integer)
}

/// `inf` and `nan` are TOML, but no setting can use them.
fn float(float: &DeFloat<'_>) -> Value {
    match float.as_str().parse::<f64>() {
        Ok(value) if value.is_finite() => Value::Float(value),
        _ => Value::Huge,
    }
}
