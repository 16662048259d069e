//! What exists, as the admin bridge shows it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /admin/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusView {
    /// The program's version.
    pub version: String,
    /// When it started.
    pub started_at: String,
    /// When the configuration was read last.
    pub configured_at: String,
    /// Seconds between two ticks.
    pub tick_interval_secs: u64,
    /// When the last tick ended.
    pub last_tick_at: Option<String>,
    /// How long it took, in milliseconds.
    pub last_tick_ms: Option<u64>,
    /// How many ticks there were.
    pub ticks: u64,
    /// When the next one is due, if nothing wakes it.
    pub next_tick_at: Option<String>,
    /// Id of the main project, which `orchctl trigger` means unless told otherwise.
    pub main_project: String,
    /// Whether mentions are configured.
    pub mentions: bool,
    /// The queue.
    pub queue: QueueView,
    /// Projects.
    pub projects: Vec<ProjectView>,
    /// Runs with a process.
    pub running: Vec<RunView>,
    /// Statuses that are owed and not yet with the forge.
    pub statuses: Vec<StatusObligationView>,
    /// Posts to the forge that wait.
    pub outbox: u64,
    /// Posts that were given up.
    pub parked: u64,
    /// Providers whose circuit is not closed.
    pub breakers: Vec<String>,
    /// Agents in quarantine, `project/agent`.
    pub quarantined: Vec<String>,
    /// What is odd about the configuration.
    pub warnings: Vec<String>,
}

/// How many runs are in which state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueView {
    /// Waiting.
    pub queued: u64,
    /// Being started.
    pub starting: u64,
    /// With a process.
    pub running: u64,
    /// Age of the oldest that waits, in seconds.
    pub oldest_secs: u64,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectView {
    /// Its id.
    pub id: String,
    /// Its repository.
    pub repository: String,
    /// Whether it is paused.
    pub paused: bool,
    /// Agents it defines.
    pub agents: u64,
}

/// A commit status that is owed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusObligationView {
    /// The repository.
    pub repository: String,
    /// The commit.
    pub sha: String,
    /// The context.
    pub context: String,
    /// The state that is owed: `pending`, `success`, `failure`, `error`.
    pub state: String,
    /// The run it belongs to.
    pub run: Option<String>,
}

/// `GET /admin/agents`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentList {
    /// By project and name.
    pub agents: Vec<AgentView>,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    /// The routing table's row.
    #[serde(flatten)]
    pub route: RouteRow,
    /// One sentence.
    pub description: String,
    /// Its runs that wait.
    pub queued: u64,
    /// Its runs with a process.
    pub running: u64,
    /// Its last ended run.
    pub last_run: Option<String>,
    /// That run's exit class.
    pub last_class: Option<String>,
    /// Runs this month.
    pub month_runs: u64,
    /// Cost this month, in hundredths.
    pub month_cents: u64,
    /// Most runs a month, where that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_runs: Option<u64>,
    /// Most hundredths a month, where that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_cents: Option<u64>,
    /// Whether it is in quarantine.
    pub quarantined: bool,
    /// When its schedule is due next.
    pub next_due: Option<String>,
}

/// One row of the routing table, as `--check` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RouteRow {
    /// The project.
    pub project: String,
    /// The agent.
    pub agent: String,
    /// `safety`, `core` or `growth`.
    pub layer: String,
    /// Whether it may start.
    pub enabled: bool,
    /// The adapter.
    pub cli: String,
    /// The provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The persona.
    pub persona: Option<String>,
    /// The cron expression with its time zone.
    pub schedule: Option<String>,
    /// The status context, for fan-out agents.
    pub context: Option<String>,
    /// Wall-clock limit in seconds.
    pub max_cpu_seconds: u64,
    /// Runs at a time.
    pub max_parallel: u32,
    /// `none`, `base` or `head`.
    pub worktree: String,
    /// Further projects it can be named in.
    pub extra_projects: Vec<String>,
    /// Whether it has a forge token of its own.
    pub own_token: bool,
}

/// `GET /admin/runs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    /// Newest first.
    pub runs: Vec<RunView>,
    /// Give this as `before` for the next page.
    pub next: Option<String>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// The project it runs in.
    pub project: String,
    /// The agent.
    pub agent: String,
    /// The repository.
    pub repository: String,
    /// `mention`, `cli`, `pull_request` or `schedule`.
    pub trigger: String,
    /// For example `issue 7`, `pull request 12 at 0a1b2c3d4e5f`, `schedule 2026-11-21T…`.
    pub subject: String,
    /// The issue or pull request.
    pub issue: Option<u64>,
    /// A word of [`crate::run::AgentRunState`].
    pub state: String,
    /// Whether nothing follows.
    pub ended: bool,
    /// Why it waits: a word of [`crate::run::Hold`].
    pub hold: Option<String>,
    /// Why it was refused or ended early: a word of [`crate::run::Reason`].
    pub reason: Option<String>,
    /// What to do about it.
    pub detail: Option<String>,
    /// The status it owes or has made.
    pub context: Option<String>,
    /// The commit it is about.
    pub sha: Option<String>,
    /// When it was accepted.
    pub queued_at: String,
    /// When its process started.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Its process.
    pub pid: Option<u32>,
    /// How far the agent was kept apart: `sandbox`, `pid_namespace` or `none`.
    #[serde(default)]
    pub isolation: Option<String>,
    /// Its worktree.
    pub worktree: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// How it ended.
    pub exit: Option<ExitView>,
}

/// How a run's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExitView {
    /// A word of [`crate::run::ExitClass`].
    pub class: String,
    /// The status it returned.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// From start to end, in milliseconds.
    pub wall_ms: u64,
    /// Bytes it printed.
    pub output_bytes: u64,
    /// What it cost, in hundredths.
    pub cost_cents: Option<u64>,
    /// What decided the class.
    pub detail: Option<String>,
}

/// `GET /admin/agents/{project}/{agent}/prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromptView {
    /// The project.
    pub project: String,
    /// The agent.
    pub agent: String,
    /// The persona that was applied.
    pub persona: Option<String>,
    /// The skills that were put in.
    pub skills: Vec<String>,
    /// The model the routing tables chose.
    pub model: Option<String>,
    /// The prompt.
    pub prompt: String,
}

/// `POST /admin/check`, `POST /admin/reload` and `--check --format json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckView {
    /// Whether the configuration can be used.
    pub valid: bool,
    /// What is wrong and what is odd:
    /// `{"severity","file","line","col","message","help","key_path"}`.
    #[schema(value_type = Vec<Object>)]
    pub diagnostics: Vec<serde_json::Value>,
    /// The routing table; empty when the configuration is wrong.
    pub routes: Vec<RouteRow>,
}

/// `GET /admin/journal`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalPage {
    /// Oldest first.
    pub entries: Vec<JournalEntry>,
    /// Give this as `after` for the next page.
    pub next: Option<u64>,
    /// Number of the newest entry there is.
    #[serde(default)]
    pub last: Option<u64>,
}

/// One event of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JournalEntry {
    /// Its number, ascending.
    pub seq: u64,
    /// When.
    pub at: String,
    /// Its stable name, for example `agent.spawned`.
    pub event: String,
    /// The run it is about.
    pub run: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// One line.
    pub detail: String,
}
