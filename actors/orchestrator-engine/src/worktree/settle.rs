//! After a run: no commit of the agent is without a branch.

use std::fs::File;
use std::io::Read;

use forge_core::CommitSha;

use super::error::WorktreeError;
use super::{Worktree, Worktrees};

/// Longest content of a `HEAD` file, in bytes.
const LONGEST_HEAD: u64 = 4096;

/// What a run left in its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The commit the agent ended on.
    pub head: CommitSha,
    /// The branch that holds it.
    pub branch: String,
    /// Whether the agent has committed anything.
    pub changed: bool,
    /// Whether the branch had to be made here: the commits were on none.
    pub rescued: bool,
}

impl Worktrees {
    /// Looks where the agent left `HEAD`. Work on the run's branch or another one is fine as it is;
    /// commits that no branch holds (a detached `HEAD`, a deleted or reset branch) get a branch
    /// `orch/<agent>/<run>-head`.
    ///
    /// # Errors
    /// When git cannot run or the repository is damaged.
    pub fn settle(&self, worktree: &Worktree) -> Result<Settled, WorktreeError> {
        let lock = self.lock(&worktree.repository);
        let _writing = lock.lock();
        let own = format!("refs/heads/{}", worktree.branch);
        let (head, named) = self.head(worktree)?;
        let settled = |branch: &str, rescued| Settled {
            changed: head != worktree.start,
            head: head.clone(),
            branch: branch.to_owned(),
            rescued,
        };
        if let Some(branch) = named {
            return Ok(settled(&branch, false));
        }
        if let Ok(tip) = self.commit(&worktree.repository, &own)
            && self.is_ancestor(worktree, &head, &tip)?
        {
            return Ok(settled(&worktree.branch, false));
        }
        let rescue = format!("{}-head", worktree.branch);
        let call = self.call(&worktree.repository, "update-ref")?;
        call.args([&format!("refs/heads/{rescue}"), head.as_str()])
            .output()?;
        Ok(settled(&rescue, true))
    }

    /// The commit of the worktree's `HEAD`, and the branch it is on, if any. Read from what the
    /// repository keeps, because the worktree's `.git` file may lead anywhere by now. Without a usable
    /// `HEAD` it is the tip of the run's branch, else the first commit.
    fn head(&self, worktree: &Worktree) -> Result<(CommitSha, Option<String>), WorktreeError> {
        let text = read_head(worktree).unwrap_or_default();
        let text = text.trim();
        if let Some(name) = text.strip_prefix("ref: refs/heads/")
            && let Ok(commit) = self.commit(&worktree.repository, &format!("refs/heads/{name}"))
        {
            return Ok((commit, Some(name.to_owned())));
        }
        let detached = text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if detached && let Ok(commit) = self.commit(&worktree.repository, text) {
            return Ok((commit, None));
        }
        let tip = self.commit(
            &worktree.repository,
            &format!("refs/heads/{}", worktree.branch),
        );
        match tip {
            Ok(tip) => Ok((tip, Some(worktree.branch.clone()))),
            Err(_) => Ok((
                self.commit(&worktree.repository, worktree.start.as_str())?,
                None,
            )),
        }
    }

    fn is_ancestor(
        &self,
        worktree: &Worktree,
        commit: &CommitSha,
        of: &CommitSha,
    ) -> Result<bool, WorktreeError> {
        let call = self.call(&worktree.repository, "merge-base")?;
        let answer = call
            .args(["--is-ancestor", commit.as_str(), of.as_str()])
            .output();
        match answer {
            Ok(_) => Ok(true),
            Err(git_engine::GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn read_head(worktree: &Worktree) -> Option<String> {
    let path = worktree.administration().join("HEAD");
    // A pipe in its place would be waited for without end.
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path)
        .ok()?
        .take(LONGEST_HEAD)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}
