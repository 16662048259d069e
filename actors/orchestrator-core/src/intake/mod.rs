//! What an event asks for: runs to queue, runs to end, refusals with their reasons.
//!
//! The decision is made on what is known in memory; what must be exact under races (has this comment been
//! seen? is a run of this pull request open?) is left to the transaction that stores it, which gets
//! [`Dispatch::mark`] and [`Dispatch::ends`] for that.

mod ignored;
mod mentions;
mod pulls;

use std::collections::BTreeSet;

use forge_core::text::truncate;
use forge_core::{
    AgentName, CommentAction, CommentId, CommitSha, Event, IssueNumber, Login, ProjectId,
    PullRequestNumber, RepoName, RunId,
};

use crate::Millis;
use crate::config::{AgentSpec, Config, Project};
use crate::health::{BudgetState, Usage};
use crate::run::{Priority, Reason, Run, RunContext, RunState, StatusKey, Subject, Trigger};

pub use ignored::Ignored;

/// An agent by the project it is defined in.
pub type AgentKey = (ProjectId, AgentName);

/// What intake knows beside the event.
pub struct View<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The accounts of the orchestrator and its agents: their comments start nothing.
    pub own_logins: &'a BTreeSet<Login>,
    /// Now.
    pub now: Millis,
    /// Agents in quarantine.
    pub quarantined: &'a BTreeSet<AgentKey>,
    /// What an agent has used this month.
    pub usage: &'a dyn Fn(&AgentKey) -> Usage,
    /// Dispatches of an issue within the last hour.
    pub recent: &'a dyn Fn(&RepoName, IssueNumber) -> u32,
    /// Runs that wait.
    pub queued: usize,
    /// A fresh run id.
    pub new_id: &'a dyn Fn() -> RunId,
}

/// What an event leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing was asked for; the word says why (for the reply, the journal and the counters).
    Ignored(Ignored),
    /// Something was.
    Dispatch(Box<Dispatch>),
}

/// What to store, in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dispatch {
    /// The event's own identity, beyond its delivery: seen before, everything here is a duplicate.
    pub mark: Option<Mark>,
    /// Runs to queue.
    pub wants: Vec<Want>,
    /// What was asked for and refused.
    pub rejected: Vec<Rejection>,
    /// Open runs that this event ends.
    pub ends: Option<Ends>,
}

/// An identity of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// For example `comment:acme/main:17`.
    pub key: String,
    /// Whether a repetition is refused. Where not (a pull request that is opened again), only a run of the
    /// same subject that is still open makes a duplicate.
    pub once: bool,
}

/// A run to queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The run.
    pub run: Run,
    /// What its agent is told.
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
pub struct Ends {
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

/// Longest title kept, in bytes.
const MAX_TITLE: usize = 500;
/// Longest text kept of a comment or a description, in bytes.
pub const MAX_TEXT: usize = 16 << 10;

/// Decides what an event leads to.
pub fn decide(event: &Event, view: &View<'_>) -> Decision {
    match event {
        Event::IssueComment(comment) => mentions::decide(comment, view),
        Event::PullRequest(pull) => pulls::decide(pull, view),
        Event::Push(_) => Decision::Ignored(Ignored::Push),
        Event::Ping(_) => Decision::Ignored(Ignored::Ping),
        Event::Other(_) => Decision::Ignored(Ignored::OtherEvent),
    }
}

/// The key of a comment's [`Mark`].
pub fn comment_key(repository: &RepoName, id: CommentId) -> String {
    let repository = repository.as_str().to_ascii_lowercase();
    format!("comment:{repository}:{id}")
}

/// What is remembered of an event that asked for nothing: a comment that was written without a mention stays without one,
/// whoever tells of it when it was changed.
pub fn seen(event: &Event) -> Option<String> {
    let Event::IssueComment(comment) = event else {
        return None;
    };
    let id = comment.comment.id;
    (comment.action == CommentAction::Created && id.get() != 0)
        .then(|| comment_key(&comment.repository.name, id))
}

/// Who asks for what.
struct Ask<'a> {
    project: &'a Project,
    agent: &'a AgentSpec,
    subject: Subject,
    trigger: Trigger,
    depth: u16,
    status: Option<StatusKey>,
    check_author: bool,
}

impl Ask<'_> {
    fn run(self, view: &View<'_>) -> Run {
        Run {
            id: (view.new_id)(),
            project: self.project.id.clone(),
            agent: self.agent.name.clone(),
            home: self.agent.project.clone(),
            repository: self.project.repository.clone(),
            subject: self.subject,
            trigger: self.trigger,
            priority: Priority::of(self.agent.layer, self.trigger),
            depth: self.depth,
            state: RunState::Queued,
            hold: None,
            reason: None,
            status: self.status,
            ending: None,
            queued_at: view.now,
            started_at: None,
            ended_at: None,
            process: None,
            worktree: None,
            exit: None,
            provider: None,
            check_author: self.check_author,
        }
    }
}

/// What the agent itself says against a dispatch, whoever asks.
fn refusal(agent: &AgentSpec, view: &View<'_>, already: usize) -> Option<Reason> {
    let key = (agent.project.clone(), agent.name.clone());
    if !agent.enabled {
        return Some(Reason::Disabled);
    }
    if view.quarantined.contains(&key) {
        return Some(Reason::Quarantined);
    }
    if agent.budget.state((view.usage)(&key)) == BudgetState::Exhausted {
        return Some(Reason::BudgetExhausted);
    }
    if view.queued + already >= view.config.max_queued {
        return Some(Reason::QueueFull);
    }
    None
}

/// A record of a refusal: a run that never starts.
fn rejected(mut run: Run, reason: Reason, now: Millis) -> Run {
    run.state = RunState::Rejected;
    run.reason = Some(reason);
    run.ended_at = Some(now);
    run
}

fn title(text: Option<&str>) -> String {
    truncate(text.unwrap_or_default(), MAX_TITLE).to_owned()
}

fn long(text: Option<&str>) -> String {
    truncate(text.unwrap_or_default(), MAX_TEXT).to_owned()
}

/// An event made by hand for an agent that is due by its schedule.
pub fn scheduled(agent: &AgentSpec, project: &Project, due: Millis, view: &View<'_>) -> Want {
    let ask = Ask {
        project,
        agent,
        subject: Subject::Schedule { due },
        trigger: Trigger::Schedule,
        depth: 1,
        status: None,
        check_author: false,
    };
    Want {
        run: ask.run(view),
        context: RunContext::default(),
    }
}
