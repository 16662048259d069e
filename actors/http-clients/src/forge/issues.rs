//! Issues and their comments.

use forge_core::{CommentId, IssueNumber, Login, RepoName};
use jiff::Timestamp;
use serde_json::json;

use super::client::{ForgeClient, repo_path};
use super::listing::Listing;
use super::wire;
use crate::forge::{ForgeError, ForgeRefusal};
use crate::http::Method;

/// A comment as a forge has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeComment {
    /// Its id.
    pub id: CommentId,
    /// Its text.
    pub body: String,
    /// Who wrote it; `None` for an account that is gone.
    pub author: Option<Login>,
    /// The issue or pull request it stands at, where the forge says so.
    pub issue: Option<IssueNumber>,
    /// It stands at a pull request.
    pub is_pull: bool,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Its page, for people.
    pub html_url: Option<String>,
    /// GitHub's word for its author's standing in the repository.
    pub author_association: Option<String>,
}

/// An issue as a forge has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeIssue {
    /// Its number.
    pub number: IssueNumber,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// It is open.
    pub is_open: bool,
    /// Its page, for people.
    pub html_url: String,
    /// When it was closed, of one that is.
    pub closed_at: Option<Timestamp>,
}

impl ForgeClient {
    /// Writes a comment at an issue or pull request.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn post_comment(
        &self,
        repo: &RepoName,
        issue: IssueNumber,
        body: &str,
    ) -> Result<ForgeComment, ForgeError> {
        let path = repo_path(repo, &format!("/issues/{issue}/comments"));
        let comment: wire::CommentJson = self
            .write(Method::Post, &path, &json!({"body": body}))
            .await?;
        comment.try_into()
    }

    /// Deletes a comment; one that is gone is no error.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn delete_comment(&self, repo: &RepoName, id: CommentId) -> Result<(), ForgeError> {
        let path = repo_path(repo, &format!("/issues/comments/{id}"));
        match self.send(Method::Delete, &path).await {
            Err(error) if error.refusal() == Some(ForgeRefusal::NotFound) => Ok(()),
            done => done,
        }
    }

    /// One page (from 1) of a repository's comments that were written or changed since a time (to
    /// the second), in the order in which they were written.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn comments_since(
        &self,
        repo: &RepoName,
        since: Timestamp,
        page: usize,
    ) -> Result<Listing<ForgeComment>, ForgeError> {
        let since = seconds(since);
        // Gitea and Forgejo know this order only.
        let query = [
            ("since", &*since),
            ("sort", "created"),
            ("direction", "asc"),
        ];
        let path = repo_path(repo, "/issues/comments");
        let found = self.list_pages::<wire::CommentJson>(&path, &query, page.max(1), 1);
        found.await?.try_map(ForgeComment::try_from)
    }

    /// An issue or a pull request, as an issue.
    ///
    /// # Errors
    /// See [`ForgeError`]; an answer that is no issue is `BadReply`.
    pub async fn issue(
        &self,
        repo: &RepoName,
        number: IssueNumber,
    ) -> Result<ForgeIssue, ForgeError> {
        let path = repo_path(repo, &format!("/issues/{number}"));
        let answer = self.fetch(self.request(Method::Get, &path, &[])).await?;
        // A whole answer that is none will be none again.
        let issue: wire::IssueJson = answer.json().map_err(bad_reply)?;
        issue.try_into()
    }

    /// The comments at one issue or pull request that were written or changed since a time.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn issue_comments(
        &self,
        repo: &RepoName,
        issue: IssueNumber,
        since: Option<Timestamp>,
    ) -> Result<Listing<ForgeComment>, ForgeError> {
        let since = since.map(seconds);
        let query: Vec<_> = since.iter().map(|since| ("since", &**since)).collect();
        let path = repo_path(repo, &format!("/issues/{issue}/comments"));
        let found = self.list::<wire::CommentJson>(&path, &query).await?;
        found.try_map(ForgeComment::try_from)
    }
}

/// A time to the second: what all forges read.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl TryFrom<wire::IssueJson> for ForgeIssue {
    type Error = ForgeError;

    fn try_from(issue: wire::IssueJson) -> Result<Self, ForgeError> {
        Ok(Self {
            number: issue.number.try_into().map_err(bad_reply)?,
            title: issue.title,
            body: issue.body.unwrap_or_default(),
            is_open: issue.state == "open",
            html_url: issue.html_url,
            closed_at: issue.closed_at.and_then(|at| at.parse().ok()),
        })
    }
}

impl TryFrom<wire::CommentJson> for ForgeComment {
    type Error = ForgeError;

    fn try_from(comment: wire::CommentJson) -> Result<Self, ForgeError> {
        let created_at: Timestamp = comment.created_at.parse().map_err(bad_reply)?;
        let pull = comment.pull_request_url.filter(|url| !url.is_empty());
        let at_pull = comment
            .html_url
            .as_deref()
            .is_some_and(|url| url.contains("/pull/") || url.contains("/pulls/"));
        let page = comment.issue_url.filter(|url| !url.is_empty());
        let issue = page.as_deref().or(pull.as_deref()).and_then(last_number);
        Ok(Self {
            id: comment.id.try_into().map_err(bad_reply)?,
            body: comment.body.unwrap_or_default(),
            author: comment.user.and_then(|user| user.login.parse().ok()),
            issue,
            is_pull: pull.is_some() || at_pull,
            created_at,
            updated_at: comment
                .updated_at
                .and_then(|at| at.parse().ok())
                .unwrap_or(created_at),
            html_url: comment.html_url,
            author_association: comment.author_association,
        })
    }
}

/// The number at an address's end: `…/issues/17`.
fn last_number(url: &str) -> Option<IssueNumber> {
    let number: u64 = url.rsplit('/').next()?.parse().ok()?;
    number.try_into().ok()
}

pub(super) fn bad_reply(error: impl std::fmt::Display) -> ForgeError {
    ForgeError::permanent(
        ForgeRefusal::BadReply,
        format!("the forge's answer is unreadable: {error}"),
    )
}
