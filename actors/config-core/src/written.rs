//! A file's values as they are written: escapes decoded, no variable put in.
//!
//! Who compares two versions of a file compares these: in the text a `$` can be spelt `\u0024`, and
//! after expansion nobody can tell where a value came from.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::tree::{ConfigEntry, ConfigNode, ConfigValue};

/// A value as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenValue {
    /// A string, escapes decoded.
    Text(String),
    /// A list.
    List(Vec<WrittenValue>),
    /// A table; its entries are sorted by key. A key that is there twice has two entries.
    Table(Vec<(String, WrittenValue)>),
    /// Anything that holds no text: a number, a truth value, nothing.
    Plain(String),
}

impl WrittenValue {
    /// The values of a table's key; none where this is no table.
    pub fn get<'w>(&'w self, key: &'w str) -> impl Iterator<Item = &'w WrittenValue> {
        let entries = match self {
            Self::Table(entries) => entries.as_slice(),
            _ => &[],
        };
        let with_key = entries.iter().filter(move |(name, _)| name == key);
        with_key.map(|(_, value)| value)
    }

    /// Paths of what differs, in the order of the keys: of tables what is in them, of anything else
    /// the whole.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let mut paths = Vec::new();
        self.add_differing("", other, &mut paths);
        paths
    }

    fn add_differing(&self, path: &str, other: &Self, paths: &mut Vec<String>) {
        let (Self::Table(own), Self::Table(others)) = (self, other) else {
            if self != other {
                paths.push(path.to_owned());
            }
            return;
        };
        let keys = own.iter().chain(others).map(|(key, _)| key.as_str());
        let keys: BTreeSet<&str> = keys.collect();
        for key in keys {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{key}");
            match (self.get(key).next(), other.get(key).next()) {
                (Some(own), Some(other)) => own.add_differing(&path, other, paths),
                _ => paths.push(path),
            }
        }
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
pub(crate) fn add_places(path: &str, node: &ConfigNode, places: &mut Vec<TextPlace>) {
    match &node.value {
        ConfigValue::String(_) => places.push(TextPlace {
            key_path: path.to_owned(),
            range: node.span.start..node.span.end,
        }),
        ConfigValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add_places(&format!("{path}[{index}]"), item, places);
            }
        }
        ConfigValue::Table(entries) => {
            let dot = if path.is_empty() { "" } else { "." };
            for ConfigEntry { key, node, .. } in entries {
                add_places(&format!("{path}{dot}{key}"), node, places);
            }
        }
        _ => {}
    }
}

impl From<&ConfigNode> for WrittenValue {
    fn from(node: &ConfigNode) -> Self {
        match &node.value {
            ConfigValue::String(text) => Self::Text(text.written.clone()),
            ConfigValue::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            ConfigValue::Table(entries) => {
                let written = |entry: &ConfigEntry| (entry.key.clone(), Self::from(&entry.node));
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
    use crate::{ConfigInput, Environment};

    #[test]
    fn i18_what_differs_is_named_by_its_path() {
        let environment = Environment::default();
        let read = |text: &str| ConfigInput::toml("x", text, &environment).written();
        let before = read("a = 1\nb = [1, 2]\n[c]\nd = \"x\"\ne = true\n");
        let before = before.expect("it is right");
        for (text, differing) in [
            ("b = [1,2] # a\na = 1\nc = {e = true, d = 'x'}\n", vec![]),
            (
                "b = [1]\nf = 1\n[c]\ne = true\nd = \"y\"\n",
                vec!["a", "b", "c.d", "f"],
            ),
            ("a = 1\nb = [1, 2]\nc = 3\n", vec!["c"]),
            ("a = 1\nb = [1, 2]\n", vec!["c"]),
        ] {
            let now = read(text).expect("it is right");
            assert_eq!(before.differing(&now), differing, "{text}");
        }
    }

    #[test]
    fn t1_escapes_are_decoded_and_variables_are_not_put_in() {
        let environment = Environment::from_iter([("A", "secret")]);
        let text = r#"{"b": ["\u0024{A}", 1], "a": "$\u007bA}"}"#;
        let written = ConfigInput::json("x", text, &environment)
            .written()
            .unwrap();
        let text = |text: &str| WrittenValue::Text(text.to_owned());
        assert_eq!(written.get("a").collect::<Vec<_>>(), [&text("${A}")]);
        let list = written.get("b").next().unwrap();
        assert!(list.may_hold_variable());
        let WrittenValue::List(items) = list else {
            panic!("{list:?}")
        };
        assert_eq!(items[0], text("${A}"));
        assert!(!items[1].may_hold_variable());
        assert!(ConfigInput::json("x", "{", &environment).written().is_err());
    }
}
