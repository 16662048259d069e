//! A file's values as they are written: escapes decoded, no variable put in.
//!
//! Who compares two versions of a file compares these: in the text a `$` can be spelt `\u0024`, and
//! after expansion nobody can tell where a value came from.

use std::ops::Range;

use crate::tree::{Entry, Node, Value};

/// A value as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// A string, escapes decoded.
    Text(String),
    /// A list.
    List(Vec<Written>),
    /// A table; its entries are sorted by key. A key that is there twice has two entries.
    Table(Vec<(String, Written)>),
    /// Anything that holds no text: a number, a truth value, nothing.
    Plain(String),
}

impl Written {
    /// The values of a table's key; none where this is no table.
    pub fn get<'w>(&'w self, key: &'w str) -> impl Iterator<Item = &'w Written> {
        let entries = match self {
            Self::Table(entries) => entries.as_slice(),
            _ => &[],
        };
        let with_key = entries.iter().filter(move |(name, _)| name == key);
        with_key.map(|(_, value)| value)
    }

    /// Whether a string in it may name a variable. `$${` counts as well: that costs little, and no
    /// spelling is missed.
    pub fn may_hold_variable(&self) -> bool {
        match self {
            Self::Text(text) => text.contains("${"),
            Self::List(items) => items.iter().any(Self::may_hold_variable),
            Self::Table(entries) => entries.iter().any(|(_, value)| value.may_hold_variable()),
            Self::Plain(_) => false,
        }
    }
}

/// Where a string stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPlace {
    /// The path of the value, for example `roles[1].haystacks[0].location`.
    pub key_path: String,
    /// Bytes of the text, quotes included.
    pub range: Range<usize>,
}

/// Adds the places of all strings below `node`, which stands at `path`.
pub(crate) fn add_places(path: &str, node: &Node, places: &mut Vec<TextPlace>) {
    match &node.value {
        Value::String(_) => places.push(TextPlace {
            key_path: path.to_owned(),
            range: node.span.start..node.span.end,
        }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add_places(&format!("{path}[{index}]"), item, places);
            }
        }
        Value::Table(entries) => {
            let dot = if path.is_empty() { "" } else { "." };
            for Entry { key, node, .. } in entries {
                add_places(&format!("{path}{dot}{key}"), node, places);
            }
        }
        _ => {}
    }
}

impl From<&Node> for Written {
    fn from(node: &Node) -> Self {
        match &node.value {
            Value::String(text) => Self::Text(text.written.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Table(entries) => {
                let written = |entry: &Entry| (entry.key.clone(), Self::from(&entry.node));
                let mut entries: Vec<_> = entries.iter().map(written).collect();
                entries.sort_by(|(left, _), (right, _)| left.cmp(right));
                Self::Table(entries)
            }
            other => Self::Plain(format!("{other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Input};

    #[test]
    fn t1_escapes_are_decoded_and_variables_are_not_put_in() {
        let environment = Environment::from_iter([("A", "secret")]);
        let text = r#"{"b": ["\u0024{A}", 1], "a": "$\u007bA}"}"#;
        let written = Input::json("x", text, &environment).written().unwrap();
        let text = |text: &str| Written::Text(text.to_owned());
        assert_eq!(written.get("a").collect::<Vec<_>>(), [&text("${A}")]);
        let list = written.get("b").next().unwrap();
        assert!(list.may_hold_variable());
        let Written::List(items) = list else {
            panic!("{list:?}")
        };
        assert_eq!(items[0], text("${A}"));
        assert!(!items[1].may_hold_variable());
        assert!(Input::json("x", "{", &environment).written().is_err());
    }
}
