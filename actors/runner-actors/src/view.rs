//! What can be read of runs without asking an actor.

use std::sync::Arc;

use cluster_actors::vm_hosts::VmHosts;
use runner_core::state::RunState;
use runner_core::test_report::{TestHistory, TestSummary};
use store::{Store, StoreError};
use tokio::sync::watch;
use url::Url;

use crate::artifacts::Artifact;
use crate::counters::RunCounters;
use crate::dispatch::{self, SeenRepository, StartableWorkflows};
use crate::hand_over_note::{self, HandOverNote};
use crate::job_admission::JobAdmission;
use crate::kept::KeptVms;
use crate::log::Logs;
use crate::log_reader::LogReader;
use crate::messages::DispatchFailure;
use crate::records::RunRecord;
use crate::repositories::Repositories;
use crate::rows;
use crate::run_files::RunFiles;
use crate::run_list::{RunFilter, RunListPage};
use crate::run_queue::RunQueue;
use crate::summary_rows::{self, SummaryPage, SummaryPlace};
use crate::test_view::{self, RunTestFilter, RunTests, TestFilter};

/// What can be read of runs: records, logs, artifacts.
#[derive(Clone)]
pub struct RunnerView {
    pub(crate) store: Store,
    pub(crate) files: RunFiles,
    pub(crate) queue: RunQueue,
    pub(crate) counters: Arc<RunCounters>,
    pub(crate) hosts: VmHosts,
    pub(crate) admission: JobAdmission,
    pub(crate) public_url: Option<Url>,
    pub(crate) changes: watch::Receiver<u64>,
    pub(crate) log_reader: LogReader,
    pub(crate) git: Repositories,
    pub(crate) kept: KeptVms,
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

    /// A run's record with the summaries of its steps, which are stored beside it.
    ///
    /// # Errors
    /// The store's.
    pub async fn with_summaries(&self, mut run: RunRecord) -> Result<RunRecord, StoreError> {
        self.store
            .read(move |rows| summary_rows::fill(rows, &mut run).map(|()| run))
            .await
    }

    /// A page of the summaries of a run's steps, of the jobs of one name where one is given.
    ///
    /// # Errors
    /// The store's.
    pub async fn summaries(
        &self,
        run: RunRecord,
        job: Option<String>,
        from: SummaryPlace,
    ) -> Result<SummaryPage, StoreError> {
        self.store
            .read(move |rows| SummaryPage::read(rows, &run, (job.as_deref(), from)))
            .await
    }

    /// A page of the runs that a filter shows, the newest first; from below the run `before`.
    ///
    /// # Errors
    /// The store's.
    pub async fn page(
        &self,
        filter: RunFilter,
        before: Option<String>,
        limit: usize,
    ) -> Result<RunListPage, StoreError> {
        let read = move |rows: &mut store::ReadTxn<'_>| rows::page(rows, &filter, before, limit);
        self.store.read(read).await
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
        let filter = RunFilter {
            repository,
            ..RunFilter::default()
        };
        Ok(self.page(filter, None, limit).await?.runs)
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
        let filter = RunFilter {
            repository,
            ignored: true,
            ..RunFilter::default()
        };
        Ok(self.page(filter, None, limit).await?.runs)
    }

    /// The newest run before this one of the same workflow and branch that succeeded.
    ///
    /// # Errors
    /// The store's.
    pub async fn last_green(&self, run: &RunRecord) -> Result<Option<RunRecord>, StoreError> {
        let Some(workflow) = run.workflow_file.clone() else {
            return Ok(None);
        };
        let filter = RunFilter {
            repository: Some(run.repository.clone()),
            workflow: Some(workflow),
            branch: Some(run.reference.clone()),
            states: vec![RunState::Succeeded],
            ..RunFilter::default()
        };
        let page = self.page(filter, Some(run.id.clone()), 1).await?;
        Ok(page.runs.into_iter().next())
    }

