//! The messages of the orchestrator's actors. An early tick is requested by
//! [`TickTrigger`](crate::TickTrigger).
//!
//! | Message | Sent by | Handled by | The reply means |
//! |---|---|---|---|
//! | [`Admit`] | the receiver | `Intake` | the event is durable, and what became of it |
//! | [`AdmitFound`] | `Poller` | `Intake` | the same, for an event that was found by asking the forge |
//! | [`Tick`] | `OperatorApi`, after a reload | `Dispatcher` | a whole tick has ended |
//! | [`PollProject`] | `Dispatcher` | `Poller` | none |
//! | [`CheckBeforeStart`] | `Intake`, `Dispatcher` | `Preflight` | none |
//! | [`CollectWorktrees`] | `Dispatcher` | `WorktreeGc` | how many worktrees were removed |
//! | `Get…`, [`TryRoute`], [`CancelAgentRun`], [`RetryRun`], [`PauseProject`], [`CheckConfig`], [`ReloadConfig`] | the admin bridge | `OperatorApi` | the answer, or why there is none |

use actix::Message;
use forge_core::{Delivery, ForgeEvent, ProjectId, RunId};
use orchestrator_core::Millis;
use orchestrator_core::admin::{
    AgentList, CalendarView, CancelReply, CheckView, JournalPage, ProjectView, PromptView,
    RetryReply, RouteAnswer, RouteQuestion, RunList, RunView, StatusView, WebhookReply,
};
use store::StoreError;

use crate::ledger::RunQuery;

/// Take in a webhook delivery whose signature holds.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<WebhookReply, StoreError>")]
pub struct Admit(pub Box<Delivery>);

/// Take in an event that was found by asking the forge.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<WebhookReply, StoreError>")]
pub struct AdmitFound {
    /// As a webhook would have delivered it.
    pub event: Box<ForgeEvent>,
    /// When the forge was asked: what has come in since then is newer.
    pub asked_at: Millis,
}

/// Make a whole tick now.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "()")]
pub struct Tick;

/// Ask the forge what was missed.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct PollProject(pub ProjectId);

/// Ask the forge what a waiting run depends on: whether its author may write to the repository, or
/// its commit is to be checked.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub struct CheckBeforeStart(pub RunId);

/// Remove worktrees of ended runs that were not modified for half an hour.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "usize")]
pub struct CollectWorktrees;

/// Why an operator's request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperatorError {
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// It cannot be done in its present state.
    #[error("{0}")]
    Conflict(String),
    /// What was asked is not right.
    #[error("{0}")]
    Invalid(String),
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The whole status.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<StatusView, OperatorError>")]
pub struct GetStatus;

/// The agents, of one project or of all.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<AgentList, OperatorError>")]
pub struct GetAgents {
    /// Of this project.
    pub project: Option<String>,
}

/// A page of runs.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<RunList, OperatorError>")]
pub struct GetRuns(pub RunQuery);

/// One run.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<RunView, OperatorError>")]
pub struct GetRun(pub RunId);

/// A page of the journal.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<JournalPage, OperatorError>")]
pub struct GetJournal {
    /// Entries after this one.
    pub after: u64,
    /// At most so many.
    pub limit: usize,
}

/// The prompt of an agent, without running it.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<PromptView, OperatorError>")]
pub struct GetPrompt {
    /// The project.
    pub project: String,
    /// The agent.
    pub agent: String,
}

/// The dates of all schedules within so many days from now.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<CalendarView, OperatorError>")]
pub struct GetCalendar {
    /// How many.
    pub days: u64,
}

/// Where a text would lead; nothing is stored or started.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<RouteAnswer, OperatorError>")]
pub struct TryRoute(pub RouteQuestion);

/// End a run.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<CancelReply, OperatorError>")]
pub struct CancelAgentRun(pub RunId);

/// Repeat a run that has ended.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<RetryReply, OperatorError>")]
pub struct RetryRun(pub RunId);

/// Hold back or let go a project's runs.
#[derive(Debug, Clone, Message)]
#[rtype(result = "Result<ProjectView, OperatorError>")]
pub struct PauseProject {
    /// Its id.
    pub project: String,
    /// Whether it is to be paused.
    pub paused: bool,
}

/// Check the files as they are on disk.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<CheckView, OperatorError>")]
pub struct CheckConfig;

/// Check the files, and put them in force when they are right.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<CheckView, OperatorError>")]
pub struct ReloadConfig;
