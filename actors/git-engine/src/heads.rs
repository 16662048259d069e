//! What a remote's references point to now, without fetching anything.

use std::time::Duration;

use forge_core::{CommitSha, ObjectFormats};

use crate::error::GitError;
use crate::mirror::Mirror;
use crate::remote::Remote;

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
        let listed = self.listed(remote, &["--heads"], None, within)?;
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
        let listed = self.listed(remote, &[], Some(reference), within)?;
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
        let listed = self.listed(remote, &["--symref"], Some("HEAD"), within)?;
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

    fn listed(
        &self,
        remote: &Remote,
        options: &[&str],
        pattern: Option<&str>,
        within: Duration,
    ) -> Result<String, GitError> {
        let call = self.call("ls-remote").remote(remote).within(within);
        let call = call.at_most(MAX_BYTES).arg("--quiet").args(options);
        let call = call.args(["--", remote.url().as_str()]);
        match pattern {
            Some(pattern) => call.arg(pattern).text(),
            None => call.text(),
        }
    }
}

/// `<id>\t<reference>`.
fn entry(line: &str) -> Option<(CommitSha, &str)> {
    let (id, name) = line.split_once('\t')?;
    let id = CommitSha::parse(id, ObjectFormats::Sha1AndSha256).ok()?;
    Some((id, name))
}
