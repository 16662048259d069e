//! What intake decides on, and what it decides.

use std::collections::BTreeSet;

use forge_core::{
    AgentName, CommentId, CommitSha, IssueNumber, Login, ProjectId, PullRequestNumber, RepoName,
    RunId,
};

use super::ignored::Ignored;
use crate::Millis;
use crate::config::Config;
use crate::health::AgentUsage;
use crate::run::{Reason, Run, RunContext};

/// An agent by the project it is defined in.
pub type AgentKey = (ProjectId, AgentName);

/// What intake knows beside the event.
pub struct IntakeContext<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The accounts of the orchestrator and its agents: their comments start nothing.
    pub own_logins: &'a BTreeSet<Login>,
    /// Now.
    pub now: Millis,
    /// Agents in quarantine.
    pub quarantined: &'a BTreeSet<AgentKey>,
    /// What an agent has used this month.
    pub usage: &'a dyn Fn(&AgentKey) -> AgentUsage,
    /// Dispatches of an issue within the last hour.
    pub recent: &'a dyn Fn(&RepoName, IssueNumber) -> u32,
    /// Runs that wait.
    pub queued: usize,
    /// A fresh run id.
    pub new_id: &'a dyn Fn() -> RunId,
}

/// What an event leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventDecision {
    /// Nothing was asked for; the word says why (for the reply, the journal and the counters).
    Ignored(Ignored),
    /// Something was.
    Dispatch(Box<Dispatch>),
}

/// What to store, in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dispatch {
    /// The event's own identity, beyond its delivery: seen before, everything here is a duplicate.
    pub identity: Option<EventIdentity>,
    /// Runs to queue.
    pub runs: Vec<NewRun>,
    /// What was asked for and refused.
    pub rejected: Vec<Rejection>,
    /// Open runs that this event ends.
    pub runs_to_end: Option<RunsToEnd>,
}

/// An identity of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventIdentity {
    /// For example `comment:acme/main:17`.
    pub key: String,
    /// Whether a repetition is refused. Where not (a pull request that is opened again), only a run
    /// of the same subject that is still open makes a duplicate.
    pub once: bool,
}

/// A run to queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// The run.
    pub run: Run,
    /// The context of its prompt.
    pub context: RunContext,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The agent as it was named.
    pub agent: String,
    /// Why.
    pub reason: Reason,
    /// The record to keep of it, if there is a project to keep it in. It may owe a status.
    pub run: Option<Run>,
}

/// Open runs of a pull request to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsToEnd {
    /// The repository.
    pub repository: RepoName,
    /// The pull request.
    pub number: PullRequestNumber,
    /// Runs of this head stay.
    pub keep: Option<CommitSha>,
    /// Why the others end.
    pub reason: Reason,
    /// Whether the marks of this pull request are forgotten, so that it can be dispatched again.
    pub forget: bool,
}

/// The key of a comment's [`EventIdentity`].
pub fn comment_key(repository: &RepoName, id: CommentId) -> String {
    let repository = repository.as_str().to_ascii_lowercase();
    format!("comment:{repository}:{id}")
}
