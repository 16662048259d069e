//! `issue_comment`: somebody wrote, changed or deleted a comment.

use super::common::{Repository, action, login};
use super::error::EventError;
use crate::json::JsonNode;
use crate::{CommentId, IssueNumber, Login, WebhookHeaders};

/// The key of a body that was made by hand.
pub const BY_HAND: &str = "orchctl";

/// A comment on an issue or in a pull request's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueCommentEvent {
    /// What happened.
    pub action: CommentAction,
    /// The comment, as it was when the event was sent.
    pub comment: Comment,
    /// What it is about.
    pub issue: Issue,
    /// Where.
    pub repository: Repository,
    /// Who caused the event, if the payload says so; not always the comment's author.
    pub sender: Option<Login>,
    /// Whether it was made on a command line, by somebody who holds the webhook's secret: the body
    /// says so in a key that no forge sends, and that no user of a forge can put there.
    pub by_hand: bool,
}

/// What happened to a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentAction {
    /// It was written. The only action that can start anything.
    Created,
    /// Its text was changed.
    Edited,
    /// It was removed.
    Deleted,
    /// An action that is not known.
    Other(String),
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Unique on its forge, the same in every delivery about it.
    pub id: CommentId,
    /// Its text, Markdown.
    pub body: String,
    /// Who wrote it.
    pub author: Login,
    /// When, as sent: an ISO 8601 timestamp.
    pub created_at: Option<String>,
    /// Its address for people.
    pub html_url: Option<String>,
    /// GitHub's word for the author's standing in the repository (`OWNER`, `MEMBER`, `NONE`, …).
    pub author_association: Option<String>,
}

/// The issue or pull request that was commented on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Its number; 0 for a trigger from the command line.
    pub number: IssueNumber,
    /// Its title.
    pub title: Option<String>,
    /// Its description, Markdown.
    pub body: Option<String>,
    /// Whether it is open, if the payload says so.
    pub state: Option<IssueState>,
    /// Its address for people.
    pub html_url: Option<String>,
    /// Whether it is a pull request.
    pub is_pull_request: bool,
}

/// State of an issue or a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueState {
    /// Open.
    Open,
    /// Closed, or merged.
    Closed,
    /// A state that is not known.
    Other(String),
}

impl IssueState {
    pub(super) fn read(node: &JsonNode<'_>) -> Result<Option<Self>, EventError> {
        Ok(node.opt_text()?.map(|state| match state {
            "open" => Self::Open,
            "closed" => Self::Closed,
            other => Self::Other(crate::text::truncate(other, 64).to_owned()),
        }))
    }
}

impl IssueCommentEvent {
    pub(super) fn read(body: &JsonNode<'_>, headers: &WebhookHeaders) -> Result<Self, EventError> {
        Ok(Self {
            action: CommentAction::from_word(action(body)?),
            comment: Comment::read(body.field("comment").object()?)?,
            issue: Issue::read(body, headers)?,
            repository: Repository::read(body)?,
            sender: login(body, "sender")?,
            by_hand: body.field(BY_HAND).opt_bool()?.unwrap_or(false),
        })
    }
}

impl CommentAction {
    fn from_word(word: String) -> Self {
        match word.as_str() {
            "created" => Self::Created,
            "edited" => Self::Edited,
            "deleted" => Self::Deleted,
            _ => Self::Other(word),
        }
    }
}

impl Comment {
    fn read(comment: &JsonNode<'_>) -> Result<Self, EventError> {
        Ok(Self {
            id: comment.field("id").number(CommentId::EXPECTED)?,
            body: comment.field("body").text()?.to_owned(),
            author: comment.field("user").field("login").id()?,
            created_at: comment.field("created_at").opt_string()?,
            html_url: comment.field("html_url").opt_string()?,
            author_association: comment.field("author_association").opt_string()?,
        })
    }
}

impl Issue {
    fn read(body: &JsonNode<'_>, headers: &WebhookHeaders) -> Result<Self, EventError> {
        let issue = body.field("issue");
        let issue = issue.object()?;
        Ok(Self {
            number: issue.field("number").number(IssueNumber::EXPECTED)?,
            title: issue.field("title").opt_string()?,
            body: issue.field("body").opt_string()?,
            state: IssueState::read(&issue.field("state"))?,
            html_url: issue.field("html_url").opt_string()?,
            is_pull_request: is_pull_request(body, issue, headers)?,
        })
    }
}

/// Gitea and Forgejo say `is_pull`, GitHub puts a `pull_request` object into the issue. The event
/// type header decides only where the body is silent, since headers are not signed.
fn is_pull_request(
    body: &JsonNode<'_>,
    issue: &JsonNode<'_>,
    headers: &WebhookHeaders,
) -> Result<bool, EventError> {
    if issue.field("pull_request").opt_object()?.is_some() {
        return Ok(true);
    }
    if let Some(said) = body.field("is_pull").opt_bool()? {
        return Ok(said);
    }
    Ok(headers
        .event_type()?
        .is_some_and(|kind| kind.as_str() == "pull_request_comment"))
}
