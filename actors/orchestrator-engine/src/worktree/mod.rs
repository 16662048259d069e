//! A worktree for each run: a folder, a repository and a branch of its own, and nothing lost or
//! followed.
//!
//! ```text
//! mirror: fetched from the forge or the checkout, by our configuration alone (see `mirror`)
//! create: commit ──> clone in <root>/<project>/<run> on branch orch/<agent>/<run>   (hooks and filters off)
//! settle: what did the agent commit? read back into the mirror, on orch/<agent>/<run>, and handed to the checkout
//! sweep:  the run table says which folders are over; those modified within half an hour stay
//! ```
//!
//! Agents own what is in a worktree, its repository included, and may write to the project's
//! checkout, so nothing of either is trusted: no git process runs by their configuration, and
//! folders are removed without following links.

mod clone;
mod error;
mod gc;
mod guard;
mod integrity;
mod mirror;
mod save_commits;
mod tree;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use forge_core::{CommitSha, ObjectFormats, ProjectId, RunId};
use git_engine::Git;
use parking_lot::Mutex;

pub use error::WorktreeError;
pub use gc::{GcOutcome, WorktreeRun};
pub use mirror::ProjectMirror;
pub use save_commits::SettledBranch;
pub use tree::{Worktree, WorktreePurpose};

use self::clone::CloneConfig;
use self::integrity::ReferenceDigest;
use crate::exhaustion;
use crate::names::safe_name;

/// All worktrees below one folder.
#[derive(Debug, Clone)]
pub struct Worktrees {
    git: Git,
    root: PathBuf,
    /// Where the mirrors are.
    mirrors: PathBuf,
    /// One writer at a time for each repository.
    locks: Arc<Mutex<HashMap<PathBuf, Arc<Mutex<ReferenceDigest>>>>>,
}

impl Worktrees {
    /// Worktrees live in `root/<project>/<run>`, mirrors in `mirrors/<project>.git`; both folders
    /// are made. No agent may write to `mirrors`.
    ///
    /// # Errors
    /// [`WorktreeError::Io`] when one cannot be made.
    pub fn new(git: Git, root: &Path, mirrors: &Path) -> Result<Self, WorktreeError> {
        let made = |folder: &Path| {
            fs::create_dir_all(folder).map_err(WorktreeError::at_path(folder))?;
            folder
                .canonicalize()
                .map_err(WorktreeError::at_path(folder))
        };
        Ok(Self {
            git,
            root: made(root)?,
            mirrors: made(mirrors)?,
            locks: Arc::default(),
        })
    }

    /// Where the worktree of a run is, or would be.
    pub fn folder(&self, project: &ProjectId, run: &RunId) -> PathBuf {
        self.root
            .join(safe_name(project.as_str()))
            .join(safe_name(run.as_str()))
    }

    /// The mirror of a project, in the object format of its checkout.
    ///
    /// # Errors
    /// When the checkout is none, or the disk refuses.
    pub fn mirror(
        &self,
        project: &ProjectId,
        checkout: &Path,
    ) -> Result<ProjectMirror, WorktreeError> {
        let inner = self.common_folder(checkout)?;
        let format = self.call(&inner, "rev-parse");
        let format = format.arg("--show-object-format").text()?;
        let folder = self.mirror_folder(project);
        let lock = self.lock(&folder);
        ProjectMirror::open(self.git.clone(), folder, format == "sha256", lock)
    }

