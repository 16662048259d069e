//! Pull requests, and who may do what.

use forge_core::{BranchName, CommitSha, Forge, HeadOrigin, Login, PullRequestNumber, RepoName};
use jiff::Timestamp;

use super::client::{ForgeClient, repo_path};
use super::issues::bad_reply;
use super::listing::Listing;
use super::wire;
use crate::forge::{ForgeError, ForgeRefusal};
use crate::http::Method;

/// A pull request as a forge has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgePull {
    /// Its number.
    pub number: PullRequestNumber,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// It is open.
    pub is_open: bool,
    /// It is a draft.
    pub is_draft: bool,
    /// It was merged.
    pub is_merged: bool,
    /// Who opened it.
    pub author: Option<Login>,
    /// The commit that is proposed.
    pub head_sha: CommitSha,
    /// The branch it is on, as the forge names it; may be gone.
    pub head_branch: String,
    /// The repository it is in; `None` when that is gone.
    pub head_repo: Option<RepoName>,
    /// The commit it is compared with.
    pub base_sha: CommitSha,
    /// The branch it is proposed for.
    pub base_branch: BranchName,
    /// It comes from another repository than it is proposed for.
    pub is_fork: bool,
    /// Its page, for people.
    pub html_url: String,
    /// When it was last changed.
    pub updated_at: Option<Timestamp>,
}

/// What a user may do in a repository, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Nothing.
    None,
    /// Look.
    Read,
    /// Push.
    Write,
    /// Change settings.
    Admin,
}

impl ForgeClient {
    /// The open pull requests of a repository.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn open_pulls(&self, repo: &RepoName) -> Result<Listing<ForgePull>, ForgeError> {
        let path = repo_path(repo, "/pulls");
        let found = self.list::<wire::Pull>(&path, &[("state", "open")]).await?;
        found.try_map(ForgePull::try_from)
    }

    /// A pull request.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn pull(
        &self,
        repo: &RepoName,
        number: PullRequestNumber,
    ) -> Result<ForgePull, ForgeError> {
        let path = repo_path(repo, &format!("/pulls/{number}"));
        let pull: wire::Pull = self.read(self.request(Method::Get, &path, &[])).await?;
        pull.try_into()
    }

    /// What a user may do in a repository. A user the forge does not know may do nothing.
    ///
    /// # Errors
    /// See [`ForgeError`]; a Gitea that does not know the call is `TooOld`.
    pub async fn permission(
        &self,
        repo: &RepoName,
        user: &Login,
    ) -> Result<Permission, ForgeError> {
        let user = user.as_str();
        // A name may hold characters with a meaning in addresses.
        let user: String = url::form_urlencoded::byte_serialize(user.as_bytes()).collect();
        let path = repo_path(repo, &format!("/collaborators/{user}/permission"));
        let found = self.read(self.request(Method::Get, &path, &[])).await;
        let found: wire::PermissionJson = match found {
            Err(error) if error.refusal() == Some(ForgeRefusal::NotFound) => {
                return self.knows_permissions().await.map(|()| Permission::None);
            }
            found => found?,
        };
        let role = found.role_name.as_deref().unwrap_or(&found.permission);
        Ok(read_permission(&found.permission).max(read_permission(role)))
    }
}

impl ForgeClient {
    /// Tells a user the forge does not know from a call it does not know: both are 404.
    async fn knows_permissions(&self) -> Result<(), ForgeError> {
        if self.kind() != Forge::Gitea {
            return Ok(());
        }
        let version: wire::VersionJson = self
            .read(self.request(Method::Get, "/version", &[]))
            .await?;
        let version = version.version;
        if is_before(&version, PERMISSIONS_SINCE) {
            let (major, minor) = PERMISSIONS_SINCE;
            return Err(ForgeError::permanent(
                ForgeRefusal::TooOld,
                format!(
                    "Gitea {version} cannot say who may write to a repository; the oldest that can is {major}.{minor}"
                ),
            ));
        }
        Ok(())
    }
}

/// The first Gitea that says what a user may do in a repository.
const PERMISSIONS_SINCE: (u32, u32) = (1, 17);

/// Whether `1.15.11+dev-3-gabc` is before a version. One that cannot be read is not: it is newer
/// than its scheme.
fn is_before(version: &str, wanted: (u32, u32)) -> bool {
    let mut numbers = version.trim_start_matches('v').split(['.', '+', '-']);
    let mut next = || numbers.next()?.parse::<u32>().ok();
    match (next(), next()) {
        (Some(major), Some(minor)) => (major, minor) < wanted,
        _ => false,
    }
}

/// The words of both forges; one that is not known gives nothing.
fn read_permission(word: &str) -> Permission {
    match word {
        "owner" | "admin" => Permission::Admin,
        "write" | "maintain" => Permission::Write,
        "read" | "triage" => Permission::Read,
        _ => Permission::None,
    }
}

impl TryFrom<wire::Pull> for ForgePull {
    type Error = ForgeError;

    fn try_from(pull: wire::Pull) -> Result<Self, ForgeError> {
        let repo = |branch: &wire::Branch| -> Option<RepoName> {
            branch.repo.as_ref()?.full_name.parse().ok()
        };
        let (head_repo, base_repo) = (repo(&pull.head), repo(&pull.base));
        let (from, base) = (head_repo.as_ref(), base_repo.as_ref());
        let origin = base.map_or(HeadOrigin::Unknown, |base| {
            HeadOrigin::of_head(&pull.head.name, from.map(RepoName::as_str), base.as_str())
        });
        Ok(Self {
            number: pull.number.try_into().map_err(bad_reply)?,
            title: pull.title,
            body: pull.body.unwrap_or_default(),
            is_open: pull.state == "open",
            is_draft: pull.draft.unwrap_or(false),
            is_merged: pull.merged.unwrap_or(false),
            author: pull.user.and_then(|user| user.login.parse().ok()),
            head_sha: pull.head.sha.parse().map_err(bad_reply)?,
            head_branch: pull.head.name,
            is_fork: origin != HeadOrigin::SameRepository,
            head_repo,
            base_sha: pull.base.sha.parse().map_err(bad_reply)?,
            base_branch: pull.base.name.parse().map_err(bad_reply)?,
            html_url: pull.html_url,
            updated_at: pull.updated_at.and_then(|at| at.parse().ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v7_versions_are_compared_by_number() {
        let table = [
            ("1.15.11", true),
            ("1.16.0+dev-3-gabcdef", true),
            ("1.17.0", false),
            ("1.17.0-rc1", false),
            ("1.22", false),
            ("v1.9.2", true),
            ("main", false),
        ];
        for (version, expected) in table {
            assert_eq!(is_before(version, PERMISSIONS_SINCE), expected, "{version}");
        }
    }

    #[test]
    fn permissions_of_both_forges_are_read() {
        let table = [
            ("owner", Permission::Admin),
            ("admin", Permission::Admin),
            ("maintain", Permission::Write),
            ("write", Permission::Write),
            ("triage", Permission::Read),
            ("read", Permission::Read),
            ("none", Permission::None),
            ("root", Permission::None),
        ];
        for (word, expected) in table {
            assert_eq!(read_permission(word), expected, "{word}");
        }
    }
}
