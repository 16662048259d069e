//! Webhooks of a repository: listed, made, kept as they are wanted, tried.
//!
//! A forge never tells the secret of a hook, so an existing one is always given it again. GitHub
//! changes a hook in place. Gitea and Forgejo take no secret in a change: there a new hook is made
//! first and the old one is deleted, so that no event falls between the two.

use config_core::Secret;
use forge_core::{Forge, RepoName};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::client::{ForgeClient, repo_path};
use super::listing::Listing;
use crate::forge::ForgeError;
use crate::http::Method;

/// An event that a hook is registered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    /// Commits, branches and tags.
    Push,
    /// Everything about a pull request. On Gitea and Forgejo this covers its comments, too.
    PullRequest,
    /// Comments on issues; on GitHub also those in the conversation of a pull request.
    IssueComment,
    /// Another one, as the forge names it.
    Other(&'static str),
}

impl HookEvent {
    /// Its name in the API; of those with a name here on all forges.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::PullRequest => "pull_request",
            Self::IssueComment => "issue_comment",
            Self::Other(name) => name,
        }
    }
}

/// A hook as it is wanted: JSON bodies, certificates verified, active.
#[derive(Debug, Clone)]
pub struct HookSpec {
    /// Where deliveries go.
    pub url: Url,
    /// What they are signed with.
    pub secret: Secret<String>,
    /// For which events.
    pub events: Vec<HookEvent>,
}

/// A hook as a forge has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeHook {
    /// Its id.
    pub id: u64,
    /// Where deliveries go.
    pub url: String,
    /// For which events, as the forge names them.
    pub events: Vec<String>,
    /// `json` or `form`.
    pub content_type: String,
    /// It delivers.
    pub active: bool,
}

/// What became of a hook that was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookChange {
    /// There was none for the address.
    Created,
    /// There was one; it is now as wanted.
    Updated,
}

#[derive(Debug, Deserialize)]
struct WireHook {
    id: u64,
    #[serde(default)]
    config: WireHookConfig,
    #[serde(default)]
    events: Vec<String>,
    #[serde(default)]
    active: bool,
}

#[derive(Debug, Default, Deserialize)]
struct WireHookConfig {
    #[serde(default)]
    url: String,
    #[serde(default)]
    content_type: String,
}

impl From<WireHook> for ForgeHook {
    fn from(hook: WireHook) -> Self {
        Self {
            id: hook.id,
            url: hook.config.url,
            events: hook.events,
            content_type: hook.config.content_type,
            active: hook.active,
        }
    }
}

impl ForgeClient {
    /// The hooks of a repository.
    ///
    /// # Errors
    /// See [`ForgeError`]; a token without the right to see hooks is `NotFound` or `Forbidden`.
    pub async fn hooks(&self, repo: &RepoName) -> Result<Listing<ForgeHook>, ForgeError> {
        let found = self
            .list::<WireHook>(&repo_path(repo, "/hooks"), &[])
            .await?;
        found.try_map(|hook| Ok(hook.into()))
    }

    /// Makes a hook.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn create_hook(
        &self,
        repo: &RepoName,
        wanted: &HookSpec,
    ) -> Result<ForgeHook, ForgeError> {
        let path = repo_path(repo, "/hooks");
        let mut body = self.hook_body(wanted);
        match self.kind() {
            Forge::GitHub => body["name"] = json!("web"),
            // Forgejo keeps the name.
            Forge::Gitea | Forge::Forgejo => body["type"] = json!("gitea"),
        }
        let hook: WireHook = self.write(Method::Post, &path, &body).await?;
        Ok(hook.into())
    }

    /// Changes a hook in place. Gitea and Forgejo keep the secret that it has.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn edit_hook(
        &self,
        repo: &RepoName,
        id: u64,
        wanted: &HookSpec,
    ) -> Result<ForgeHook, ForgeError> {
        let path = repo_path(repo, &format!("/hooks/{id}"));
        let body = self.hook_body(wanted);
        let hook: WireHook = self.write(Method::Patch, &path, &body).await?;
        Ok(hook.into())
    }

    /// Deletes a hook.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn delete_hook(&self, repo: &RepoName, id: u64) -> Result<(), ForgeError> {
        let path = repo_path(repo, &format!("/hooks/{id}"));
        self.send(Method::Delete, &path).await
    }

    /// Makes the forge send a delivery: GitHub its `ping`, Gitea and Forgejo a `push` of the
    /// default branch's tip.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn test_hook(&self, repo: &RepoName, id: u64) -> Result<(), ForgeError> {
        let verb = match self.kind() {
            Forge::GitHub => "pings",
            Forge::Gitea | Forge::Forgejo => "tests",
        };
        let path = repo_path(repo, &format!("/hooks/{id}/{verb}"));
        self.send(Method::Post, &path).await
    }

    /// Sees to it that a repository has exactly one hook for the address, as it is wanted. Doing so
    /// again changes nothing but the secret.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn ensure_hook(
        &self,
        repo: &RepoName,
        wanted: &HookSpec,
    ) -> Result<(ForgeHook, HookChange), ForgeError> {
        let known = self.hooks(repo).await?;
        let same = |hook: &ForgeHook| Url::parse(&hook.url).is_ok_and(|url| url == wanted.url);
        let mut known = known.items.into_iter().filter(same);
        if self.kind() == Forge::GitHub
            && let Some(first) = known.next()
        {
            let hook = self.edit_hook(repo, first.id, wanted).await?;
            self.delete_hooks(repo, known).await?;
            return Ok((hook, HookChange::Updated));
        }
        let old: Vec<ForgeHook> = known.collect();
        let change = if old.is_empty() {
            HookChange::Created
        } else {
            HookChange::Updated
        };
        let hook = self.create_hook(repo, wanted).await?;
        self.delete_hooks(repo, old.into_iter()).await?;
        Ok((hook, change))
    }

    /// What the token must be allowed for all of this, for messages.
    #[must_use]
    pub fn hook_rights(&self) -> &'static str {
        match self.kind() {
            Forge::GitHub => {
                "the token needs the right to manage webhooks (fine-grained: Webhooks, read and write; classic: \
                 admin:repo_hook), and its owner must administer the repository"
            }
            Forge::Gitea | Forge::Forgejo => {
                "the token needs the scope write:repository, and its owner must administer the repository"
            }
        }
    }

    async fn delete_hooks(
        &self,
        repo: &RepoName,
        hooks: impl Iterator<Item = ForgeHook>,
    ) -> Result<(), ForgeError> {
        for hook in hooks {
            self.delete_hook(repo, hook.id).await?;
        }
        Ok(())
    }

    fn hook_body(&self, wanted: &HookSpec) -> Value {
        let events: Vec<&str> = wanted.events.iter().map(|event| event.as_str()).collect();
        let mut config = json!({
            "url": wanted.url.as_str(),
            "content_type": "json",
            "secret": wanted.secret.expose(),
        });
        if self.kind() == Forge::GitHub {
            config["insecure_ssl"] = json!("0");
        }
        json!({"active": true, "events": events, "config": config})
    }
}
