//! JSON text to a tree.
//!
//! The tokens are looked at first (depth, and what RFC 8259 forbids but a reader can understand);
//! then the text is parsed leniently, so that one comment does not hide the other mistakes.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::json_errors::syntax_error;
use super::json_rules::{check_tokens, has_control, number_fault};
use crate::source::{Finding, Source};
use crate::tree::{Entry, Node, Text, Value};

pub(super) fn parse(source: &Source, findings: &mut Vec<Finding>) -> Option<Node> {
    if !check_tokens(source, findings) {
        return None;
    }
    let options = ParseOptions {
        allow_extended_string_escapes: false,
        ..Default::default()
    };
    match parse_to_ast(source.text(), &CollectOptions::default(), &options) {
        Ok(result) => result.value.as_ref().map(|value| node(value, source)),
        Err(error) => {
            let finding = syntax_error(&error);
            // A word without quotes, for example, stops the parser too.
            if findings
                .iter()
                .all(|known| known.span.start != finding.span.start)
            {
                findings.push(finding);
            }
            None
        }
    }
}

fn node(value: &ast::Value<'_>, source: &Source) -> Node {
    let converted = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Boolean(literal.value),
        ast::Value::NumberLit(literal) => number(literal.value),
        ast::Value::StringLit(literal) if has_control(source.slice(literal.range.into())) => {
            Value::Reported
        }
        ast::Value::StringLit(literal) => Value::String(Text::new(literal.value.as_ref())),
        ast::Value::Array(array) => Value::Array(
            array
                .elements
                .iter()
                .map(|value| node(value, source))
                .collect(),
        ),
        ast::Value::Object(object) => Value::Table(
            object
                .properties
                .iter()
                .map(|entry| self::entry(entry, source))
                .collect(),
        ),
    };
    Node {
        span: value.range().into(),
        value: converted,
    }
}

fn entry(property: &ast::ObjectProp<'_>, source: &Source) -> Entry {
    let (key, range) = match &property.name {
        ast::ObjectPropName::String(literal) => (literal.value.as_ref(), literal.range),
        ast::ObjectPropName::Word(word) => (word.value, word.range),
    };
    Entry {
        key: key.to_owned(),
        key_span: range.into(),
        node: node(&property.value, source),
    }
}

fn number(literal: &str) -> Value {
    if number_fault(literal).is_some() {
        return Value::Reported;
    }
    if !literal.contains(['.', 'e', 'E']) {
        return literal.parse().map_or(Value::Huge, Value::Integer);
    }
    match literal.parse::<f64>() {
        Ok(float) if float.is_finite() => Value::Float(float),
        _ => Value::Huge,
    }
}
