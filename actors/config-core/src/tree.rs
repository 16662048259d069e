//! The tree of values both syntaxes are read into; each value knows its place.

use crate::source::Span;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConfigNode {
    pub(crate) span: Span,
    pub(crate) value: ConfigValue,
}

/// What a file can hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConfigValue {
    /// JSON only.
    Null,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    /// A number no type can hold (`1e999`).
    Huge,
    /// What stands here is wrong and has been reported.
    Reported,
    String(ConfigString),
    /// TOML only; a date or time as it was written.
    DateTime,
    Array(Vec<ConfigNode>),
    Table(Vec<ConfigEntry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConfigEntry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) node: ConfigNode,
}

/// A string before and after `${VAR}` was put in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConfigString {
    /// As written, escapes decoded.
    pub(crate) written: String,
    /// With variables; nothing when one of them was wrong (which is reported already).
    pub(crate) value: Option<String>,
}

impl ConfigString {
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

impl ConfigNode {
    /// Where to point when the whole value is meant: an object's opening only.
    pub(crate) fn pointer(&self) -> Span {
        match self.value {
            ConfigValue::Array(_) | ConfigValue::Table(_) => self.span.opening(),
            _ => self.span,
        }
    }
}
