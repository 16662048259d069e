//! The keys of one object (table).

use std::collections::HashMap;

use super::item::ConfigItem;
use crate::severity::Severity;
use crate::source::{SourceFinding, Span};
use crate::suggest::{quoted, suggestion};
use crate::tree::{ConfigEntry, ConfigValue};
use crate::unknown_keys::UnknownKeys;
use crate::value_error::ValueError;

/// Reads the keys of an object. Made by [`ConfigItem::fields`], which reports unknown and repeated
/// keys.
pub struct ObjectFields<'d> {
    item: ConfigItem<'d>,
    entries: &'d [ConfigEntry],
    what: String,
    keys: Vec<String>,
    /// The known keys that are not written, one of which an unknown key may stand for.
    absent: Vec<String>,
}

impl<'d> ObjectFields<'d> {
    fn new(item: ConfigItem<'d>, entries: &'d [ConfigEntry], what: &str, keys: &[&str]) -> Self {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let absent = |key: &&String| entries.iter().all(|entry| entry.key != **key);
        let absent = keys.iter().filter(absent).cloned().collect();
        Self {
            item,
            entries,
            what: what.to_owned(),
            keys,
            absent,
        }
    }

    /// Reads a key that may be absent; `null` is absent. `None` also when its value is wrong: that
    /// is reported, and decoding as a whole fails.
    pub fn optional<T>(
        &self,
        key: &str,
        read: impl FnOnce(&ConfigItem<'d>) -> Option<T>,
    ) -> Option<T> {
        debug_assert!(
            self.keys.iter().any(|known| known == key),
            "{key} is not listed as known"
        );
        let entry = self.entry(key)?;
        let absent = matches!(entry.node.value, ConfigValue::Null);
        (!absent).then(|| read(&self.item.child(key, &entry.node)))?
    }

    /// Reads a key that must be there; `None` after its absence or its value was reported.
    pub fn required<T>(
        &self,
        key: &str,
        read: impl FnOnce(&ConfigItem<'d>) -> Option<T>,
    ) -> Option<T> {
        if let Some(entry) = self.entry(key) {
            return read(&self.item.child(key, &entry.node));
        }
        if !self.is_misspelt(key) {
            self.error(ValueError::new(format!(
                "missing key `{key}` in {}",
                self.what
            )));
        }
        None
    }

    fn entry(&self, key: &str) -> Option<&'d ConfigEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Whether the key is written, and not `null`.
    pub fn contains(&self, key: &str) -> bool {
        let entry = self.entry(key);
        entry.is_some_and(|entry| !matches!(entry.node.value, ConfigValue::Null))
    }

    /// Whether the key is neither given nor misspelt (which is reported already).
    pub fn is_absent(&self, key: &str) -> bool {
        !self.contains(key) && !self.is_misspelt(key)
    }

    /// Reports what is wrong with the object as a whole.
    pub fn error(&self, error: impl Into<ValueError>) {
        self.item.error(error);
    }

    /// Reports what is wrong with the value of `key`, or with the object when it is absent.
    pub fn error_at(&self, key: &str, error: impl Into<ValueError>) {
        match self.entries.iter().find(|entry| entry.key == key) {
            Some(entry) => self.item.child(key, &entry.node).error(error),
            None => self.item.error(error),
        }
    }

    /// An unknown key that most likely stands for `key` is reported as such: to call `key` missing
    /// as well would be the same mistake told twice.
    fn is_misspelt(&self, key: &str) -> bool {
        let strict = self.item.session.unknown_keys == UnknownKeys::Refuse;
        strict
            && self
                .unknown()
                .any(|entry| self.closest_key(&entry.key) == Some(key))
    }

    fn unknown(&self) -> impl Iterator<Item = &'d ConfigEntry> {
        let known = |entry: &&ConfigEntry| !self.keys.contains(&entry.key);
        self.entries.iter().filter(known)
    }

    fn closest_key(&self, key: &str) -> Option<&str> {
        suggestion(key, self.absent.iter().map(String::as_str))
    }

    fn check_keys(&self) {
        self.check_duplicates();
        self.unknown().for_each(|entry| self.report_unknown(entry));
    }

    fn report_unknown(&self, entry: &ConfigEntry) {
        let message = format!("unknown key {} in {}", quoted(&entry.key), self.what);
        let severity = match self.item.session.unknown_keys {
            UnknownKeys::Refuse => Severity::Error,
            UnknownKeys::Warn => Severity::Warning,
        };
        let help = match self.closest_key(&entry.key) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if self.keys.is_empty() => "no keys are known here".to_owned(),
            None => format!("known keys: {}", self.keys.join(", ")),
        };
        let finding = SourceFinding {
            severity,
            ..SourceFinding::error(entry.key_span, message)
        }
        .help(help);
        self.item.child(&entry.key, &entry.node).report(finding);
    }

    /// JSON leaves open what a repeated key means (RFC 8259 section 4), so it is refused.
    fn check_duplicates(&self) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for entry in self.entries {
            let Some(first) = seen.insert(&entry.key, entry.key_span) else {
                continue;
            };
            let line = self.item.session.source.position(first.start).line;
            let message = format!("key {} is written twice", quoted(&entry.key));
            let finding = SourceFinding::error(entry.key_span, message);
            let help = format!("it is on line {line} already");
            self.item
                .child(&entry.key, &entry.node)
                .report(finding.help(help));
        }
    }
}

impl<'d> ConfigItem<'d> {
    /// Reads an object (a table). `what` names it in messages ("a role"), `keys` are all keys it
    /// may have; any other is reported, as is a key written twice.
    pub fn fields<T>(
        &self,
        what: &str,
        keys: &[&str],
        read: impl FnOnce(&ObjectFields<'d>) -> Option<T>,
    ) -> Option<T> {
        let ConfigValue::Table(entries) = &self.node.value else {
            return self.expected(self.session.format.table());
        };
        let fields = ObjectFields::new(self.clone(), entries, what, keys);
        fields.check_keys();
        read(&fields)
    }

    /// The keys of an object (a table) whose keys are free, each with its value; a key written
    /// twice is reported.
    pub fn entries<T>(
        &self,
        mut read: impl FnMut(&str, &Self) -> Option<T>,
    ) -> Option<Vec<(String, T)>> {
        let ConfigValue::Table(entries) = &self.node.value else {
            return self.expected(self.session.format.table());
        };
        ObjectFields::new(self.clone(), entries, "", &[]).check_duplicates();
        let each = entries.iter().map(|entry| {
            let value = read(&entry.key, &self.child(&entry.key, &entry.node));
            value.map(|value| (entry.key.clone(), value))
        });
        let read: Vec<Option<(String, T)>> = each.collect();
        read.into_iter().collect()
    }
}
