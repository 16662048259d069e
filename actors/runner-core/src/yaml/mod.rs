//! YAML 1.2 to a tree with places: one document, no duplicate keys, bounded in every direction.

mod error;
mod indent;
mod keys;
mod load;
mod merge;
mod scalar;

use std::sync::Arc;

pub(crate) use load::load;
pub(crate) use merge::MergeKeys;
pub(crate) use scalar::resolve;

use crate::expr::ExprValue;
use crate::source_location::SourceLocation;

/// A value of a file.
#[derive(Debug)]
pub(crate) struct YamlNode {
    pub(crate) place: SourceLocation,
    pub(crate) data: NodeData,
}

/// What a value is.
#[derive(Debug)]
pub(crate) enum NodeData {
    /// A scalar: its text, and what it stands for (quoted, it is always a text).
    Scalar { text: String, value: ExprValue },
    /// A list.
    List(Vec<Arc<YamlNode>>),
    /// A mapping, in order; no key twice.
    Map(Vec<YamlEntry>),
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct YamlEntry {
    pub(crate) key: String,
    pub(crate) key_place: SourceLocation,
    pub(crate) value: Arc<YamlNode>,
}

impl YamlNode {
    /// What kind it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.data {
            NodeData::Scalar {
                value: ExprValue::Null,
                ..
            } => "empty",
            NodeData::Scalar {
                value: ExprValue::Bool(_),
                ..
            } => "a boolean",
            NodeData::Scalar {
                value: ExprValue::Number(_),
                ..
            } => "a number",
            NodeData::Scalar { .. } => "a text",
            NodeData::List(_) => "a list",
            NodeData::Map(_) => "a mapping",
        }
    }

    /// The entry of a mapping's key.
    pub(crate) fn entry(&self, key: &str) -> Option<&YamlEntry> {
        match &self.data {
            NodeData::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The text of a scalar that is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.data {
            NodeData::Scalar {
                text,
                value: ExprValue::Text(_),
            } => Some(text),
            _ => None,
        }
    }

    /// The elements of a list; of a scalar the scalar itself, of nothing nothing.
    pub(crate) fn items(&self) -> Vec<&YamlNode> {
        match &self.data {
            NodeData::List(values) => values.iter().map(|value| &**value).collect(),
            NodeData::Scalar {
                value: ExprValue::Null,
                ..
            }
            | NodeData::Map(_) => Vec::new(),
            NodeData::Scalar { .. } => vec![self],
        }
    }

    /// Whether it is a list without elements.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.data, NodeData::List(values) if values.is_empty())
    }

    /// Whether it is nothing (an empty value, `~`, `null`).
    pub(crate) fn is_null(&self) -> bool {
        matches!(
            &self.data,
            NodeData::Scalar {
                value: ExprValue::Null,
                ..
            }
        )
    }
}
