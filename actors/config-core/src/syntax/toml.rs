//! TOML text to a tree.

use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeString, DeTable, DeValue, Error};

use super::toml_depth::first_too_deep;
use crate::source::{NamedText, SourceFinding, Span};
use crate::tree::{ConfigEntry, ConfigNode, ConfigString, ConfigValue};

/// The one error after which the tree can still be trusted: the first of both values is kept.
const DUPLICATE_KEY: &str = "duplicate key";

pub(super) fn parse(source: &NamedText, findings: &mut Vec<SourceFinding>) -> Option<ConfigNode> {
    if let Some(span) = first_too_deep(source.text()) {
        findings.push(super::format::too_deep(span));
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let readable = errors.iter().all(|error| error.message() == DUPLICATE_KEY);
    findings.extend(errors.iter().map(syntax_error));
    readable.then(|| ConfigNode {
        span: Span::new(0, 0),
        value: entries(table.get_ref()),
    })
}

fn syntax_error(error: &Error) -> SourceFinding {
    let span = error
        .span()
        .map_or(Span::default(), |span| Span::new(span.start, span.end));
    SourceFinding::error(span, error.message())
}

/// The entries in the order of the text (the parser's map sorts them by name).
fn entries(table: &DeTable<'_>) -> ConfigValue {
    let mut entries: Vec<ConfigEntry> =
        table.iter().map(|(key, value)| entry(key, value)).collect();
    entries.sort_by_key(|entry| entry.key_span);
    ConfigValue::Table(entries)
}

fn entry(key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) -> ConfigEntry {
    let key_span = Span::new(key.span().start, key.span().end);
    ConfigEntry {
        key: key.get_ref().to_string(),
        key_span,
        node: node(value),
    }
}

fn node(value: &Spanned<DeValue<'_>>) -> ConfigNode {
    let converted = match value.get_ref() {
        DeValue::String(text) => ConfigValue::String(ConfigString::new(text.as_ref())),
        DeValue::Integer(integer) => self::integer(integer),
        DeValue::Float(float) => self::float(float),
        DeValue::Boolean(boolean) => ConfigValue::Boolean(*boolean),
        DeValue::Datetime(_) => ConfigValue::DateTime,
        DeValue::Array(items) => ConfigValue::Array(items.iter().map(node).collect()),
        DeValue::Table(table) => entries(table),
    };
    ConfigNode {
        span: Span::new(value.span().start, value.span().end),
        value: converted,
    }
}

fn integer(integer: &DeInteger<'_>) -> ConfigValue {
    i128::from_str_radix(integer.as_str(), integer.radix())
        .map_or(ConfigValue::Huge, ConfigValue::Integer)
}

/// `inf` and `nan` are TOML, but no setting can use them.
fn float(float: &DeFloat<'_>) -> ConfigValue {
    match float.as_str().parse::<f64>() {
        Ok(value) if value.is_finite() => ConfigValue::Float(value),
        _ => ConfigValue::Huge,
    }
}
