//! What can be read of runs without asking an actor.

use std::sync::Arc;

use runner_core::state::RunState;
use store::{Store, StoreError};
use tokio::sync::watch;
use url::Url;

use crate::artifacts::Artifact;
use crate::counters::RunCounters;
use crate::log::Logs;
use crate::records::RunRecord;
use crate::rows;
use crate::run_files::RunFiles;
use crate::run_queue::RunQueue;
use crate::vmm_status::VmmStatus;

/// What can be read of runs: records, logs, artifacts.
#[derive(Clone)]
pub struct RunnerView {
    pub(crate) store: Store,
    pub(crate) files: RunFiles,
    pub(crate) queue: RunQueue,
    pub(crate) counters: Arc<RunCounters>,
    pub(crate) vmm_status: VmmStatus,
    pub(crate) public_url: Option<Url>,
    pub(crate) changes: watch::Receiver<u64>,
}

impl RunnerView {
    /// One run.
    ///
    /// # Errors
    /// The store's.
    pub async fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        let id = id.to_owned();
        self.store.read(move |rows| rows::run(rows, &id)).await
    }

    /// The newest runs first, at most `limit`, of one repository when it is named. Those whose
    /// events started nothing are none of them.
    ///
    /// # Errors
    /// The store's.
    pub async fn runs(
        &self,
        repository: Option<String>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError> {
        self.runs_that(repository, limit, false).await
    }

    /// The newest events that started nothing first, each with the reason.
    ///
    /// # Errors
    /// The store's.
    pub async fn ignored(
        &self,
        repository: Option<String>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError> {
        self.runs_that(repository, limit, true).await
    }

    async fn runs_that(
        &self,
        repository: Option<String>,
        limit: usize,
        ignored: bool,
    ) -> Result<Vec<RunRecord>, StoreError> {
        let mut runs = self.store.read(|rows| rows::all(rows)).await?;
        runs.retain(|run| (run.state == RunState::Ignored) == ignored);
        runs.reverse();
        if let Some(repository) = repository {
            runs.retain(|run| run.repository.eq_ignore_ascii_case(&repository));
        }
        runs.truncate(limit);
        Ok(runs)
    }

    /// The logs.
    #[must_use]
    pub fn logs(&self) -> &Logs {
        &self.files.logs
    }

    /// A run's artifacts.
    #[must_use]
    pub fn artifacts(&self, run: &str) -> Vec<Artifact> {
        self.files.artifacts.list(run)
    }

    /// The tar of an artifact.
    #[must_use]
    pub fn artifact(&self, run: &str, name: &str) -> Option<std::path::PathBuf> {
        self.files.artifacts.find(run, name)
    }

    /// Counts changes of records.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        let mut changes = self.changes.clone();
        changes.mark_unchanged();
        changes
    }

    /// What is counted.
    #[must_use]
    pub fn counters(&self) -> &RunCounters {
        &self.counters
    }

    /// Stored runs that wait to be started.
    #[must_use]
    pub fn runs_waiting(&self) -> usize {
        self.queue.waiting()
    }

    /// Where people read runs.
    #[must_use]
    pub fn public_url(&self) -> Option<&Url> {
        self.public_url.as_ref()
    }

    /// Why the VM manager gives no VMs, as a job or the garbage collector last saw it.
    #[must_use]
    pub fn vmm_trouble(&self) -> Option<String> {
        self.vmm_status.trouble()
    }

    /// Whether the store takes writes.
    #[must_use]
    pub fn store_health(&self) -> store::Health {
        self.store.health()
    }
}
