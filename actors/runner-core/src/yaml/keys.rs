//! Keys of mappings.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use config_core::quoted;

use super::error::YamlError;
use super::merge::{MERGE_KEY, MergeKeys};
use super::{NodeData, YamlNode};
use crate::expr::ExprValue;
use crate::source_location::SourceLocation;

/// A key whose value comes next.
pub(super) struct PendingKey {
    pub(super) text: String,
    pub(super) place: SourceLocation,
    /// The line on which it was before: its value is not kept.
    pub(super) before: Option<u32>,
}

/// A key, if it is a scalar. `seen` has the lines of those before.
pub(super) fn new_key(
    node: &YamlNode,
    seen: &mut HashMap<String, u32>,
    merge: MergeKeys,
) -> Result<PendingKey, YamlError> {
    let NodeData::Scalar { text, value } = &node.data else {
        let error = YamlError::new(
            node.place,
            format!("a key is {}, expected a text", node.kind()),
        );
        return Err(match node.data {
            // `{{ name }}`
            NodeData::Map(_) => {
                error.help("a text with braces, or a template's placeholder, stands between quotes")
            }
            _ => error,
        });
    };
    // A quoted `<<` is a text like any other, but nobody means one.
    if text == MERGE_KEY && merge == MergeKeys::Refused {
        let error = YamlError::new(node.place, "merge keys (`<<`) are not part of YAML 1.2");
        return Err(error.help("write the entries out, or alias the whole mapping"));
    }
    let key = match value {
        ExprValue::Null => String::new(),
        _ => text.clone(),
    };
    let before = match seen.entry(key.to_lowercase()) {
        Entry::Occupied(before) => Some(*before.get()),
        Entry::Vacant(free) => {
            free.insert(node.place.line);
            None
        }
    };
    Ok(PendingKey {
        text: key,
        place: node.place,
        before,
    })
}

/// That a key was there before, on that line.
pub(super) fn twice(key: &PendingKey, line: u32) -> YamlError {
    let message = format!("{} is there twice, first on line {line}", quoted(&key.text));
    YamlError::new(key.place, message).help("keys that differ only in case are the same key")
}