    /// The repositories that have pushed, by name.
    ///
    /// # Errors
    /// The store's.
    pub async fn repositories(&self) -> Result<Vec<SeenRepository>, StoreError> {
        let known = self.store.read(|rows| rows::all_known(rows)).await?;
        Ok(known.iter().map(SeenRepository::from_known).collect())
    }

    /// The workflows that somebody may start on a branch, as its newest commit has them.
    ///
    /// # Errors
    /// The store's; the inner one, when they cannot be known.
    pub async fn startable_workflows(
        &self,
        repository: &str,
        branch: Option<String>,
    ) -> Result<Result<StartableWorkflows, DispatchFailure>, StoreError> {
        dispatch::startable(&self.store, self.git.clone(), repository, branch).await
    }

    /// The tests of a run that a filter shows.
    ///
    /// # Errors
    /// The store's.
    pub async fn tests(
        &self,
        run: &RunRecord,
        filter: RunTestFilter,
    ) -> Result<RunTests, StoreError> {
        test_view::of_run(&self.store, run, filter).await
    }

    /// The tests of a repository in its newest runs, in numbers.
    ///
    /// # Errors
    /// The store's.
    pub async fn test_summaries(&self, filter: TestFilter) -> Result<Vec<TestSummary>, StoreError> {
        test_view::summaries_of(&self.store, filter).await
    }

    /// The tests of a repository, run by run.
    ///
    /// # Errors
    /// The store's.
    pub async fn test_histories(&self, filter: TestFilter) -> Result<Vec<TestHistory>, StoreError> {
        test_view::histories_of(&self.store, filter).await
    }

    /// Reads logs by line.
    #[must_use]
    pub fn log_reader(&self) -> LogReader {
        self.log_reader.clone()
    }

    /// The logs.
    #[must_use]
    pub fn logs(&self) -> &Logs {
        &self.files.logs
    }

    /// A run's artifacts. Blocks.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn artifacts(&self, run: &str) -> std::io::Result<Vec<Artifact>> {
        self.files.artifacts.list_shown(run)
    }

    /// The tar of an artifact, as a file of this machine. Blocks.
    ///
    /// # Errors
    /// When it cannot be read where it is stored.
    pub fn artifact(&self, run: &str, name: &str) -> std::io::Result<Option<std::path::PathBuf>> {
        self.files.artifacts.find_shown(run, name)
    }

    /// Why logs, artifacts and caches cannot be shared now, as it was last seen.
    #[must_use]
    pub fn objects_trouble(&self) -> Option<String> {
        self.files.shared.as_ref()?.trouble()
    }

    /// What the leader of an epoch noted of a hand-over that it was asked for.
    ///
    /// # Errors
    /// The store's.
    pub async fn hand_over_of(&self, epoch: u64) -> Result<Option<HandOverNote>, StoreError> {
        hand_over_note::load_note(&self.store, epoch).await
    }

    /// Whether they are shared at all.
    #[must_use]
    pub fn shares_files(&self) -> bool {
        self.files.shared.is_some()
    }

    /// VMs of failed jobs that are kept.
    #[must_use]
    pub fn kept(&self) -> &KeptVms {
        &self.kept
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

    /// Whether jobs begin, and how many have a machine.
    #[must_use]
    pub fn job_admission(&self) -> &JobAdmission {
        &self.admission
    }

    /// The hosts of VMs.
    #[must_use]
    pub fn vm_hosts(&self) -> &VmHosts {
        &self.hosts
    }

    /// Why no VM host gives VMs, as a job or the garbage collector last saw it.
    #[must_use]
    pub fn vmm_trouble(&self) -> Option<String> {
        self.hosts.trouble()
    }

    /// Whether the store takes writes.
    #[must_use]
    pub fn store_health(&self) -> store::StoreHealth {
        self.store.health()
    }

    /// Whether another process has taken the store.
    #[must_use]
    pub fn has_lost_store(&self) -> bool {
        self.store.is_taken_over()
    }
}
