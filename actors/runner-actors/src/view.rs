//! What can be read of runs without asking an actor.

use std::sync::Arc;

use runner_core::state::RunState;
use store::StoreError;
use tokio::sync::watch;

use crate::figures::Figures;
use crate::job::Stored;
use crate::log::Logs;
use crate::records::RunRecord;
use crate::rows;
use crate::service::Shared;

/// What can be read of runs: records, logs, artifacts.
#[derive(Clone)]
pub struct RunnerView {
    pub(crate) shared: Arc<Shared>,
}

impl RunnerView {
    /// One run.
    ///
    /// # Errors
    /// The store's.
    pub async fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        let id = id.to_owned();
        self.shared
            .store
            .read(move |rows| rows::run(rows, &id))
            .await
    }

    /// The newest runs first, at most `limit`, of one repository when it is named. Those whose events started nothing are none of them.
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
        let mut runs = self.shared.store.read(|rows| rows::all(rows)).await?;
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
        &self.shared.logs
    }

    /// A run's artifacts.
    #[must_use]
    pub fn artifacts(&self, run: &str) -> Vec<Stored> {
        self.shared.stores.list_artifacts(run)
    }

    /// The tar of an artifact.
    #[must_use]
    pub fn artifact(&self, run: &str, name: &str) -> Option<std::path::PathBuf> {
        self.shared.stores.artifact(run, name)
    }

    /// Counts changes of records.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// What is counted.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.shared.figures
    }

    /// Stored runs that wait to be started.
    #[must_use]
    pub fn runs_waiting(&self) -> usize {
        self.shared.waiting()
    }

    /// Where people read runs.
    #[must_use]
    pub fn public_url(&self) -> Option<&url::Url> {
        self.shared.settings.public_url.as_ref()
    }

    /// Why the VM manager gives no VMs, as a job or the caretaker last saw it.
    #[must_use]
    pub fn vmm_trouble(&self) -> Option<String> {
        self.shared.trouble.reason()
    }

    /// Whether the store takes writes.
    #[must_use]
    pub fn store_health(&self) -> store::Health {
        self.shared.store.health()
    }
}
