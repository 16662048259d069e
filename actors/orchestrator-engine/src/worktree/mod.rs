//! A worktree for each run: a folder and a branch of its own, and nothing lost or followed.
//!
//! ```text
//! create: commit ──> branch orch/<agent>/<run> ──> <root>/<project>/<run>   (checked out, hooks and filters off)
//! settle: where did the agent leave HEAD? commits that no branch holds get one
//! sweep:  the run table says which folders are over; those modified within half an hour stay
//! ```
//!
//! Agents own what is in a worktree, and may write to the repository behind it, so nothing of either is
//! trusted afterwards: git is asked through the repository's own folder and never through the `.git`
//! file of the worktree, its configuration cannot start programs, and folders are removed without
//! following links.

mod error;
mod guard;
mod settle;
mod sweep;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forge_core::{AgentName, CommitSha, ObjectFormats, ProjectId, RunId};
use git_engine::Git;
use parking_lot::Mutex;

pub use error::WorktreeError;
pub use settle::Settled;
pub use sweep::{KEPT_AFTER_CHANGE, RunState, Swept};

use crate::names::safe_name;

/// All worktrees below one folder.
#[derive(Debug, Clone)]
pub struct Worktrees {
    git: Git,
    root: PathBuf,
    /// One writer at a time for each repository.
    locks: Arc<Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>>,
}

/// What a worktree is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purpose {
    /// The project.
    pub project: ProjectId,
    /// The agent.
    pub agent: AgentName,
    /// The run.
    pub run: RunId,
}

/// A worktree that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// The folder the agent works in.
    pub folder: PathBuf,
    /// The repository behind it: its `.git` folder, or a bare one.
    pub repository: PathBuf,
    /// Its branch, `orch/<agent>/<run>`.
    pub branch: String,
    /// The commit it began with.
    pub start: CommitSha,
    /// The run.
    pub run: RunId,
}

impl Purpose {
    /// The branch that all work of the run is on.
    pub fn branch(&self) -> String {
        format!("orch/{}/{}", self.agent, self.run)
    }
}

impl Worktrees {
    /// Worktrees live in `root/<project>/<run>`; `root` is made.
    ///
    /// # Errors
    /// [`WorktreeError::Io`] when it cannot be made.
    pub fn new(git: Git, root: &Path) -> Result<Self, WorktreeError> {
        fs::create_dir_all(root).map_err(WorktreeError::at(root))?;
        let root = root.canonicalize().map_err(WorktreeError::at(root))?;
        Ok(Self {
            git,
            root,
            locks: Arc::default(),
        })
    }

    /// Where the worktree of a run is, or would be.
    pub fn folder(&self, project: &ProjectId, run: &RunId) -> PathBuf {
        self.root
            .join(safe_name(project.as_str()))
            .join(safe_name(run.as_str()))
    }

    /// The newest commit of a branch in `repository`.
    ///
    /// # Errors
    /// When there is no such branch, or git cannot run.
    pub fn tip(&self, repository: &Path, branch: &str) -> Result<CommitSha, WorktreeError> {
        let repository = self.common_folder(repository)?;
        self.commit(&repository, &format!("refs/heads/{branch}"))
    }

    /// Makes the run's branch at `start`, which must be in `repository` (a checkout or a bare
    /// repository), and checks it out into the run's folder.
    ///
    /// # Errors
    /// When the folder or the branch is there already, the commit is not, or the disk is full. Nothing
    /// is left behind then.
    pub fn create(
        &self,
        repository: &Path,
        purpose: &Purpose,
        start: &CommitSha,
    ) -> Result<Worktree, WorktreeError> {
        let repository = self.common_folder(repository)?;
        let lock = self.lock(&repository);
        let _writing = lock.lock();
        let worktree = Worktree {
            folder: self.folder(&purpose.project, &purpose.run),
            branch: purpose.branch(),
            start: start.clone(),
            run: purpose.run.clone(),
            repository,
        };
        self.own_parent(&worktree.folder)?;
        if worktree.folder.symlink_metadata().is_ok() {
            return Err(WorktreeError::Taken(worktree.folder));
        }
        let add = self.call(&worktree.repository, "worktree")?.args([
            "add",
            "--quiet",
            "--no-track",
            "-b",
            &worktree.branch,
        ]);
        let add = add
            .arg("--")
            .arg(&worktree.folder)
            .arg(start.as_str())
            .output();
        add.inspect_err(|_| self.undo(&worktree))?;
        Ok(worktree)
    }

