//! Merge keys (`<<`) of YAML 1.1, which Gitea and Forgejo read: the entries of other mappings,
//! under those that a mapping has itself.

use std::collections::HashSet;
use std::sync::Arc;

use super::error::YamlError;
use super::{NodeData, YamlEntry, YamlNode};
use crate::limits::MAX_NODES;

/// The key that stands for the entries of others.
pub(super) const MERGE_KEY: &str = "<<";

/// What becomes of merge keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeKeys {
    /// They are a mistake, as GitHub has it.
    Refused,
    /// They are written out.
    Merged,
}

/// A mapping with what its merge key names: its own entries win, then earlier ones. The sizes of
/// what is merged were counted where it was named.
///
/// # Errors
/// When it names something else than mappings, or the mapping grows too large.
pub(super) fn merged(mut entries: Vec<YamlEntry>) -> Result<Vec<YamlEntry>, YamlError> {
    let Some(at) = entries.iter().position(|entry| entry.key == MERGE_KEY) else {
        return Ok(entries);
    };
    let merge = entries.remove(at);
    let sources: Vec<&Arc<YamlNode>> = match &merge.value.data {
        NodeData::List(all) => all.iter().collect(),
        _ => vec![&merge.value],
    };
    let mut known: HashSet<String> = entries.iter().map(|own| own.key.to_lowercase()).collect();
    for source in sources {
        let NodeData::Map(more) = &source.data else {
            let message = format!("`<<` names {}, expected a mapping", source.kind());
            return Err(YamlError::new(merge.key_place, message));
        };
        for entry in more {
            if entries.len() >= MAX_NODES {
                return Err(YamlError::new(
                    merge.key_place,
                    "`<<` names too many entries",
                ));
            }
            if known.insert(entry.key.to_lowercase()) {
                entries.push(YamlEntry {
                    key: entry.key.clone(),
                    key_place: entry.key_place,
                    value: Arc::clone(&entry.value),
                });
            }
        }
    }
    Ok(entries)
}
