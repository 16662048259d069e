//! The events that start runs, and what GitHub says of each: which commit is run, and with whose
//! rights (page "Events that trigger workflows").

use forge_core::Forge;
use serde::{Deserialize, Serialize};

/// What `github.event.workflow_run` has of the run that is followed.
pub const FOLLOWED_RUN: &[&str] = &[
    "actor",
    "artifacts_url",
    "cancel_url",
    "conclusion",
    "created_at",
    "display_title",
    "event",
    "head_branch",
    "head_commit",
    "head_repository",
    "head_sha",
    "html_url",
    "id",
    "jobs_url",
    "logs_url",
    "name",
    "path",
    "previous_attempt_url",
    "pull_requests",
    "repository",
    "rerun_url",
    "run_attempt",
    "run_number",
    "run_started_at",
    "status",
    "triggering_actor",
    "updated_at",
    "url",
    "workflow_id",
    "workflow_url",
];

/// The events that start runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// Commits or a tag arrived.
    Push,
    /// Something happened to a pull request; its head is run.
    PullRequest,
    /// Someone started it.
    WorkflowDispatch,
    /// The clock started it.
    Schedule,
    /// Something happened to a pull request; the default branch is run, with its secrets.
    PullRequestTarget,
    /// A pull request was reviewed.
    PullRequestReview,
    /// A comment on the changes of a pull request.
    PullRequestReviewComment,
    /// A comment on an issue or a pull request.
    IssueComment,
    /// An issue was opened, edited, labelled, ….
    Issues,
    /// A label was made, changed or removed.
    Label,
    /// A milestone was made, changed or removed.
    Milestone,
    /// A release was published, ….
    Release,
    /// A branch or tag was made.
    Create,
    /// A branch or tag was removed.
    Delete,
    /// The repository was copied.
    Fork,
    /// The wiki was changed.
    Gollum,
    /// Somebody starred the repository.
    Watch,
    /// A discussion.
    Discussion,
    /// A comment in a discussion.
    DiscussionComment,
    /// A package was published.
    RegistryPackage,
    /// A rule of a branch was changed.
    BranchProtectionRule,
    /// A program of its own sent it.
    RepositoryDispatch,
    /// A group of pull requests is to be merged.
    MergeGroup,
    /// Another workflow began or ended.
    WorkflowRun,
}

