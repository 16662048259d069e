//! The tree of values both syntaxes are read into; each value knows its place.

use crate::source::Span;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

/// What a file can hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// JSON only.
    Null,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    /// A number no type can hold (`1e999`).
    Huge,
    /// What stands here is wrong and has been reported.
    Reported,
    String(Text),
    /// TOML only; a date or time as it was written.
    DateTime,
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) node: Node,
}

/// A string before and after `${VAR}` was put in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    /// As written, escapes decoded.
    pub(crate) written: String,
    /// With variables; nothing when one of them was wrong (which is reported already).
    pub(crate) value: Option<String>,
}

impl Text {
    pub(crate) fn new(written: impl Into<String>) -> Self {
        let written = written.into();
        Self {
            value: Some(written.clone()),
            written,
        }
    }

    /// Whether a variable was put in, so that messages must not show the value.
    pub(crate) fn is_expanded(&self) -> bool {
        self.value.as_ref() != Some(&self.written)
    }
}

impl Node {
    /// Where to point when the whole value is meant: an object's opening only.
    pub(crate) fn pointer(&self) -> Span {
        match self.value {
            Value::Array(_) | Value::Table(_) => self.span.opening(),
            _ => self.span,
        }
    }
}
