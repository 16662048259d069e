//! The entries of a mapping by their keys.

use config_core::quoted;

use super::dialect::Dialect;
use super::reader::{WorkflowReader, unknown};
use crate::yaml::{NodeData, YamlEntry, YamlNode};

/// The values of a mapping by their keys.
#[derive(Clone, Copy)]
pub(crate) struct MappingFields<'n> {
    pub(super) entries: &'n [YamlEntry],
}

impl<'n> MappingFields<'n> {
    /// Those of a value that is a mapping.
    pub(crate) fn from_node(node: &'n YamlNode) -> Option<Self> {
        match &node.data {
            NodeData::Map(entries) => Some(Self { entries }),
            _ => None,
        }
    }

    /// All of them, in order.
    pub(crate) fn entries(&self) -> &'n [YamlEntry] {
        self.entries
    }

    /// The entry of a key.
    pub(crate) fn entry(&self, key: &str) -> Option<&'n YamlEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key that is there.
    pub(crate) fn get(&self, key: &str) -> Option<&'n YamlNode> {
        self.entry(key).map(|entry| &*entry.value)
    }

    /// Reads the value of a key that is there and not empty.
    pub(crate) fn read<T>(
        &self,
        reader: &WorkflowReader<'_>,
        key: &str,
        read: impl FnOnce(&'n YamlNode) -> Option<T>,
    ) -> Option<T> {
        let node = self.get(key).filter(|node| !node.is_null())?;
        reader.at_key(key, || read(node))
    }
}

impl WorkflowReader<'_> {
    /// The mapping's values by their keys; keys that are not `known` are errors, but at Gitea,
    /// which does not look at them.
    pub(crate) fn fields<'n>(
        &self,
        node: &'n YamlNode,
        what: &str,
        known: &[&str],
    ) -> Option<MappingFields<'n>> {
        let entries = self.entries(node, what)?;
        for entry in unknown(entries, known) {
            let message = format!("unknown key {} in {what}", quoted(&entry.key));
            match self.dialect {
                Dialect::Gitea => {
                    let help = self.near(&entry.key, known, "Gitea ignores it; known are");
                    self.warn(entry.key_place, message, help);
                }
                _ => {
                    let help = self.near(&entry.key, known, "known are");
                    self.error_help(entry.key_place, message, help);
                }
            }
        }
        Some(MappingFields { entries })
    }

    /// The same where GitHub does not look at other keys: they are warnings.
    pub(crate) fn loose_fields<'n>(
        &self,
        node: &'n YamlNode,
        what: &str,
        known: &[&str],
    ) -> Option<MappingFields<'n>> {
        let entries = self.entries(node, what)?;
        for entry in unknown(entries, known) {
            let message = format!("{what} has no option {}", quoted(&entry.key));
            let help = self.near(&entry.key, known, "GitHub ignores it; there are");
            self.warn(entry.key_place, message, help);
        }
        Some(MappingFields { entries })
    }
}