/// Which commit an event runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunCommit {
    /// The one that the event names.
    Named,
    /// The head of a pull request.
    PullHead,
    /// The newest of the default branch.
    DefaultBranch,
    /// The newest of the reference that the event names.
    Reference,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 24] = [
        Self::Push,
        Self::PullRequest,
        Self::WorkflowDispatch,
        Self::Schedule,
        Self::PullRequestTarget,
        Self::PullRequestReview,
        Self::PullRequestReviewComment,
        Self::IssueComment,
        Self::Issues,
        Self::Label,
        Self::Milestone,
        Self::Release,
        Self::Create,
        Self::Delete,
        Self::Fork,
        Self::Gollum,
        Self::Watch,
        Self::Discussion,
        Self::DiscussionComment,
        Self::RegistryPackage,
        Self::BranchProtectionRule,
        Self::RepositoryDispatch,
        Self::MergeGroup,
        Self::WorkflowRun,
    ];

    /// As `github.event_name` gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::PullRequest => "pull_request",
            Self::WorkflowDispatch => "workflow_dispatch",
            Self::Schedule => "schedule",
            Self::PullRequestTarget => "pull_request_target",
            Self::PullRequestReview => "pull_request_review",
            Self::PullRequestReviewComment => "pull_request_review_comment",
            Self::IssueComment => "issue_comment",
            Self::Issues => "issues",
            Self::Label => "label",
            Self::Milestone => "milestone",
            Self::Release => "release",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Fork => "fork",
            Self::Gollum => "gollum",
            Self::Watch => "watch",
            Self::Discussion => "discussion",
            Self::DiscussionComment => "discussion_comment",
            Self::RegistryPackage => "registry_package",
            Self::BranchProtectionRule => "branch_protection_rule",
            Self::RepositoryDispatch => "repository_dispatch",
            Self::MergeGroup => "merge_group",
            Self::WorkflowRun => "workflow_run",
        }
    }

    /// The kind of a name, as workflows and webhooks have it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        // Gitea and Forgejo call the wiki and packages otherwise.
        let name = match name {
            "wiki" => "gollum",
            "package" => "registry_package",
            "star" => "watch",
            other => other,
        };
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The events that a webhook of this forge has to send for it, as the forge's API names them.
    /// None: no webhook tells of it there.
    #[must_use]
    pub fn hook_events(self, forge: Forge) -> &'static [&'static str] {
        match (forge, self) {
            // The clock, the runner's own API, or what it knows by itself; programs of GitHub Apps.
            (
                _,
                Self::WorkflowDispatch
                | Self::Schedule
                | Self::WorkflowRun
                | Self::RepositoryDispatch,
            ) => &[],
            (_, Self::Push) => &["push"],
            (_, Self::Release) => &["release"],
            (_, Self::Create) => &["create"],
            (_, Self::Delete) => &["delete"],
            (_, Self::Fork) => &["fork"],
            (_, Self::Issues) => &["issues"],
            (Forge::GitHub, Self::PullRequest | Self::PullRequestTarget) => &["pull_request"],
            (Forge::GitHub, Self::PullRequestReview) => &["pull_request_review"],
            (Forge::GitHub, Self::PullRequestReviewComment) => &["pull_request_review_comment"],
            (Forge::GitHub, Self::IssueComment) => &["issue_comment"],
            (Forge::GitHub, Self::Label) => &["label"],
            (Forge::GitHub, Self::Milestone) => &["milestone"],
            (Forge::GitHub, Self::Gollum) => &["gollum"],
            (Forge::GitHub, Self::Watch) => &["watch"],
            (Forge::GitHub, Self::Discussion) => &["discussion"],
            (Forge::GitHub, Self::DiscussionComment) => &["discussion_comment"],
            (Forge::GitHub, Self::RegistryPackage) => &["registry_package"],
            (Forge::GitHub, Self::BranchProtectionRule) => &["branch_protection_rule"],
            (Forge::GitHub, Self::MergeGroup) => &["merge_group"],
            // Asked for by themselves, these two have all that there is of both.
            (_, Self::PullRequest | Self::PullRequestTarget) => {
                &["pull_request", "pull_request_sync"]
            }
            (_, Self::PullRequestReview) => &[
                "pull_request_review_approved",
                "pull_request_review_rejected",
                "pull_request_review_comment",
            ],
            (_, Self::IssueComment) => &["issue_comment", "pull_request_comment"],
            (_, Self::Gollum) => &["wiki"],
            (_, Self::RegistryPackage) => &["package"],
            (
                _,
                Self::PullRequestReviewComment
                | Self::Label
                | Self::Milestone
                | Self::Watch
                | Self::Discussion
                | Self::DiscussionComment
                | Self::BranchProtectionRule
                | Self::MergeGroup,
            ) => &[],
        }
    }

    /// Whether no webhook has to tell of it, at any forge.
    #[must_use]
    pub fn needs_no_hook(self) -> bool {
        self.hook_events(Forge::GitHub).is_empty()
    }

    /// Which commit it runs.
    #[must_use]
    pub fn commit(self) -> RunCommit {
        match self {
            Self::Push | Self::WorkflowDispatch | Self::Schedule | Self::MergeGroup => {
                RunCommit::Named
            }
            Self::PullRequest | Self::PullRequestReview | Self::PullRequestReviewComment => {
                RunCommit::PullHead
            }
            Self::Release | Self::Create => RunCommit::Reference,
            _ => RunCommit::DefaultBranch,
        }
    }

    /// Whether anybody can cause it who may see the repository, and it still has the repository's
    /// secrets: what it caches is kept apart.
    #[must_use]
    pub fn is_open_to_strangers(self) -> bool {
        matches!(
            self,
            Self::PullRequestTarget
                | Self::IssueComment
                | Self::Issues
                | Self::Fork
                | Self::Watch
                | Self::Discussion
                | Self::DiscussionComment
                | Self::WorkflowRun
        )
    }

    /// Whether the runner's own token may not cause it: a workflow that comments would start
    /// itself.
    #[must_use]
    pub fn is_activity(self) -> bool {
        !matches!(
            self,
            Self::Push
                | Self::PullRequest
                | Self::PullRequestTarget
                | Self::WorkflowDispatch
                | Self::Schedule
                | Self::RepositoryDispatch
                | Self::MergeGroup
                | Self::WorkflowRun
        )
    }

    /// Whether a message of a commit (`[skip ci]`) keeps it from starting anything.
    #[must_use]
    pub fn can_be_skipped(self) -> bool {
        matches!(self, Self::Push | Self::PullRequest)
    }
}
