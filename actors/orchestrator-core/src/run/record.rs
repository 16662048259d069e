//! The durable record of a run.

use forge_core::{
    AgentName, BranchName, CommentId, CommitSha, IssueNumber, Login, ProjectId, PullRequestNumber,
    RepoName, RunId, StatusContext,
};
use serde::{Deserialize, Serialize};

use super::exit::ExitReport;
use super::reason::{Hold, Reason};
use crate::Millis;
use crate::config::AgentLayer;

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRunState {
    /// Accepted, waits for a tick.
    Queued,
    /// Decided on; its worktree and process are being made.
    Starting,
    /// Its process runs.
    Running,
    /// Its process ended.
    Exited,
    /// Ended on request, or superseded.
    Cancelled,
    /// Never started: skipped, for a reason.
    Rejected,
}

impl AgentRunState {
    /// All of them, in the order that a run passes them.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Starting,
        Self::Running,
        Self::Exited,
        Self::Cancelled,
        Self::Rejected,
    ];

    /// Whether nothing follows.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Exited | Self::Cancelled | Self::Rejected)
    }

    /// Whether a process exists or is being made.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Starting | Self::Running)
    }

    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Exited => "exited",
            Self::Cancelled => "cancelled",
            Self::Rejected => "rejected",
        }
    }
}

impl std::fmt::Display for AgentRunState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a run is about. Two runs of one agent and one subject never go on at the same time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A comment on an issue; number 0 is the command line.
    Comment {
        /// The issue.
        issue: IssueNumber,
        /// The comment.
        comment: CommentId,
    },
    /// A pull request at one head commit.
    PullRequest {
        /// Its number.
        number: PullRequestNumber,
        /// Its head.
        sha: CommitSha,
    },
    /// A due time of the agent's schedule.
    Schedule {
        /// The due time.
        due: Millis,
    },
}

impl Subject {
    /// The pull request, for subjects that are one.
    pub fn pull_request(&self) -> Option<(PullRequestNumber, &CommitSha)> {
        match self {
            Self::PullRequest { number, sha } => Some((*number, sha)),
            _ => None,
        }
    }
}

/// Who or what asked for a run. The order is the order of urgency within a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunTrigger {
    /// A comment on the forge.
    Mention,
    /// `orchctl trigger`: a mention with issue number 0.
    Cli,
    /// A pull request's fan-out.
    PullRequest,
    /// The agent's schedule.
    Schedule,
}

impl RunTrigger {
    /// The stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mention => "mention",
            Self::Cli => "cli",
            Self::PullRequest => "pull_request",
            Self::Schedule => "schedule",
        }
    }

    /// Whether the limits of `[mentions]` apply.
    pub fn is_mention(self) -> bool {
        matches!(self, Self::Mention | Self::Cli)
    }
}

/// Order of starting: smaller goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Agents of the layer Safety.
    Safety,
    /// Somebody waits for an answer.
    Mention,
    /// A push.
    Push,
    /// A pull request's checks.
    PullRequest,
    /// Scheduled work of the layer Core.
    Core,
    /// Scheduled work of the layer Growth.
    Growth,
}

impl Priority {
    /// The priority of a run.
    pub fn for_trigger(layer: AgentLayer, trigger: RunTrigger) -> Self {
        match (layer, trigger) {
            (AgentLayer::Safety, _) => Self::Safety,
            (_, RunTrigger::Mention | RunTrigger::Cli) => Self::Mention,
            (_, RunTrigger::PullRequest) => Self::PullRequest,
            (AgentLayer::Core, RunTrigger::Schedule) => Self::Core,
            (AgentLayer::Growth, RunTrigger::Schedule) => Self::Growth,
        }
    }
}

/// A commit status that is owed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StatusKey {
    /// The repository.
    pub repository: RepoName,
    /// The commit.
    pub sha: CommitSha,
    /// The context.
    pub context: StatusContext,
}

/// The same for all runs of one agent about one thing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunKey {
    /// The project.
    pub project: ProjectId,
    /// The agent.
    pub agent: AgentName,
    /// The subject.
    pub subject: Subject,
}

