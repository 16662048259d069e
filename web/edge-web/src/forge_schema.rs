//! What a forge may send to `POST /webhook`, for API documents. forge-core reads it; these types
//! only describe it, and a test compares both field by field.

use serde::Serialize;
use utoipa::ToSchema;

/// A webhook's body as GitHub, Gitea and Forgejo send it, signed over its raw bytes. Only the
/// fields that are read are listed; others are ignored, and so are other events when a header names
/// them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum WebhookBody {
    /// `issue_comment`
    IssueComment(IssueCommentBody),
    /// `pull_request`
    PullRequest(Box<PullRequestBody>),
    /// `push`
    Push(PushBody),
    /// `ping`
    Ping(PingBody),
}

/// A comment on an issue or a pull request was written, changed or deleted.
#[derive(Debug, Serialize, ToSchema)]
pub struct IssueCommentBody {
    /// `created`, `edited`, `deleted`; only the first starts anything.
    #[schema(example = "created")]
    pub action: String,
    /// The comment.
    pub comment: CommentPart,
    /// What it is about.
    pub issue: IssuePart,
    /// Where.
    pub repository: RepositoryPart,
    /// Who caused the event.
    pub sender: Option<UserPart>,
    /// Whether the issue is a pull request, as Gitea and Forgejo say it.
    pub is_pull: Option<bool>,
    /// Whether somebody who holds the secret made it by hand, as `orchctl trigger` does: whose
    /// right to ask is then not the forge's to say.
    pub orchctl: Option<bool>,
}

/// A comment.
#[derive(Debug, Serialize, ToSchema)]
pub struct CommentPart {
    /// Unique on its forge.
    #[schema(minimum = 1)]
    pub id: u64,
    /// Its text, Markdown; `@orch:<agent>` in it asks for an agent.
    #[schema(example = "@orch:reviewer please")]
    pub body: String,
    /// Who wrote it.
    pub user: AuthorPart,
    /// When, ISO 8601.
    #[schema(example = "2026-11-21T10:00:00Z")]
    pub created_at: Option<String>,
    /// Its address.
    pub html_url: Option<String>,
    /// GitHub's word for the author's standing in the repository.
    #[schema(example = "MEMBER")]
    pub author_association: Option<String>,
}

/// The author of a comment.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuthorPart {
    /// Account name.
    #[schema(example = "alice")]
    pub login: String,
}

/// An account.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserPart {
    /// Account name.
    #[schema(example = "alice")]
    pub login: Option<String>,
}

/// An issue, or a pull request as an issue.
#[derive(Debug, Serialize, ToSchema)]
pub struct IssuePart {
    /// Its number; 0 for a trigger from the command line.
    #[schema(minimum = 0)]
    pub number: u64,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub body: Option<String>,
    /// `open` or `closed`.
    #[schema(example = "open")]
    pub state: Option<String>,
    /// Its address.
    pub html_url: Option<String>,
    /// There when it is a pull request, as GitHub says it.
    #[schema(value_type = Option<Object>)]
    pub pull_request: Option<serde_json::Value>,
}

/// A repository.
#[derive(Debug, Serialize, ToSchema)]
pub struct RepositoryPart {
    /// `owner/repo`
    #[schema(example = "acme/site")]
    pub full_name: String,
    /// Where it is cloned from.
    pub clone_url: Option<String>,
    /// Its address.
    pub html_url: Option<String>,
    /// The branch others are merged into.
    #[schema(example = "main")]
    pub default_branch: Option<String>,
}

/// Something happened to a pull request.
#[derive(Debug, Serialize, ToSchema)]
pub struct PullRequestBody {
    /// `opened`, `reopened`, `synchronize`, `synchronized`, `ready_for_review`, `closed`, `edited`,
    /// …
    #[schema(example = "opened")]
    pub action: String,
    /// Its number.
    #[schema(minimum = 1)]
    pub number: u64,
    /// The pull request.
    pub pull_request: PullRequestPart,
    /// What it is to be merged into.
    pub repository: RepositoryPart,
    /// Who caused the event.
    pub sender: Option<UserPart>,
}

/// A pull request.
#[derive(Debug, Serialize, ToSchema)]
pub struct PullRequestPart {
    /// As beside it.
    pub number: Option<u64>,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub body: Option<String>,
    /// Its address.
    pub html_url: Option<String>,
    /// `open` or `closed`.
    #[schema(example = "open")]
    pub state: Option<String>,
    /// Whether it is not ready.
    pub draft: Option<bool>,
    /// Whether it was merged.
    pub merged: Option<bool>,
    /// Who opened it.
    pub user: Option<UserPart>,
    /// What is to be merged; nothing is started without it.
    pub head: Option<HeadPart>,
    /// What it is to be merged into.
    pub base: Option<BasePart>,
}

/// What is to be merged.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeadPart {
    /// Branch.
    #[serde(rename = "ref")]
    pub branch: String,
    /// Newest commit.
    #[schema(pattern = "^[0-9a-f]{40}$")]
    pub sha: String,
    /// Where the branch is; absent when a fork was deleted.
    pub repo: Option<HeadRepositoryPart>,
}

/// The repository of a pull request's branch.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeadRepositoryPart {
    /// `owner/repo`
    pub full_name: Option<String>,
    /// Where it is cloned from.
    pub clone_url: Option<String>,
}

/// What a pull request is to be merged into.
#[derive(Debug, Serialize, ToSchema)]
pub struct BasePart {
    /// Branch.
    #[serde(rename = "ref")]
    pub branch: String,
    /// Its commit.
    #[schema(pattern = "^[0-9a-f]{40}$")]
    pub sha: Option<String>,
}

/// A branch or tag moved.
#[derive(Debug, Serialize, ToSchema)]
pub struct PushBody {
    /// Full name of the branch or tag.
    #[serde(rename = "ref")]
    #[schema(example = "refs/heads/main")]
    pub reference: String,
    /// Where it was; 40 zeros when it is new.
    #[schema(pattern = "^[0-9a-f]{40}$")]
    pub before: String,
    /// Where it is; 40 zeros when it was deleted.
    #[schema(pattern = "^[0-9a-f]{40}$")]
    pub after: String,
    /// The repository.
    pub repository: RepositoryPart,
    /// The commits that the forge lists, oldest first.
    pub commits: Option<Vec<CommitPart>>,
    /// The newest.
    pub head_commit: Option<CommitPart>,
    /// How many there are, as Gitea and Forgejo say it.
    pub total_commits: Option<u64>,
    /// Whether history was rewritten, as GitHub says it.
    pub forced: Option<bool>,
    /// Who pushed.
    pub pusher: Option<UserPart>,
    /// Who caused the event.
    pub sender: Option<UserPart>,
    /// Address of the comparison, as GitHub names it.
    pub compare: Option<String>,
    /// Address of the comparison, as Gitea and Forgejo name it.
    pub compare_url: Option<String>,
}

/// A commit of a push.
#[derive(Debug, Serialize, ToSchema)]
pub struct CommitPart {
    /// Its name.
    #[schema(pattern = "^[0-9a-f]{40}$")]
    pub id: String,
    /// Its message.
    pub message: Option<String>,
    /// New paths.
    pub added: Option<Vec<String>>,
    /// Paths that are gone.
    pub removed: Option<Vec<String>>,
    /// Changed paths.
    pub modified: Option<Vec<String>>,
}

/// A webhook was set up.
#[derive(Debug, Serialize, ToSchema)]
pub struct PingBody {
    /// GitHub's greeting.
    pub zen: String,
    /// The hook's number.
    pub hook_id: Option<u64>,
}