    /// Fetches `from` (a reference or a commit) of the project's checkout to the mirror's reference
    /// `to`; `false` when the checkout has no such thing.
    ///
    /// # Errors
    /// When git cannot run.
    pub fn fetch_checkout(
        &self,
        mirror: &ProjectMirror,
        checkout: &Path,
        from: &str,
        to: &str,
    ) -> Result<bool, WorktreeError> {
        let inner = self.common_folder(checkout)?;
        match mirror.fetch_folder(&inner, &[format!("+{from}:{to}")], false) {
            Ok(()) => Ok(true),
            Err(WorktreeError::Git(git_engine::GitError::Failed { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Puts a commit of the mirror into the project's checkout, on no branch, so that what runs
    /// there can name it.
    ///
    /// # Errors
    /// When git cannot run, or the checkout's folders lead elsewhere.
    pub fn lend(
        &self,
        mirror: &ProjectMirror,
        checkout: &Path,
        commit: &CommitSha,
    ) -> Result<(), WorktreeError> {
        let inner = self.common_folder(checkout)?;
        if self.commit(&inner, commit.as_str()).is_ok() {
            return Ok(());
        }
        let tip = self.commit(&inner, "HEAD").ok();
        mirror.push_to(&inner, commit, tip.as_ref(), None)
    }

    /// Whether a project has a mirror already.
    pub fn has_mirror(&self, project: &ProjectId) -> bool {
        self.mirror_folder(project).join("HEAD").exists()
    }

    fn mirror_folder(&self, project: &ProjectId) -> PathBuf {
        let name = format!("{}.git", safe_name(project.as_str()));
        self.mirrors.join(name)
    }

    /// Tidies the mirror of a project where that is worth it.
    ///
    /// # Errors
    /// When git fails or takes too long; it is tried again after a day.
    pub fn housekeep(
        &self,
        project: &ProjectId,
        checkout: &Path,
        now: SystemTime,
    ) -> Result<bool, WorktreeError> {
        self.mirror(project, checkout)?.housekeep(now)
    }

    /// Makes the run's branch at `start` in a clone of its own, and checks it out into the run's
    /// folder. A commit that the mirror has not got yet comes from the checkout.
    ///
    /// # Errors
    /// When the folder is there already, the commit is not, or the disk is full. Nothing is left
    /// behind then.
    pub fn create(
        &self,
        checkout: &Path,
        purpose: &WorktreePurpose,
        start: &CommitSha,
    ) -> Result<Worktree, WorktreeError> {
        let mirror = self.mirror(&purpose.project, checkout)?;
        let worktree = Worktree {
            folder: self.folder(&purpose.project, &purpose.run),
            branch: purpose.branch(),
            start: start.clone(),
            run: purpose.run.clone(),
            project: purpose.project.clone(),
            repository: self.common_folder(checkout)?,
        };
        let kept = format!("refs/orch/starts/{start}");
        if !mirror.has_commit(start)? {
            let found = self.fetch_checkout(&mirror, checkout, start.as_str(), &kept)?;
            if !found || !mirror.has_commit(start)? {
                return Err(WorktreeError::NoCommit {
                    repository: checkout.to_owned(),
                    revision: start.to_string(),
                });
            }
        }
        self.own_parent(&worktree.folder)?;
        if worktree.folder.symlink_metadata().is_ok() {
            return Err(WorktreeError::Taken(worktree.folder));
        }
        mirror.measure(start)?;
        let facts = self.facts(&mirror, &worktree.repository)?;
        mirror.set(&worktree.staged("start"), start)?;
        let made = clone::make(&self.git, &mirror, &worktree, &facts);
        if let Err(error) = made {
            // Asked before anything is taken back, which makes room.
            let full = exhaustion::is_disk_full(&self.root);
            let _ = guard::remove_tree(&worktree.folder);
            if full {
                let why = format!("No space left on device ({error})");
                return Err(WorktreeError::at_path(&worktree.folder)(
                    std::io::Error::new(std::io::ErrorKind::StorageFull, why),
                ));
            }
            return Err(error);
        }
        Ok(worktree)
    }

    /// The configuration of a clone of the project.
    fn facts(&self, mirror: &ProjectMirror, inner: &Path) -> Result<CloneConfig, WorktreeError> {
        let setting = |name: &str| {
            let call = self.call(inner, "config").args(["--local", "--get", name]);
            call.text().ok().filter(|value| !value.is_empty())
        };
        Ok(CloneConfig {
            origin: setting("remote.origin.url").and_then(|url| without_secret(&url)),
            user: [setting("user.name"), setting("user.email")],
            branches: mirror.list("refs/remotes/origin/")?,
        })
    }

    /// The folder of a project: a real one, below the root.
    fn own_parent(&self, folder: &Path) -> Result<(), WorktreeError> {
        let parent = folder.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(WorktreeError::at_path(parent))?;
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
        folder
            .canonicalize()
            .map_err(WorktreeError::at_path(repository))
    }

    /// Lays a fresh worktree ready to be made anew elsewhere: its repository as the bundle
    /// `repository`, and its configuration, which holds no secret, as `config`.
    ///
    /// # Errors
    /// When git cannot run, or the disk refuses.
    pub fn pack(
        &self,
        worktree: &Worktree,
        repository: &Path,
        config: &Path,
    ) -> Result<(), WorktreeError> {
        clone::bundle(&self.git, worktree, repository)?;
        let from = clone::inner(worktree).join("config");
        fs::copy(&from, config).map_err(WorktreeError::at_path(config))?;
        Ok(())
    }

    /// The newest commit of a branch of the project's checkout.
    ///
    /// # Errors
    /// When there is no such branch, or git cannot run.
    pub fn tip(&self, checkout: &Path, branch: &str) -> Result<CommitSha, WorktreeError> {
        let repository = self.common_folder(checkout)?;
        self.commit(&repository, &format!("refs/heads/{branch}"))
    }

    fn commit(&self, repository: &Path, revision: &str) -> Result<CommitSha, WorktreeError> {
        let call = self.call(repository, "rev-parse");
        let none = || WorktreeError::NoCommit {
            repository: repository.to_owned(),
            revision: revision.to_owned(),
        };
        let text = call
            .args(["--verify", "--quiet", "--end-of-options"])
            .arg(format!("{revision}^{{commit}}"))
            .text()
            .map_err(|error| match error {
                git_engine::GitError::Failed { .. } => none(),
                error => error.into(),
            })?;
        CommitSha::parse(&text, ObjectFormats::Sha1AndSha256).map_err(|_| none())
    }

    /// A question to a repository of the project, `rev-parse` or `config`: they start no program
    /// whatever its configuration says, and hold no secret.
    fn call(&self, repository: &Path, what: &str) -> git_engine::GitInvocation {
        debug_assert!(["rev-parse", "config"].contains(&what), "no other call");
        self.git
            .call(repository, what)
            .setting(&format!("safe.directory={}", repository.display()))
            .env("GIT_DIR", repository)
    }

    fn lock(&self, repository: &Path) -> Arc<Mutex<ReferenceDigest>> {
        let mut locks = self.locks.lock();
        Arc::clone(locks.entry(repository.to_owned()).or_default())
    }
}

/// An address without user name and password; `None` for what is no plain address.
fn without_secret(address: &str) -> Option<String> {
    let Some((scheme, rest)) = address.split_once("://") else {
        // A folder, or `host:path` as ssh takes it, which holds no password.
        return Some(address.to_owned());
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    Some(format!("{scheme}://{host}/{path}"))
}

impl Worktree {
    /// The worktree of a run whose folder was made by a previous incarnation of the daemon.
    ///
    /// # Errors
    /// When the checkout is none.
    pub fn find(
        worktrees: &Worktrees,
        repository: &Path,
        purpose: &WorktreePurpose,
        start: CommitSha,
    ) -> Result<Self, WorktreeError> {
        Ok(Self {
            folder: worktrees.folder(&purpose.project, &purpose.run),
            repository: worktrees.common_folder(repository)?,
            branch: purpose.branch(),
            start,
            run: purpose.run.clone(),
            project: purpose.project.clone(),
        })
    }
}
