//! Commit statuses.

use std::collections::BTreeMap;

use forge_core::{CommitSha, CommitState, CommitStatus, RepoName};

use super::client::{ForgeClient, repo_path};
use super::wire;
use crate::forge::{ForgeError, ForgeRefusal};
use crate::http::Method;

/// A status as a forge has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedStatus {
    /// Which check.
    pub context: String,
    /// How it stands; `None` for words that are not of ours, such as Gitea's `warning`.
    pub state: Option<CommitState>,
    /// The sentence for people.
    pub description: String,
    /// Where to read more.
    pub target_url: Option<String>,
}

impl From<wire::StatusJson> for PostedStatus {
    fn from(status: wire::StatusJson) -> Self {
        let word = status.status.or(status.state).unwrap_or_default();
        Self {
            context: status.context,
            state: CommitState::from_word(&word),
            description: status.description.unwrap_or_default(),
            target_url: status.target_url.filter(|url| !url.is_empty()),
        }
    }
}

impl ForgeClient {
    /// Posts a commit status. Posting the same again does no harm: the latest of a context counts.
    ///
    /// # Errors
    /// See [`ForgeError`]. Gitea answers 500 for a commit it does not have; that is told apart from
    /// its other failures by asking for the commit, and is `NotFound`.
    pub async fn post_status(
        &self,
        repo: &RepoName,
        sha: &CommitSha,
        status: &CommitStatus,
    ) -> Result<PostedStatus, ForgeError> {
        let path = repo_path(repo, &format!("/statuses/{sha}"));
        let body = status.body(self.kind());
        let posted: Result<wire::StatusJson, _> = self.write(Method::Post, &path, &body).await;
        match posted {
            Ok(status) => Ok(status.into()),
            Err(error @ ForgeError::Transient { .. }) => match self.has_commit(repo, sha).await {
                Ok(false) => Err(ForgeError::permanent(
                    ForgeRefusal::NotFound,
                    format!("{repo} has no commit {sha}"),
                )),
                _ => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Whether the client's token reads a repository.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn can_read(&self, repo: &RepoName) -> Result<bool, ForgeError> {
        match self
            .fetch(self.request(Method::Get, &repo_path(repo, ""), &[]))
            .await
        {
            Ok(_) => Ok(true),
            Err(error) if error.refusal().is_some() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a repository has a commit.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn has_commit(&self, repo: &RepoName, sha: &CommitSha) -> Result<bool, ForgeError> {
        let path = repo_path(repo, &format!("/git/commits/{sha}"));
        let found = self.fetch(self.request(Method::Get, &path, &[])).await;
        match found {
            Ok(_) => Ok(true),
            Err(error)
                if matches!(
                    error.refusal(),
                    Some(ForgeRefusal::NotFound | ForgeRefusal::Unprocessable)
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The message of a commit; `None` where the forge does not say.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn commit_message(
        &self,
        repo: &RepoName,
        sha: &CommitSha,
    ) -> Result<Option<String>, ForgeError> {
        let path = repo_path(repo, &format!("/git/commits/{sha}"));
        let found: wire::Commit = self.read(self.request(Method::Get, &path, &[])).await?;
        let inner = found.commit.and_then(|commit| commit.message);
        Ok(inner.or(found.message))
    }

    /// The latest status of each context of a commit, by context.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn statuses(
        &self,
        repo: &RepoName,
        sha: &CommitSha,
    ) -> Result<Vec<PostedStatus>, ForgeError> {
        let path = repo_path(repo, &format!("/commits/{sha}/statuses"));
        let all = self.list::<wire::StatusJson>(&path, &[]).await?;
        let mut latest: BTreeMap<String, wire::StatusJson> = BTreeMap::new();
        for status in all.items {
            // Ids grow; the order of the list is not the same on all forges.
            let newer = latest
                .get(&status.context)
                .is_none_or(|known| known.id < status.id);
            if newer {
                latest.insert(status.context.clone(), status);
            }
        }
        Ok(latest.into_values().map(PostedStatus::from).collect())
    }
}
