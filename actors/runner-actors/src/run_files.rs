//! What a run has on the disk: its log and its artifacts.

use crate::artifacts::ArtifactStore;
use crate::log::Logs;

/// The files of all runs.
#[derive(Clone)]
pub(crate) struct RunFiles {
    pub(crate) logs: Logs,
    pub(crate) artifacts: ArtifactStore,
}

impl RunFiles {
    /// Removes what forgotten runs left, on a thread that may block.
    pub(crate) fn remove(&self, runs: Vec<String>) {
        if runs.is_empty() {
            return;
        }
        let files = self.clone();
        let removal = tokio::task::spawn_blocking(move || {
            for run in &runs {
                // Gone already, or never there.
                let _ = std::fs::remove_file(files.logs.path(run));
                files.artifacts.remove_run(run);
            }
        });
        // It goes on by itself.
        drop(removal);
    }
}