    /// Takes back what a failed `create` may have made. The branch is left when it was there before:
    /// `git branch -d` refuses nothing that has work of its own.
    fn undo(&self, worktree: &Worktree) {
        let _ = guard::remove_tree(&worktree.folder);
        let _ = guard::remove_tree(&worktree.administration());
        let tip = self.commit(
            &worktree.repository,
            &format!("refs/heads/{}", worktree.branch),
        );
        if tip.is_ok_and(|tip| tip == worktree.start)
            && let Ok(call) = self.call(&worktree.repository, "branch")
        {
            let _ = call
                .args(["--quiet", "-D", "--", &worktree.branch])
                .output();
        }
    }

    /// The folder of a project: a real one, below the root.
    fn own_parent(&self, folder: &Path) -> Result<(), WorktreeError> {
        let parent = folder.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(WorktreeError::at(parent))?;
        guard::real_folder_below(&self.root, parent)
    }

    /// The repository's own folder: `.git` of a checkout, the folder itself of a bare one.
    fn common_folder(&self, repository: &Path) -> Result<PathBuf, WorktreeError> {
        let inner = repository.join(".git");
        let folder = if inner.is_dir() {
            inner
        } else {
            repository.to_owned()
        };
        if !folder.join("objects").is_dir() {
            return Err(WorktreeError::NoRepository(repository.to_owned()));
        }
        folder.canonicalize().map_err(WorktreeError::at(repository))
    }

    fn commit(&self, repository: &Path, revision: &str) -> Result<CommitSha, WorktreeError> {
        let call = self.call(repository, "rev-parse")?;
        let text = call
            .args(["--verify", "--quiet", "--end-of-options"])
            .arg(format!("{revision}^{{commit}}"))
            .text()
            .map_err(|_| WorktreeError::NoCommit {
                repository: repository.to_owned(),
                revision: revision.to_owned(),
            })?;
        CommitSha::parse(&text, ObjectFormats::Sha1AndSha256).map_err(|_| WorktreeError::NoCommit {
            repository: repository.to_owned(),
            revision: revision.to_owned(),
        })
    }

    /// A call of git in `repository` that starts none of the programs its configuration names.
    fn call(&self, repository: &Path, what: &str) -> Result<git_engine::Call, WorktreeError> {
        let mut call = self
            .git
            .call(repository, what)
            .setting(&format!("safe.directory={}", repository.display()));
        for setting in guard::disarming(&self.git, repository)? {
            call = call.setting(&setting);
        }
        Ok(call.env("GIT_DIR", repository))
    }

    fn lock(&self, repository: &Path) -> Arc<Mutex<()>> {
        let mut locks = self.locks.lock();
        Arc::clone(locks.entry(repository.to_owned()).or_default())
    }
}

impl Worktree {
    /// The worktree of a run whose folder was made by a former life of the daemon.
    pub fn known(
        worktrees: &Worktrees,
        repository: &Path,
        purpose: &Purpose,
        start: CommitSha,
    ) -> Result<Self, WorktreeError> {
        Ok(Self {
            folder: worktrees.folder(&purpose.project, &purpose.run),
            repository: worktrees.common_folder(repository)?,
            branch: purpose.branch(),
            start,
            run: purpose.run.clone(),
        })
    }

    /// What the repository keeps about the worktree. Named by git after the folder.
    fn administration(&self) -> PathBuf {
        self.repository
            .join("worktrees")
            .join(safe_name(self.run.as_str()))
    }
}
