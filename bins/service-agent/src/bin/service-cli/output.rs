//! What a command prints, and how it ended.

use serde_json::Value;
use service_agent::CommandResult;

/// A command that did what was asked.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// What is printed.
    pub(crate) text: String,
    /// Whether there was anything.
    pub(crate) outcome: CommandResult,
}

impl CommandOutput {
    /// A document; with a list that counts, an empty one is nothing found.
    pub(crate) fn document(document: &Value, list: Option<&str>) -> Self {
        let empty = list.is_some_and(|list| document[list].as_array().is_some_and(Vec::is_empty));
        Self {
            text: format!("{document:#}"),
            outcome: if empty {
                CommandResult::NothingFound
            } else {
                CommandResult::Found
            },
        }
    }
}
