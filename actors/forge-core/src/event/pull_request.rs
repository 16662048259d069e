//! `pull_request`: opened, pushed to, closed, …

use super::common::{Repository, action, login};
use super::error::EventError;
use super::issue_comment::IssueState;
use crate::json::JsonNode;
use crate::{BranchName, CommitSha, Login, ObjectFormats, PullRequestNumber, RepoName};

/// Something happened to a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestEvent {
    /// What happened.
    pub action: PullRequestAction,
    /// Its number.
    pub number: PullRequestNumber,
    /// The pull request as it was when the event was sent.
    pub pull_request: PullRequest,
    /// The repository it is to be merged into.
    pub repository: Repository,
    /// Who caused the event, if the payload says so.
    pub sender: Option<Login>,
    /// Its title said until now that it is a draft, and does no more: how Gitea and Forgejo tell
    /// that it is ready ([`PullRequestAction::Edited`]).
    pub became_ready: bool,
}

/// What happened to a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullRequestAction {
    /// It was opened.
    Opened,
    /// It was opened again.
    Reopened,
    /// Its head moved: GitHub's `synchronize`, Gitea's and Forgejo's `synchronized`.
    Synchronized,
    /// It is no draft any more.
    ReadyForReview,
    /// It was closed; [`PullRequest::merged`] says how.
    Closed,
    /// Title, text or base branch changed.
    Edited,
    /// An action that nothing acts on (`labeled`, `assigned`, …).
    Other(String),
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// Its title.
    pub title: Option<String>,
    /// Its description, Markdown.
    pub body: Option<String>,
    /// Its address for people.
    pub html_url: Option<String>,
    /// Whether it is open, if the payload says so.
    pub state: Option<IssueState>,
    /// Whether it is marked as not ready.
    pub draft: bool,
    /// Whether it has been merged.
    pub merged: bool,
    /// Who opened it.
    pub author: Option<Login>,
    /// What is to be merged. A payload that holds only the interface's fields has none.
    pub head: Option<PullRequestHead>,
    /// What it is to be merged into.
    pub base: Option<PullRequestBase>,
}

/// The branch that is to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestHead {
    /// Its branch.
    pub branch: BranchName,
    /// Its newest commit when the event was sent.
    pub sha: CommitSha,
    /// The repository it lies in; a deleted fork has none.
    pub repository: Option<RepoName>,
    /// Where that repository can be cloned from, as sent.
    pub clone_url: Option<String>,
}

/// The branch a pull request is to be merged into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestBase {
    /// Its branch.
    pub branch: BranchName,
    /// Its commit, if the payload says so.
    pub sha: Option<CommitSha>,
}

/// Where a pull request's commits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadOrigin {
    /// From a branch of the same repository, so from somebody who may push to it.
    SameRepository,
    /// From another repository, or from one that is gone: not to be trusted with secrets.
    Fork,
    /// The payload does not say; to be treated as a fork.
    Unknown,
}

impl HeadOrigin {
    /// Where a head comes from: the branch `branch` of the repository `head`, proposed for
    /// `repository`. Everything that gives a pull request rights asks here.
    #[must_use]
    pub fn of_head(branch: &str, head: Option<&str>, repository: &str) -> Self {
        // What is pushed for review without a branch (AGit) is in no fork, and anybody's.
        let has_branch = !branch.starts_with("refs/");
        // A repository that is gone counts as another one.
        let is_own = head.is_some_and(|head| head.eq_ignore_ascii_case(repository));
        if has_branch && is_own {
            Self::SameRepository
        } else {
            Self::Fork
        }
    }
}

impl PullRequestEvent {
    pub(super) fn read(body: &JsonNode<'_>, formats: ObjectFormats) -> Result<Self, EventError> {
        let pull_request = body.field("pull_request");
        let pull_request = pull_request.object()?;
        let changes = body.field("changes");
        let title = changes.field("title");
        let before = title.field("from").opt_string().ok().flatten();
        let action = PullRequestAction::from_word(action(body)?);
        let number = number(body, pull_request)?;
        let pull_request = PullRequest::read(pull_request, formats)?;
        let was_draft = before.as_deref().is_some_and(says_draft);
        let says_so = pull_request.title.as_deref().is_none_or(says_draft);
        Ok(Self {
            became_ready: was_draft && !says_so && !pull_request.draft,
            action,
            number,
            pull_request,
            repository: Repository::read(body)?,
            sender: login(body, "sender")?,
        })
    }

