//! Why nothing was done, or why something ended: closed lists, the same words everywhere.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::exit::words;

words! {
    /// Why a dispatch was refused or a run ended without its agent having had its say.
    Reason {
        /// No agent of that name in any project.
        UnknownAgent = "unknown_agent",
        /// The agent belongs to another project than the repository's.
        OtherProject = "other_project",
        /// No project has that id, or none has that repository.
        UnknownProject = "unknown_project",
        /// The agent, or mentions in its project, are switched off.
        Disabled = "disabled",
        /// The author is on no allow-list.
        NotAllowed = "not_allowed",
        /// The month's budget is used up.
        BudgetExhausted = "budget_exhausted",
        /// The chain of runs that ask for runs is too long.
        LoopGuard = "loop_guard",
        /// Too many dispatches of one issue within an hour.
        RateLimited = "rate_limited",
        /// The agent has had too many configuration errors in a row.
        Quarantined = "quarantined",
        /// Too many runs wait already.
        QueueFull = "queue_full",
        /// The comment names more agents than allowed.
        OverMentionLimit = "over_mention_limit",
        /// A run of the same subject waits or runs already.
        Duplicate = "duplicate",
        /// A newer head commit took its place.
        Superseded = "superseded",
        /// The pull request was closed or merged.
        PullRequestClosed = "pull_request_closed",
        /// Fan-out is for another project, for no forks or for no drafts.
        NotDispatched = "not_dispatched",
        /// The issue is closed.
        IssueClosed = "issue_closed",
        /// Somebody cancelled it.
        CancelledByOperator = "cancelled_by_operator",
        /// The orchestrator ended while it ran.
        OrchestratorRestart = "orchestrator_restart",
        /// The agent is not in the configuration any more.
        AgentRemoved = "agent_removed",
        /// The worktree, the program or the prompt could not be made ready.
        StartFailed = "start_failed",
        /// The verdict was absent or not about this run.
        NoVerdict = "no_verdict",
        /// The message of the head commit says that it is not to be checked.
        SkipCi = "skip_ci",
    }
}

words! {
    /// Why a queued run still waits.
    Hold {
        /// `mentions.max_dispatches_per_tick` is reached.
        MaxDispatchesPerTick = "max_dispatches_per_tick",
        /// `mentions.max_concurrent_mention_agents` is reached.
        MaxConcurrentMentionAgents = "max_concurrent_mention_agents",
        /// `pr_dispatch.max_concurrent` is reached.
        MaxConcurrentPrAgents = "max_concurrent_pr_agents",
        /// `max_concurrent_agents` of the project is reached.
        ProjectCap = "max_concurrent_agents",
        /// `max_parallel` of the agent is reached.
        AgentCap = "max_parallel",
        /// `max_running` is reached.
        TotalCap = "max_running",
        /// The project is paused.
        Paused = "paused",
        /// The provider's circuit is open.
        BreakerOpen = "breaker_open",
        /// The agent is in quarantine.
        Quarantined = "quarantined",
        /// The forge is asked whether the author may write to the repository.
        AuthorCheck = "author_check",
        /// Descriptors, threads, memory or disk ran out when it was started; it is tried again.
        Resources = "resources",
        /// It waits for the next tick.
        NextTick = "next_tick",
    }
}

impl Reason {
    /// What it means and what to do about it, in one sentence.
    pub fn detail(self) -> &'static str {
        match self {
            Self::UnknownAgent => "no agent has that name; see orchctl list",
            Self::OtherProject => {
                "the agent belongs to another project; send it there, or name this project in its extra_projects"
            }
            Self::UnknownProject => "no project has that id or repository; see conf.d",
            Self::Disabled => {
                "the agent, its mentions or those of its project are switched off in the configuration"
            }
            Self::NotAllowed => {
                "the author is on no allow-list, or may not write to the repository"
            }
            Self::BudgetExhausted => {
                "the agent's budget of this month is used up; raise it or wait for the next month"
            }
            Self::LoopGuard => {
                "agents have asked agents too many times in a row; a person has to go on"
            }
            Self::RateLimited => {
                "too many dispatches of this issue within an hour; wait, or raise max_per_issue_per_hour"
            }
            Self::Quarantined => {
                "the agent could not be started several times in a row; correct its configuration and reload"
            }
            Self::QueueFull => "too many runs wait; try again later, or raise max_queued",
            Self::OverMentionLimit => "the comment names more agents than max_per_comment",
            Self::Duplicate => "the same was asked for before",
            Self::Superseded => "a newer commit took its place",
            Self::PullRequestClosed => "the pull request was closed or merged",
            Self::NotDispatched => {
                "pull requests of this project, from forks or in draft are not dispatched; see [pr_dispatch]"
            }
            Self::IssueClosed => "the issue is closed",
            Self::CancelledByOperator => "somebody cancelled it",
            Self::OrchestratorRestart => "the orchestrator ended while it ran; retry it",
            Self::AgentRemoved => "the agent is not in the configuration any more",
            Self::StartFailed => {
                "its worktree, prompt or program could not be made ready; see the run's log"
            }
            Self::NoVerdict => "the agent gave no verdict about this commit",
            Self::SkipCi => {
                "the head commit's message says [skip ci]; push a commit without it, or retry the run"
            }
        }
    }
}
