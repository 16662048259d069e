//! What the web edge reads of an orchestrator, without asking an actor.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use cluster_actors::vm_hosts::VmHosts;
use orchestrator_core::admin::RunList;
use orchestrator_core::config::Config;
use store::StoreError;
use tokio::sync::watch;

use crate::active_runs::EndCounters;
use crate::host::log_directory;
use crate::ledger::{self, Ledger, RunQuery};
use crate::run_logs::RunLogs;
use crate::ticks::TickStats;

/// Reads an orchestrator; clones are the same.
#[derive(Clone)]
pub struct OrchestratorView {
    pub(crate) ledger: Ledger,
    pub(crate) ended: EndCounters,
    pub(crate) ticks: watch::Receiver<TickStats>,
    pub(crate) logs: RunLogs,
    pub(crate) vm_hosts: VmHosts,
}

impl OrchestratorView {
    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        self.ledger.config()
    }

    /// The directory of a run's log.
    pub fn log_directory(&self, run: &str) -> PathBuf {
        log_directory(&self.ledger.config().directories.data, run)
    }

    /// Has the directory of an ended run hold its log, wherever it ran. Blocks.
    ///
    /// # Errors
    /// When it is elsewhere, and cannot be had now.
    pub fn fetch_log(&self, run: &str) -> std::io::Result<()> {
        self.logs.fetch(run)
    }

    /// Why the object storage cannot be used, as it was last seen.
    pub fn objects_trouble(&self) -> Option<String> {
        self.logs.trouble()
    }

    /// Changes whenever something new is in the journal.
    pub fn journal_changes(&self) -> watch::Receiver<u64> {
        self.ledger.journal_changes()
    }

    /// The hosts that agents' VMs are asked of.
    #[must_use]
    pub fn vm_hosts(&self) -> &VmHosts {
        &self.vm_hosts
    }

    /// Ended runs of this process by agent and exit class, for metrics.
    pub fn ended_runs(&self) -> BTreeMap<(String, &'static str), u64> {
        self.ended.snapshot()
    }

    /// Figures of the ticks.
    pub fn ticks(&self) -> TickStats {
        *self.ticks.borrow()
    }

    /// A page of runs, newest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn runs(&self, query: RunQuery) -> Result<RunList, StoreError> {
        self.ledger
            .read(move |rows| ledger::runs(rows, &query))
            .await
    }

    /// Whether the store can be used, for readiness.
    pub fn store_condition(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<> {
        self.ledger.store().condition()
    }

    /// Whether another process has taken the store.
    #[must_use]
    pub fn has_lost_store(&self) -> bool {
        self.ledger.store().is_taken_over()
    }
}
