//! Summaries already made, in the local state.

use std::sync::Arc;

use store::LocalState;
use store::local::LocalChange;

use super::failure::ChatFailure;

/// The namespace; keys are hashes of text, length, provider and model.
const NAMESPACE: &str = "summaries";
/// The most summaries kept, about.
const MAX_SUMMARIES: u64 = 10_000;
/// The entries are counted when a new key begins with a byte below this: at one insertion of 64.
const COUNTED_BELOW: u8 = 4;
/// Entries evicted at once. Keys are hashes, so the first ones are random ones.
const EVICTED_AT_ONCE: usize = 1_000;

/// The kept summaries. Calls block.
#[derive(Debug, Clone)]
pub(super) struct SummaryCache {
    state: Arc<dyn LocalState>,
}

impl SummaryCache {
    pub(super) fn new(state: Arc<dyn LocalState>) -> Self {
        Self { state }
    }

    pub(super) fn get(&self, key: &[u8; 32]) -> Result<Option<String>, ChatFailure> {
        let kept = self.state.get(NAMESPACE, key)?;
        // What cannot be read is made again.
        Ok(kept.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    pub(super) fn insert(&self, key: &[u8; 32], summary: &str) -> Result<(), ChatFailure> {
        let mut changes = Vec::new();
        if key[0] < COUNTED_BELOW && self.state.size(NAMESPACE)?.entries > MAX_SUMMARIES {
            let first = self.state.scan(NAMESPACE, b"", None, EVICTED_AT_ONCE)?;
            changes.extend(
                first
                    .iter()
                    .map(|(key, _)| LocalChange::delete(NAMESPACE, key)),
            );
        }
        changes.push(LocalChange::put(NAMESPACE, key, summary.as_bytes()));
        self.state.batch(&changes)?;
        Ok(())
    }
}
