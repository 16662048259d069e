//! The values of expressions: JSON's six kinds, compared and converted by GitHub's rules.

use std::fmt::Write as _;
use std::sync::Arc;

use super::ordered_map::OrderedMap;
use super::text_case::{folded, same_text};
use crate::limits::MAX_VALUE_BYTES;

/// A value of an expression. Cheap to copy: texts, lists and objects are shared.
#[derive(Debug, Clone, Default)]
pub enum ExprValue {
    /// Nothing.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(Arc<str>),
    /// A list.
    List(Arc<Vec<ExprValue>>),
    /// An object.
    Object(Arc<Object>),
}

/// An object: its keys in order, found without regard to case when there is no exact one.
pub type Object = OrderedMap<ExprValue>;

impl ExprValue {
    /// A text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Text(text.as_ref().into())
    }

    /// An object of these entries; of equal keys the first is found.
    pub fn object<K: AsRef<str>, V: Into<ExprValue>>(
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self::Object(Arc::new(entries.into_iter().collect()))
    }

    /// A list.
    pub fn list(values: Vec<ExprValue>) -> Self {
        Self::List(Arc::new(values))
    }

    /// Whether `if` and `&&` take it as true: everything but null, false, 0, NaN and the empty
    /// text.
    pub fn truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
            Self::List(_) | Self::Object(_) => true,
        }
    }

    /// As a number: null is 0, true is 1, a text what it spells or NaN, lists and objects NaN.
    pub fn number(&self) -> f64 {
        match self {
            Self::Null => 0.0,
            Self::Bool(value) => f64::from(u8::from(*value)),
            Self::Number(number) => *number,
            Self::Text(text) => parse_number(text),
            Self::List(_) | Self::Object(_) => f64::NAN,
        }
    }

    /// As it stands in a text: null is empty, a list `Array`, an object `Object`.
    pub fn as_text(&self) -> Arc<str> {
        match self {
            Self::Null => "".into(),
            Self::Bool(value) => if *value { "true" } else { "false" }.into(),
            Self::Number(number) => format_number(*number).into(),
            Self::Text(text) => text.clone(),
            Self::List(_) => "Array".into(),
            Self::Object(_) => "Object".into(),
        }
    }

    /// Whether it is neither a list nor an object.
    pub fn is_primitive(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Object(_))
    }

    /// `==`: texts without regard to case, different kinds as numbers, lists and objects by
    /// identity.
    pub fn loosely_equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => same_text(left, right),
            (Self::List(left), Self::List(right)) => Arc::ptr_eq(left, right),
            (Self::Object(left), Self::Object(right)) => Arc::ptr_eq(left, right),
            (left, right) => left.number() == right.number(),
        }
    }

    /// `<`, `>` and their like: texts without regard to case, all else as numbers; NaN has no
    /// order.
    pub fn order(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Self::Text(left), Self::Text(right)) => Some(folded(left).cmp(folded(right))),
            (left, right) => left.number().partial_cmp(&right.number()),
        }
    }

    /// The value of a property, of an object only.
    pub fn get(&self, key: &str) -> Option<&ExprValue> {
        match self {
            Self::Object(object) => object.get(key),
            _ => None,
        }
    }

    /// Roughly how many bytes it takes, no further than `most`.
    pub fn size(&self, most: usize) -> usize {
        let add = |sum: usize, size: usize| sum.saturating_add(size).min(most);
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => 8,
            Self::Text(text) => text.len() + 8,
            Self::List(values) => values.iter().fold(8, |sum, value| {
                if sum >= most {
                    sum
                } else {
                    add(sum, value.size(most - sum))
                }
            }),
            Self::Object(object) => object.iter().fold(8, |sum, (key, value)| {
                if sum >= most {
                    sum
                } else {
                    add(sum, key.len() + value.size(most - sum))
                }
            }),
        }
    }

    /// As `toJSON` writes it: two spaces of indentation.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_json(&mut text, 0);
        text
    }

    /// Stops soon after more was written than a value may have; the caller refuses it then.
    fn write_json(&self, out: &mut String, depth: usize) {
        if out.len() > MAX_VALUE_BYTES {
            return;
        }
        let indent = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(_) | Self::Number(_) => out.push_str(&self.as_text()),
            Self::Text(text) => write_json_text(out, text),
            Self::List(values) if values.is_empty() => out.push_str("[]"),
            Self::List(values) => {
                for (index, value) in values.iter().enumerate() {
                    out.push(if index == 0 { '[' } else { ',' });
                    indent(out, depth + 1);
                    value.write_json(out, depth + 1);
                }
                indent(out, depth);
                out.push(']');
            }
            Self::Object(object) if object.is_empty() => out.push_str("{}"),
            Self::Object(object) => {
                for (index, (key, value)) in object.iter().enumerate() {
                    out.push(if index == 0 { '{' } else { ',' });
                    indent(out, depth + 1);
                    write_json_text(out, key);
                    out.push_str(": ");
                    value.write_json(out, depth + 1);
                }
                indent(out, depth);
                out.push('}');
            }
        }
    }
}

