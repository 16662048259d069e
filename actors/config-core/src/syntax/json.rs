//! JSON text to a tree.
//!
//! The tokens are looked at first (depth, and what RFC 8259 forbids but a reader can understand);
//! then the text is parsed leniently, so that one comment does not hide the other mistakes.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::json_errors::syntax_error;
use super::json_rules::{check_tokens, has_control, number_fault};
use crate::source::{NamedText, SourceFinding};
use crate::tree::{ConfigEntry, ConfigNode, ConfigString, ConfigValue};

pub(super) fn parse(source: &NamedText, findings: &mut Vec<SourceFinding>) -> Option<ConfigNode> {
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

fn node(value: &ast::Value<'_>, source: &NamedText) -> ConfigNode {
    let converted = match value {
        ast::Value::NullKeyword(_) => ConfigValue::Null,
        ast::Value::BooleanLit(literal) => ConfigValue::Boolean(literal.value),
        ast::Value::NumberLit(literal) => number(literal.value),
        ast::Value::StringLit(literal) if has_control(source.slice(literal.range.into())) => {
            ConfigValue::Reported
        }
        ast::Value::StringLit(literal) => {
            ConfigValue::String(ConfigString::new(literal.value.as_ref()))
        }
        ast::Value::Array(array) => ConfigValue::Array(
            array
                .elements
                .iter()
                .map(|value| node(value, source))
                .collect(),
        ),
        ast::Value::Object(object) => ConfigValue::Table(
            object
                .properties
                .iter()
                .map(|entry| self::entry(entry, source))
                .collect(),
        ),
    };
    ConfigNode {
        span: value.range().into(),
        value: converted,
    }
}

fn entry(property: &ast::ObjectProp<'_>, source: &NamedText) -> ConfigEntry {
    let (key, range) = match &property.name {
        ast::ObjectPropName::String(literal) => (literal.value.as_ref(), literal.range),
        ast::ObjectPropName::Word(word) => (word.value, word.range),
    };
    ConfigEntry {
        key: key.to_owned(),
        key_span: range.into(),
        node: node(&property.value, source),
    }
}

fn number(literal: &str) -> ConfigValue {
    if number_fault(literal).is_some() {
        return ConfigValue::Reported;
    }
    if !literal.contains(['.', 'e', 'E']) {
        return literal
            .parse()
            .map_or(ConfigValue::Huge, ConfigValue::Integer);
    }
    match literal.parse::<f64>() {
        Ok(float) if float.is_finite() => ConfigValue::Float(float),
        _ => ConfigValue::Huge,
    }
}
