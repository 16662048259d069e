//! One value of the file, as decoders see it.

use std::ops::Range;
use std::path::Path;

use super::session::DecodeSession;
use crate::expand::span_within;
use crate::source::SourceFinding;
use crate::suggest::quoted;
use crate::syntax::ConfigFormat;
use crate::tree::{ConfigNode, ConfigValue};
use crate::value_error::ValueError;

/// A value, its place, and the means to say what is wrong with it.
#[derive(Clone)]
pub struct ConfigItem<'d> {
    pub(super) session: &'d DecodeSession<'d>,
    pub(super) node: &'d ConfigNode,
    /// For example `roles[1].name`.
    pub(super) path: String,
}

impl<'d> ConfigItem<'d> {
    pub(crate) fn root(session: &'d DecodeSession<'d>, node: &'d ConfigNode) -> Self {
        Self {
            session,
            node,
            path: String::new(),
        }
    }

    pub(super) fn child(&self, key: &str, node: &'d ConfigNode) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self {
            session: self.session,
            node,
            path: format!("{}{dot}{key}", self.path),
        }
    }

    fn element(&self, index: usize, node: &'d ConfigNode) -> Self {
        Self {
            session: self.session,
            node,
            path: format!("{}[{index}]", self.path),
        }
    }

    /// The folder that relative paths of the file are meant from.
    pub fn base(&self) -> &'d Path {
        self.session.base
    }

    /// The path of the value, for example `roles[1].name`; empty for the root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether this is an object (a table) that has `key`; to tell apart forms of one file.
    pub fn has_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Whether this is an array; reports nothing.
    pub fn is_array(&self) -> bool {
        matches!(self.node.value, ConfigValue::Array(_))
    }

    /// The string here, if it is one and its variables are right; reports nothing.
    pub fn peek(&self) -> Option<&'d str> {
        match &self.node.value {
            ConfigValue::String(text) => text.value.as_deref(),
            _ => None,
        }
    }

    /// The value of `key`, if this is an object (a table) that has it; reports nothing.
    pub fn get(&self, key: &str) -> Option<Self> {
        let ConfigValue::Table(entries) = &self.node.value else {
            return None;
        };
        let entry = entries.iter().find(|entry| entry.key == key)?;
        Some(self.child(key, &entry.node))
    }

    /// Reports what is wrong with this value.
    pub fn error(&self, error: impl Into<ValueError>) {
        let error = error.into();
        let finding = SourceFinding::error(self.node.pointer(), error.message);
        self.report(SourceFinding {
            help: error.help,
            ..finding
        });
    }

    /// Reports what is wrong with a part of this string: a range of bytes of its value. The place
    /// is exact unless the string has escapes or variables.
    pub fn error_within(&self, part: Range<usize>, error: impl Into<ValueError>) {
        let error = error.into();
        let span = match &self.node.value {
            ConfigValue::String(text) if !text.is_expanded() => {
                span_within(self.session.source, self.node.span, &text.written, part)
            }
            _ => self.node.pointer(),
        };
        self.report(SourceFinding {
            help: error.help,
            ..SourceFinding::error(span, error.message)
        });
    }

    pub(super) fn report(&self, finding: SourceFinding) {
        self.session.report(SourceFinding {
            key_path: self.path.clone(),
            ..finding
        });
    }

    /// Reports that a value of another type stands here.
    pub(super) fn expected<T>(&self, expected: &str) -> Option<T> {
        if matches!(self.node.value, ConfigValue::Reported) {
            return None;
        }
        self.error(format!("expected {expected}, found {}", self.description()));
        None
    }

    /// What stands here, in words.
    fn description(&self) -> String {
        match &self.node.value {
            ConfigValue::Null => "null".to_owned(),
            ConfigValue::Boolean(boolean) => format!("boolean {boolean}"),
            ConfigValue::Integer(integer) => format!("integer {integer}"),
            ConfigValue::Float(_) | ConfigValue::Huge | ConfigValue::Reported => {
                let literal = self.session.source.slice(self.node.span);
                format!("number {}", quoted(literal).trim_matches('`'))
            }
            ConfigValue::String(text) => format!("string {}", quoted(&text.written)),
            ConfigValue::DateTime => "a date or time".to_owned(),
            ConfigValue::Array(_) => "an array".to_owned(),
            ConfigValue::Table(_) => self.session.format.table().to_owned(),
        }
    }

    /// The language of the file.
    pub fn format(&self) -> ConfigFormat {
        self.session.format
    }

    /// Reads each element of an array; `None` when one of them is wrong.
    pub fn list<T>(&self, mut read: impl FnMut(&Self) -> Option<T>) -> Option<Vec<T>> {
        let ConfigValue::Array(items) = &self.node.value else {
            return self.expected("an array");
        };
        let elements = items
            .iter()
            .enumerate()
            .map(|(index, node)| self.element(index, node));
        let read: Vec<Option<T>> = elements.map(|element| read(&element)).collect();
        read.into_iter().collect()
    }

    /// The same for an array that must not be empty; `missing` says what it lacks ("needs at least
    /// one haystack").
    pub fn non_empty_list<T>(
        &self,
        missing: &str,
        read: impl FnMut(&Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let list = self.list(read)?;
        if list.is_empty() {
            self.error(ValueError::new(missing));
            return None;
        }
        Some(list)
    }
}

impl From<&str> for ValueError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<String> for ValueError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}
