//! What opening an index says, and whether it has all of its source: what is not in an index that
//! is being made again is not gone.

use std::path::{Path, PathBuf};

use search_engine::index::OpenOutcome;

use super::index_loop::IndexLoop;
use crate::snapshots::SnapshotMode;

/// The file that is there while the index of a source, in the folder of indices, has all of the
/// source as it was at some time.
#[must_use]
pub fn in_step_mark(indices: &Path, source: &str) -> PathBuf {
    indices.join(format!("{source}.in-step"))
}

impl IndexLoop {
    /// The index has all of its source.
    pub(super) fn record_in_step(&self) {
        let mark = in_step_mark(&self.settings.data, &self.handle.id);
        // Without it an export removes nothing, and the next comparison tries again.
        let _ = std::fs::write(mark, b"");
    }

    /// Whether it has is to be seen, where it was not left so.
    pub(super) fn check_in_step(&self, opened: &OpenOutcome) {
        // An indexer of several takes up what another one has published, whole or not.
        let takes_up = matches!(self.settings.snapshots, SnapshotMode::Indexer { .. });
        if takes_up || !matches!(opened, OpenOutcome::Existing) {
            let mark = in_step_mark(&self.settings.data, &self.handle.id);
            let _ = std::fs::remove_file(mark);
        }
    }

    /// Says how the index was opened, where documents have to be indexed again.
    pub(super) fn report_open_outcome(&self, opened: &OpenOutcome) -> Option<String> {
        let source = self.handle.haystack.name.as_str();
        match opened {
            OpenOutcome::Created | OpenOutcome::Existing => None,
            OpenOutcome::Rebuilt { reason } => {
                tracing::warn!(event = "index.rebuilt", source, reason);
                Some(format!(
                    "its index could not be used ({reason}): all of it is being indexed again"
                ))
            }
            OpenOutcome::Repaired { reason } => {
                tracing::warn!(event = "index.damaged", source, reason);
                Some(format!("{reason}: documents are being indexed again"))
            }
        }
    }
}
