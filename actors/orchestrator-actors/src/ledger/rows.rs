//! The tables, and their rows.

use forge_actors::StoredTime;
use forge_core::{CommitSha, RepoName};
use orchestrator_core::Millis;
use orchestrator_core::health::{AgentUsage, Breaker};
use orchestrator_core::reconcile::ScheduleMark;
use orchestrator_core::run::{Run, RunContext, StatusKey};
use serde::{Deserialize, Serialize};
use store::{JsonRow, Row, Table};

/// A type of another crate as a row.
macro_rules! row {
    ($(#[$doc:meta])* $name:ident($inner:ty), $schema:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub(super) struct $name(pub(super) $inner);

        impl Row for $name {
            const SCHEMA: u16 = $schema;
        }
    };
}

row! {
    /// A run.
    RunRow(Run), 2
}

/// That a run is open, and how often its row was written: who holds the run as it was at that count
/// need not read it again.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct OpenRow(pub(super) u64);

impl Row for OpenRow {
    const SCHEMA: u16 = 2;
}

row! {
    /// What a run's agent is told.
    ContextRow(RunContext), 1
}
row! {
    /// The status a run owes.
    OwedRow(StatusKey), 1
}
row! {
    /// What an agent used in a month.
    UsageRow(AgentUsage), 1
}
row! {
    /// A provider's circuit.
    BreakerRow(Breaker), 1
}
row! {
    /// How far a schedule was followed.
    MarkRow(ScheduleMark), 1
}
row! {
    /// A commit whose statuses changed.
    HeadRow((RepoName, CommitSha)), 1
}
row! {
    /// That a key exists.
    Flag(()), 1
}
row! {
    /// A time.
    At(Millis), 1
}
row! {
    /// A count.
    Count(u32), 1
}

/// The VM of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunVm {
    /// The name of its host.
    pub host: String,
    /// Which host of that name: another one may be listed under it by now. Rows of former versions
    /// do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Its id there.
    pub vm: String,
    /// What separates it from its host, where its manager says so.
    pub isolation: Option<String>,
}

/// An event of the journal, as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JournalRow {
    pub(super) at: Millis,
    pub(super) event: String,
    pub(super) run: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) project: Option<String>,
    pub(super) detail: String,
}

impl Row for JournalRow {
    const SCHEMA: u16 = 1;
}

/// Every run, by id; ids sort by time.
pub(super) const RUNS: Table<String, RunRow> = Table::new("orch_runs");
/// The time by which records age.
pub(super) const AGES: Table<u8, StoredTime> = Table::new("orch_ages");
/// The ids of runs that have not ended.
pub(super) const OPEN: Table<String, OpenRow> = Table::new("orch_open");
/// What runs' agents are told.
pub(super) const CONTEXTS: Table<String, ContextRow> = Table::new("orch_contexts");
/// Runs that owe a status which is still pending.
pub(super) const OWED: Table<String, OwedRow> = Table::new("orch_owed");
/// Open runs of a pull request: repository, number, run.
pub(super) const PULL_RUNS: Table<(String, u64, String), Flag> = Table::new("orch_pull_runs");
/// Heads that were dispatched: repository, number, commit.
pub(super) const PULL_HEADS: Table<(String, u64, String), At> = Table::new("orch_pull_heads");
/// Dispatches of an issue: repository and number, time, run.
pub(super) const ISSUE_LOG: Table<(String, u64, String), Flag> = Table::new("orch_issue_log");
/// Usage: month, project, agent.
pub(super) const USAGE: Table<(String, String, String), UsageRow> = Table::new("orch_usage");
/// Circuits that are not closed.
pub(super) const BREAKERS: Table<String, BreakerRow> = Table::new("orch_breakers");
/// Configuration errors in a row: project, agent.
pub(super) const CONFIG_ERRORS: Table<(String, String), Count> = Table::new("orch_trouble");
/// Schedules: project, agent.
pub(super) const SCHEDULES: Table<(String, String), MarkRow> = Table::new("orch_schedules");
/// Paused projects.
pub(super) const PAUSED: Table<String, Flag> = Table::new("orch_paused");
/// When a run of a project started last.
pub(super) const STARTED: Table<String, At> = Table::new("orch_started");
/// How far each project's comments were read.
pub(super) const CURSORS: Table<String, At> = Table::new("orch_cursors");
/// Commits whose statuses changed, by time.
pub(super) const HEADS: Table<(u64, String), HeadRow> = Table::new("orch_heads");
/// Most entries of the journal.
pub(super) const MAX_JOURNAL: u64 = 100_000;
/// The journal.
pub(super) const JOURNAL: Table<u64, JournalRow> = Table::new("orch_journal");
/// VMs of active runs.
pub(super) const VMS: Table<String, JsonRow<RunVm>> = Table::new("orch_vms");
/// Runs whose worktree is on disk.
pub(super) const WORKTREES: Table<String, Flag> = Table::new("orch_worktrees");

/// A repository as part of a key: forges compare names without regard to case.
pub(super) fn folded(repository: &RepoName) -> String {
    repository.as_str().to_ascii_lowercase()
}
