//! What asking one source brought.

use std::time::Duration;

use search_sources_core::SourceItem;

/// What one source answered.
#[derive(Debug, Clone, Default)]
pub struct SourceOutcome {
    /// Id of its handle.
    pub id: String,
    /// What it said; nothing when it failed.
    pub items: Vec<SourceItem>,
    /// Why it did not answer, or not completely.
    pub error: Option<String>,
    /// Time until it had answered, or had not.
    pub took: Duration,
}
