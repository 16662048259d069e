//! The parts of a forge's answers that are read.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub(super) login: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct StatusJson {
    #[serde(default)]
    pub(super) context: String,
    /// Gitea's name.
    pub(super) status: Option<String>,
    /// GitHub's name.
    pub(super) state: Option<String>,
    pub(super) description: Option<String>,
    pub(super) target_url: Option<String>,
    #[serde(default)]
    pub(super) id: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommentJson {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) body: Option<String>,
    pub(super) user: Option<User>,
    pub(super) html_url: Option<String>,
    pub(super) issue_url: Option<String>,
    pub(super) pull_request_url: Option<String>,
    pub(super) created_at: String,
    pub(super) updated_at: Option<String>,
    /// GitHub's.
    pub(super) author_association: Option<String>,
}

/// Gitea and Forgejo put the commit into another object, GitHub does not.
#[derive(Debug, Deserialize)]
pub(super) struct Commit {
    pub(super) commit: Option<CommitText>,
    pub(super) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommitText {
    pub(super) message: Option<String>,
}

/// Gitea's and Forgejo's.
#[derive(Debug, Deserialize)]
pub(super) struct VersionJson {
    pub(super) version: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repo {
    pub(super) full_name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct IssueJson {
    pub(super) number: u64,
    #[serde(default)]
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) state: String,
    pub(super) html_url: String,
    pub(super) closed_at: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pull {
    pub(super) number: u64,
    #[serde(default)]
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) state: String,
    #[serde(default)]
    pub(super) draft: Option<bool>,
    #[serde(default)]
    pub(super) merged: Option<bool>,
    pub(super) html_url: String,
    pub(super) user: Option<User>,
    pub(super) head: Branch,
    pub(super) base: Branch,
    pub(super) updated_at: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Branch {
    #[serde(rename = "ref")]
    pub(super) name: String,
    pub(super) sha: String,
    pub(super) repo: Option<Repo>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PermissionJson {
    pub(super) permission: String,
    pub(super) role_name: Option<String>,
}
