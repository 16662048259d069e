//! What a remote's references point to now, without fetching anything.

use std::time::Duration;

use forge_core::{CommitSha, GitRef, ObjectFormats};

use crate::command::GitInvocation;
use crate::error::GitError;
use crate::mirror::Mirror;
use crate::remote::Remote;
use crate::work_tree::WorkTree;

/// Branches that are looked at in one repository.
pub const MAX_HEADS: usize = 20_000;
/// Bytes of a listing: a branch takes about a hundred.
const MAX_BYTES: usize = 4 << 20;
const BRANCHES: &str = "refs/heads/";

/// Branches of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heads {
    /// Names without `refs/heads/`, and their newest commits.
    pub branches: Vec<(String, CommitSha)>,
}

impl Mirror {
    /// All branches of the remote.
    ///
    /// # Errors
    /// When it cannot be reached, refuses, or has more than [`MAX_HEADS`] of them.
    pub fn remote_heads(&self, remote: &Remote, within: Duration) -> Result<Heads, GitError> {
        let listed = self.listed(remote, &["--heads"], &[], within)?;
        let branches: Vec<(String, CommitSha)> = listed
            .lines()
            .filter_map(entry)
            .filter_map(|(id, name)| Some((name.strip_prefix(BRANCHES)?.to_owned(), id)))
            .collect();
        if branches.len() > MAX_HEADS {
            return Err(GitError::Unexpected {
                what: "ls-remote".to_owned(),
                reason: format!("{} branches, {MAX_HEADS} are looked at", branches.len()),
            });
        }
        Ok(Heads { branches })
    }

    /// The commit that one reference of the remote points to (`refs/heads/main`,
    /// `refs/pull/7/head`); `None`: it has no such one.
    ///
    /// # Errors
    /// When it cannot be reached or refuses.
    pub fn remote_ref(
        &self,
        remote: &Remote,
        reference: &str,
        within: Duration,
    ) -> Result<Option<CommitSha>, GitError> {
        let listed = self.listed(remote, &[], &[reference], within)?;
        let found = listed.lines().filter_map(entry);
        Ok(found
            .filter(|(_, name)| *name == reference)
            .map(|(id, _)| id)
            .next())
    }

    /// The remote's default branch, and its newest commit.
    ///
    /// # Errors
    /// When it cannot be reached or refuses.
    pub fn remote_default(
        &self,
        remote: &Remote,
        within: Duration,
    ) -> Result<Option<(String, CommitSha)>, GitError> {
        default_branch(&|what| self.call(what), remote, within)
    }

    /// The commit that a name means at the remote, as `uses: owner/repo@NAME` does, and the
    /// reference it was found by: a tag (through an annotated one to its commit), else a branch. A
    /// full commit id means itself. `None`: there is neither.
    ///
    /// # Errors
    /// When it cannot be reached or refuses.
    pub fn remote_commit(
        &self,
        remote: &Remote,
        name: &str,
        within: Duration,
    ) -> Result<Option<(CommitSha, Option<GitRef>)>, GitError> {
        if let Ok(id) = CommitSha::parse(name, ObjectFormats::Sha1AndSha256) {
            return Ok(Some((id, None)));
        }
        let (tag, branch) = (format!("refs/tags/{name}"), format!("{BRANCHES}{name}"));
        let peeled = format!("{tag}^{{}}");
        let listed = self.listed(remote, &[], &[&tag, &peeled, &branch], within)?;
        let entries: Vec<(CommitSha, &str)> = listed.lines().filter_map(entry).collect();
        let found = [(&peeled, &tag), (&tag, &tag), (&branch, &branch)];
        let found = found.into_iter().find_map(|(listed, reference)| {
            let (id, _) = entries.iter().find(|(_, name)| name == listed)?;
            Some((id.clone(), reference.parse().ok()))
        });
        Ok(found)
    }

    fn listed(
        &self,
        remote: &Remote,
        options: &[&str],
        patterns: &[&str],
        within: Duration,
    ) -> Result<String, GitError> {
        listed(&|what| self.call(what), remote, options, patterns, within)
    }
}

impl WorkTree {
    /// The commit that a name means at the remote as `actions/checkout` takes it, and the reference
    /// it was found by: a full reference as it is, else a branch, else a tag (through an annotated
    /// one to its commit). `None`: there is neither.
    ///
    /// # Errors
    /// When it cannot be reached or refuses.
    pub fn remote_checkout(
        &self,
        remote: &Remote,
        name: &str,
        within: Duration,
    ) -> Result<Option<(CommitSha, GitRef)>, GitError> {
        let names = if name.starts_with("refs/") {
            vec![name.to_owned()]
        } else {
            vec![format!("{BRANCHES}{name}"), format!("refs/tags/{name}")]
        };
        let names: Vec<GitRef> = names.iter().filter_map(|name| name.parse().ok()).collect();
        let written = |reference: &GitRef| [reference.to_string(), format!("{reference}^{{}}")];
        let asked: Vec<String> = names.iter().flat_map(written).collect();
        if asked.is_empty() {
            return Ok(None);
        }
        let patterns: Vec<&str> = asked.iter().map(String::as_str).collect();
        let listed = listed(&|what| self.call(what), remote, &[], &patterns, within)?;
        let entries: Vec<(CommitSha, &str)> = listed.lines().filter_map(entry).collect();
        let found = names.into_iter().find_map(|reference| {
            // The commit behind an annotated tag before the tag's own object.
            let [plain, peeled] = written(&reference);
            let of = |name: &str| entries.iter().find(|(_, known)| *known == name);
            let (id, _) = of(&peeled).or_else(|| of(&plain))?;
            Some((id.clone(), reference))
        });
        Ok(found)
    }

    /// The remote's default branch, and its newest commit.
    ///
    /// # Errors
    /// When it cannot be reached or refuses.
    pub fn remote_default(
        &self,
        remote: &Remote,
        within: Duration,
    ) -> Result<Option<(String, CommitSha)>, GitError> {
        default_branch(&|what| self.call(what), remote, within)
    }
}

fn listed(
    call: &dyn Fn(&str) -> GitInvocation,
    remote: &Remote,
    options: &[&str],
    patterns: &[&str],
    within: Duration,
) -> Result<String, GitError> {
    let call = call("ls-remote").remote(remote).with_limit(within);
    let call = call.at_most(MAX_BYTES).arg("--quiet").args(options);
    let call = call.args(["--", remote.address()]);
    call.args(patterns).text()
}

fn default_branch(
    call: &dyn Fn(&str) -> GitInvocation,
    remote: &Remote,
    within: Duration,
) -> Result<Option<(String, CommitSha)>, GitError> {
    let listed = listed(call, remote, &["--symref"], &["HEAD"], within)?;
    let branch = listed
        .lines()
        .filter_map(|line| {
            line.strip_prefix("ref: refs/heads/")?
                .strip_suffix("\tHEAD")
        })
        .next();
    let head = listed.lines().filter_map(entry);
    let head = head
        .filter(|(_, name)| *name == "HEAD")
        .map(|(id, _)| id)
        .next();
    Ok(branch.map(str::to_owned).zip(head))
}

/// `<id>\t<reference>`.
fn entry(line: &str) -> Option<(CommitSha, &str)> {
    let (id, name) = line.split_once('\t')?;
    let id = CommitSha::parse(id, ObjectFormats::Sha1AndSha256).ok()?;
    Some((id, name))
}
