//! What a run has on the disk: its log and its artifacts; and what is shared with other processes.

use std::time::Instant;

use cluster_actors::replica::{
    FileKey, FileMigration, FileTables, FirstFault, SharedFile, SharedFiles,
};
use store::Store;

use crate::artifacts::ArtifactStore;
use crate::caches::CacheStore;
use crate::clock::now_ms;
use crate::log::Logs;
use crate::orphans::remove_orphans;
use crate::settings::RunnerSettings;
use crate::{shared_logs, tar_store};

/// The folder of logs below the data.
pub(crate) const LOGS: &str = "logs";

/// Where their rows are.
pub(crate) const FILES: FileTables = FileTables::new(
    "runner_files",
    "runner_file_contents",
    "runner_installation",
);

/// The files of all runs.
#[derive(Clone)]
pub(crate) struct RunFiles {
    pub(crate) logs: Logs,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) caches: CacheStore,
    pub(crate) shared: Option<SharedFiles>,
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
                let shared = files.logs.shared().map_or(Ok(()), |logs| logs.remove(run));
                if let Err(error) = shared.and_then(|()| files.artifacts.remove_run(run)) {
                    tracing::warn!(event = "run.files_left", run, %error, "files of a forgotten run are left");
                }
            }
        });
        // It goes on by itself.
        drop(removal);
    }

    /// Removes artifacts whose time is over. Blocks.
    pub(crate) fn remove_expired(&self) {
        match self.artifacts.remove_expired(now_ms()) {
            Ok(0) => {}
            Ok(artifacts) => {
                tracing::info!(
                    event = "run.artifacts_expired",
                    artifacts,
                    "artifacts are removed whose retention is over"
                );
            }
            Err(error) => {
                tracing::warn!(event = "run.files_left", %error, "artifacts whose retention is over are left");
            }
        }
    }

    /// Removes what forgotten runs left, stores what is not stored yet, and removes objects that
    /// nothing names any more. `store` has the runs. Blocks.
    pub(crate) fn maintain(&self, store: &Store, state: &mut RunCleanupState) {
        if let Some(shared) = &self.shared {
            shared.probe();
        }
        if let Err(error) = self.try_to_tend(store, state) {
            tracing::warn!(event = "objects.tend_failed", %error, "what is shared by object storage is looked after later");
        }
    }

    /// Each as far as it goes: what cannot be read or stored holds up nothing else.
    fn try_to_tend(&self, store: &Store, state: &mut RunCleanupState) -> std::io::Result<()> {
        let mut faults = FirstFault::default();
        if !state.looked {
            let looked = self.scan(store, &mut faults);
            state.looked = faults.record(looked).is_some();
        }
        let Some(shared) = &self.shared else {
            return faults.end();
        };
        if let Some(logs) = self.logs.shared() {
            faults.record(logs.store_pending());
        }
        if !state.moved {
            let artifacts = faults.record(self.artifacts.move_local());
            let caches = faults.record(self.caches.move_local());
            let moved = artifacts.unwrap_or_default() + caches.unwrap_or_default();
            if moved > 0 {
                tracing::info!(
                    event = "objects.moved",
                    moved,
                    "artifacts and caches of this machine are in the object storage now"
                );
            }
            state.moved = artifacts.is_some() && caches.is_some();
        }
        faults.record(shared.sweep_when_due(&mut state.swept));
        faults.end()
    }

    fn scan(&self, store: &Store, faults: &mut FirstFault) -> std::io::Result<()> {
        let known = remove_orphans((&self.logs, &self.artifacts), store, faults)?;
        let logs = self.logs.shared();
        logs.map_or(Ok(()), |logs| logs.find_unstored(&known))
    }
}

/// What a runner has in object storage, to be moved; nothing where it has none.
#[must_use]
pub fn file_migration(settings: &RunnerSettings, leave_damaged: bool) -> Option<FileMigration> {
    Some(FileMigration {
        data: settings.data.clone(),
        from: settings.objects.clone()?,
        tables: FILES,
        bring,
        leave_damaged,
    })
}

fn bring(files: &SharedFiles, key: &FileKey, file: &SharedFile) -> std::io::Result<()> {
    let data = files.data();
    match key.0.as_str() {
        shared_logs::KIND => shared_logs::bring_log(&data.join(LOGS), files, (&key.1, file)),
        _ => tar_store::bring_entry(data, files, key, file),
    }
}

/// What was done in this incarnation.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunCleanupState {
    /// Files of previous incarnations were looked for.
    looked: bool,
    /// Those that lay on this machine only are where every process can read them.
    moved: bool,
    swept: Option<Instant>,
}

#[cfg(test)]
mod claim_tests;
#[cfg(test)]
mod loss_tests;
#[cfg(test)]
mod maintenance_tests;
#[cfg(test)]
mod migration_tests;
#[cfg(test)]
mod tests;
