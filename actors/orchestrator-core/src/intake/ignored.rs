//! Why an event asked for nothing: a closed list, the same words in the reply, the journal and the
//! log.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::run::words;

words! {
    /// Why an event asked for nothing.
    Ignored {
        /// A push.
        Push = "push",
        /// A hook's greeting.
        Ping = "ping",
        /// An event that nothing here acts on.
        OtherEvent = "other_event",
        /// The text of a comment was changed.
        CommentEdited = "comment_edited",
        /// A comment was removed.
        CommentDeleted = "comment_deleted",
        /// Something else happened to a comment.
        CommentAction = "comment_action",
        /// The comment names no agent.
        NoMention = "no_mention",
        /// The comment was written by the orchestrator or one of its agents.
        OwnComment = "own_comment",
        /// Something happened to a pull request that changes no commit.
        PullRequestAction = "pull_request_action",
        /// There is no `[pr_dispatch]`.
        PrDispatchNotConfigured = "pr_dispatch_not_configured",
        /// `[pr_dispatch]` is for another project.
        PrOtherProject = "pr_other_project",
        /// The payload does not say which commit is proposed.
        PrWithoutHead = "pr_without_head",
        /// The pull request is a draft.
        PrDraft = "pr_draft",
        /// The pull request was closed or merged.
        PullRequestClosed = "pull_request_closed",
        /// The forge has told of it before.
        Duplicate = "duplicate",
        /// There is no top-level `[mentions]`: no webhook starts anything.
        MentionsNotConfigured = "mentions_not_configured",
    }
}

impl Ignored {
    /// What it means and what to do about it, in one sentence.
    pub fn detail(self) -> &'static str {
        match self {
            Self::Push => {
                "pushes start nothing here; a hook for comments and pull requests is enough"
            }
            Self::Ping => "the hook works; this was its greeting",
            Self::OtherEvent => "this kind of event starts nothing; untick it at the forge",
            Self::CommentEdited => {
                "a mention counts when the comment is written; write another one"
            }
            Self::CommentDeleted | Self::CommentAction => "only a new comment starts agents",
            Self::NoMention => {
                "the comment names no agent as @orch:<agent>, outside of code and quotes"
            }
            Self::OwnComment => "comments of the orchestrator and its agents start nothing",
            Self::PullRequestAction => {
                "only a new head, a reopening or the end of a draft starts the fan-out"
            }
            Self::PrDispatchNotConfigured => "orchestrator.toml has no [pr_dispatch]",
            Self::PrOtherProject => {
                "the fan-out of [pr_dispatch] is for another project's repository"
            }
            Self::PrWithoutHead => {
                "the payload has no pull_request.head; the next poll asks the forge for it"
            }
            Self::PrDraft => {
                "drafts are not fanned out; mark it as ready, or set pr_dispatch.drafts = true"
            }
            Self::PullRequestClosed => "nothing new starts; its open runs are ended",
            Self::Duplicate => "the forge has told of the same before",
            Self::MentionsNotConfigured => {
                "orchestrator.toml has no [mentions]; add it to have webhooks start agents"
            }
        }
    }

    /// Whether it is a pull request whose fan-out was skipped as a whole.
    pub fn is_skipped_fan_out(self) -> bool {
        matches!(
            self,
            Self::PrDispatchNotConfigured
                | Self::PrOtherProject
                | Self::PrWithoutHead
                | Self::PrDraft
        )
    }
}