/// A process, told apart from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Its id, which is also its process group and session.
    pub pid: u32,
    /// Its start time in clock ticks since boot (`/proc/<pid>/stat`, field 22).
    pub start_ticks: u64,
    /// The boot it belongs to (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: String,
    /// How far it is kept apart: `sandbox`, `pid_namespace` or `none`; absent in records from
    /// before that was known.
    pub isolation: Option<String>,
}

/// A worktree made for a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WorktreeRecord {
    /// Its folder.
    pub path: String,
    /// Its branch, `orch/<agent>/<run>`.
    pub branch: BranchName,
    /// Whether it still stands on disk.
    pub present: bool,
}

/// What the agent is told about the event. Bounded at intake; text of strangers. Kept beside the
/// run, so that looking over the queue does not read it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunContext {
    /// The issue's or pull request's number.
    pub issue: Option<IssueNumber>,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// The comment as delivered.
    pub comment: String,
    /// The rest of the mention's line.
    pub task: String,
    /// Who asked.
    pub author: Option<Login>,
    /// The address for people.
    pub url: Option<String>,
    /// The branch a pull request is to be merged into.
    pub base_branch: Option<BranchName>,
    /// The branch of its head.
    pub head_branch: Option<BranchName>,
    /// Whether the head comes from another repository, or that is not known.
    pub fork: bool,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its id: a UUID of version 7, so ids sort by time.
    pub id: RunId,
    /// The project it runs in.
    pub project: ProjectId,
    /// The agent.
    pub agent: AgentName,
    /// The project the agent is defined in; differs for `extra_projects`.
    pub home: ProjectId,
    /// The repository it is about.
    pub repository: RepoName,
    /// What it is about.
    pub subject: Subject,
    /// Who asked.
    pub trigger: RunTrigger,
    /// Order of starting.
    pub priority: Priority,
    /// Length of the chain of runs that asked for runs; 1 for a person.
    pub depth: u16,
    /// How far it got.
    pub state: AgentRunState,
    /// Why it waits, as the last tick saw it. Not stored: the next tick sees it again.
    #[serde(skip)]
    pub hold: Option<Hold>,
    /// Why it was refused or ended early.
    pub reason: Option<Reason>,
    /// The status it owes.
    pub status: Option<StatusKey>,
    /// Why it is to be ended, once that was asked for while it is active.
    pub ending: Option<Reason>,
    /// When it was accepted.
    pub queued_at: Millis,
    /// When its process started.
    pub started_at: Option<Millis>,
    /// When it ended.
    pub ended_at: Option<Millis>,
    /// Its process.
    pub process: Option<ProcessIdentity>,
    /// Its worktree.
    pub worktree: Option<WorktreeRecord>,
    /// How it ended.
    pub exit: Option<ExitReport>,
    /// The provider that the routing tables chose for it; `None`: that of its agent, if any.
    pub provider: Option<String>,
    /// Whether the forge is still to be asked if its author may write to the repository.
    pub check_author: bool,
}

impl Run {
    /// The issue or pull request it is about; 0 for the command line.
    pub fn issue(&self) -> Option<IssueNumber> {
        match &self.subject {
            Subject::Comment { issue, .. } => Some(*issue),
            Subject::PullRequest { number, .. } => Some((*number).into()),
            Subject::Schedule { .. } => None,
        }
    }

    /// The same once more: a run of its own, queued at `now`, with nothing of what became of this
    /// one.
    #[must_use]
    pub fn repetition(&self, id: RunId, now: Millis) -> Self {
        Self {
            id,
            state: AgentRunState::Queued,
            hold: None,
            reason: None,
            ending: None,
            queued_at: now,
            started_at: None,
            ended_at: None,
            process: None,
            worktree: None,
            exit: None,
            provider: None,
            // Whoever repeats a check has decided that the commit is to be checked.
            check_author: self.check_author && !matches!(self.subject, Subject::PullRequest { .. }),
            ..self.clone()
        }
    }

    /// What makes it the same as another.
    pub fn key(&self) -> RunKey {
        RunKey {
            project: self.project.clone(),
            agent: self.agent.clone(),
            subject: self.subject.clone(),
        }
    }
}