    /// The commit to work on, for consumers that cannot do without one.
    pub fn head_sha(&self) -> Result<&CommitSha, EventError> {
        let head = self.pull_request.head.as_ref();
        head.map(|head| &head.sha)
            .ok_or_else(|| EventError::Missing {
                path: "pull_request.head.sha".to_owned(),
            })
    }

    /// Where the commits come from.
    pub fn origin(&self) -> HeadOrigin {
        self.pull_request.origin(&self.repository.name)
    }
}

/// What Gitea and Forgejo take for the title of a draft, unless configured otherwise.
fn says_draft(title: &str) -> bool {
    let begins = |prefix: &str| {
        let start = title.trim_start().get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    ["WIP:", "[WIP]"].into_iter().any(begins)
}

/// The number at the top; beside it every forge repeats it in the pull request, and they must
/// agree.
fn number(
    body: &JsonNode<'_>,
    pull_request: &JsonNode<'_>,
) -> Result<PullRequestNumber, EventError> {
    let number = body.field("number").number(PullRequestNumber::EXPECTED)?;
    let inner = pull_request.field("number");
    match inner.opt_number::<PullRequestNumber>(PullRequestNumber::EXPECTED)? {
        Some(other) if other != number => Err(EventError::Contradiction {
            path: inner.path(),
            other: "number",
        }),
        _ => Ok(number),
    }
}

impl PullRequestAction {
    fn from_word(word: String) -> Self {
        match word.as_str() {
            "opened" => Self::Opened,
            "reopened" => Self::Reopened,
            "synchronize" | "synchronized" => Self::Synchronized,
            "ready_for_review" => Self::ReadyForReview,
            "closed" => Self::Closed,
            "edited" => Self::Edited,
            _ => Self::Other(word),
        }
    }
}

impl PullRequest {
    /// Where its commits come from, proposed for `repository`.
    #[must_use]
    pub fn origin(&self, repository: &RepoName) -> HeadOrigin {
        self.head.as_ref().map_or(HeadOrigin::Unknown, |head| {
            let of = head.repository.as_ref().map(RepoName::as_str);
            HeadOrigin::of_head(head.branch.as_str(), of, repository.as_str())
        })
    }

    pub(super) fn read(node: &JsonNode<'_>, formats: ObjectFormats) -> Result<Self, EventError> {
        Ok(Self {
            title: node.field("title").opt_string()?,
            body: node.field("body").opt_string()?,
            html_url: node.field("html_url").opt_string()?,
            state: IssueState::read(&node.field("state"))?,
            draft: node.field("draft").opt_bool()?.unwrap_or(false),
            merged: node.field("merged").opt_bool()?.unwrap_or(false),
            author: login(node, "user")?,
            head: PullRequestHead::read(&node.field("head"), formats)?,
            base: PullRequestBase::read(&node.field("base"), formats)?,
        })
    }
}

impl PullRequestHead {
    fn read(node: &JsonNode<'_>, formats: ObjectFormats) -> Result<Option<Self>, EventError> {
        let Some(head) = node.opt_object()? else {
            return Ok(None);
        };
        let repository = head.field("repo");
        repository.opt_object()?;
        Ok(Some(Self {
            branch: head.field("ref").id()?,
            sha: head.field("sha").commit(formats)?,
            repository: repository.field("full_name").opt_id()?,
            clone_url: repository.field("clone_url").opt_string()?,
        }))
    }
}

impl PullRequestBase {
    fn read(node: &JsonNode<'_>, formats: ObjectFormats) -> Result<Option<Self>, EventError> {
        let Some(base) = node.opt_object()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            branch: base.field("ref").id()?,
            sha: base.field("sha").opt_commit(formats)?,
        }))
    }
}