fn write_json_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// The number a text spells: decimal, hexadecimal, octal, `Infinity`; empty is 0; else NaN.
pub(crate) fn parse_number(text: &str) -> f64 {
    let text = text.trim();
    if text.is_empty() {
        return 0.0;
    }
    let radix = |digits: &str, radix| i32_of(digits, radix).map_or(f64::NAN, f64::from);
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    match text {
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        // Rust also reads `inf` and `nan`, which are no numbers here.
        _ if text.contains(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E') => f64::NAN,
        _ => text.parse().unwrap_or(f64::NAN),
    }
}

/// Digits of a number of 32 bits; a sign is not one.
fn i32_of(digits: &str, radix: u32) -> Option<i32> {
    let all = digits.chars().all(|digit| digit.is_digit(radix));
    let bits = u32::from_str_radix(digits, radix).ok().filter(|_| all)?;
    Some(bits.cast_signed())
}

/// A number with at most 15 digits, in scientific notation from 1E+15 and below 0.0001.
pub(crate) fn format_number(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{number:.14e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-5..15).contains(&exponent) {
        let decimals = usize::try_from(14 - exponent).unwrap_or(0);
        let fixed = format!("{number:.decimals$}");
        return trimmed(&fixed).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}E{sign}{:02}", trimmed(mantissa), exponent.abs())
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

impl From<bool> for ExprValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for ExprValue {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for ExprValue {
    fn from(value: &str) -> Self {
        Self::text(value)
    }
}

impl From<String> for ExprValue {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

/// Equal in every part, as the matrix's `exclude` and tests compare; not the `==` of expressions.
impl PartialEq for ExprValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(left), Self::List(right)) => left == right,
            (Self::Object(left), Self::Object(right)) => {
                let same = |(key, value): (&str, &Self)| right.get(key) == Some(value);
                left.len() == right.len() && left.iter().all(same)
            }
            (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Number(left), Self::Number(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => left == right,
            _ => false,
        }
    }
}

impl<K: AsRef<str>, V: Into<ExprValue>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut object = Self::default();
        for (key, value) in entries {
            object.push(key.as_ref().into(), value.into());
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_keys_are_found_alike() {
        for count in [3_u32, 40] {
            let mut object: Object = (0..count)
                .map(|key| (format!("Key{key}"), f64::from(key)))
                .collect();
            object.set("KEY2", 7.0.into());
            object.set("Key1", 8.0.into());
            let number = |key: &str| object.get(key).map(ExprValue::number);
            assert_eq!(number("Key2"), Some(2.0));
            assert_eq!(number("KEY2"), Some(7.0));
            assert_eq!(
                number("key2"),
                Some(2.0),
                "the first of those that differ in case"
            );
            assert_eq!(number("key1"), Some(8.0));
            assert_eq!(number("other"), None);
            assert_eq!(object.len(), count as usize + 1);
        }
    }
}
