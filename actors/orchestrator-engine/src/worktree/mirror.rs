//! The orchestrator's own bare mirror of a project: the only repository in which its git runs with
//! a token.
//!
//! ```text
//! forge ──fetch (token)──▶ mirror ──objects──▶ clone of a run (an agent's own `.git`)
//! checkout ──fetch (no token)──▶ │ ◀──fetch (no token)── clone, after the run
//!                                └──objects, then one reference file──▶ checkout
//! ```
//!
//! The configuration of the mirror is a constant that is written again before each use. Other
//! repositories are only read by `git upload-pack`, which is made for repositories that are not
//! trusted, and by processes without any secret; what is handed to a checkout is written into its
//! object folder under a configuration of ours, and its reference by hand: no git process ever runs
//! by the configuration of a folder that an agent can write.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use forge_core::{CommitSha, ObjectFormats};
use git_engine::{Git, GitError, GitInvocation, References, Remote, TreeLimits};
use parking_lot::Mutex;

use super::error::WorktreeError;
use super::guard;
use super::integrity::{self, ReferenceDigest};

/// How another repository of this machine is read: exactly the named folder, whoever owns it, any
/// commit of it.
const UPLOAD_PACK: &str =
    "git -c 'safe.directory=*' -c uploadpack.allowAnySHA1InWant=true upload-pack --strict";
/// The same for an `origin` that is a folder, as people write it: with or without its `.git`.
const UPLOAD_PACK_OF_ORIGIN: &str =
    "git -c 'safe.directory=*' -c uploadpack.allowAnySHA1InWant=true upload-pack";

/// The options of a fetch: no tags, no submodules, no record that others could trip over.
const FETCH: [&str; 5] = [
    "--quiet",
    "--no-tags",
    "--no-recurse-submodules",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
];

/// The most that an agent's clone lays out.
const LIMITS: TreeLimits = TreeLimits {
    entries: 1_000_000,
    bytes: 16 << 30,
    depth: 200,
};

/// A bare repository of ours.
#[derive(Debug, Clone)]
pub struct ProjectMirror {
    git: Git,
    folder: PathBuf,
    sha256: bool,
    lock: Arc<Mutex<ReferenceDigest>>,
}

impl ProjectMirror {
    /// The mirror in `folder`, made when it is not there yet, and made anew when somebody else has
    /// written to it: where agents are no more than processes of the same user, nothing but this
    /// look keeps them from it. Objects stay, since their names are their content; references are
    /// fetched again.
    pub(super) fn open(
        git: Git,
        folder: PathBuf,
        sha256: bool,
        lock: Arc<Mutex<ReferenceDigest>>,
    ) -> Result<Self, WorktreeError> {
        let mirror = Self {
            git,
            folder,
            sha256,
            lock,
        };
        mirror.writing(|seal| {
            if let Some(change) = seal.broken(&mirror.folder, &mirror.config()) {
                tracing::error!(
                    event = "worktree.mirror_changed", path = %mirror.folder.display(), change,
                    "somebody else has written to a mirror: it is made anew"
                );
                integrity::clear(&mirror.folder)?;
            }
            mirror.make(&mirror.folder)
        })?;
        Ok(mirror)
    }

    /// Work that may change references, one at a time.
    fn writing<T>(
        &self,
        work: impl FnOnce(&ReferenceDigest) -> Result<T, WorktreeError>,
    ) -> Result<T, WorktreeError> {
        let mut seal = self.lock.lock();
        let done = work(&seal);
        seal.close(&self.folder);
        done
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the commit is here.
    ///
    /// # Errors
    /// When git cannot run.
    pub fn has_commit(&self, commit: &CommitSha) -> Result<bool, WorktreeError> {
        let object = format!("{commit}^{{commit}}");
        match self.call("cat-file")?.args(["-e", &object]).output() {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The commit that a reference names.
    ///
    /// # Errors
    /// When git cannot run.
    pub fn resolve(&self, reference: &str) -> Result<Option<CommitSha>, WorktreeError> {
        let call = self.call("rev-parse")?;
        let call = call.args(["--verify", "--quiet", "--end-of-options"]);
        match call.arg(format!("{reference}^{{commit}}")).text() {
            Ok(text) => Ok(CommitSha::parse(&text, ObjectFormats::Sha1AndSha256).ok()),
            Err(GitError::Failed { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Fetches `from` (a reference or a commit) of the forge to the reference `to`. The only call
    /// that holds a token.
    ///
    /// # Errors
    /// When the remote cannot be reached, refuses, or has no such thing.
    pub fn fetch(&self, remote: &Remote, from: &str, to: &str) -> Result<(), WorktreeError> {
        self.writing(|_| {
            let mut call = self.call("fetch")?.remote(remote).args(FETCH);
            if remote.url().scheme() == "file" {
                call = call.arg(format!("--upload-pack={UPLOAD_PACK_OF_ORIGIN}"));
            }
            call.args(["--", remote.url().as_str(), &format!("+{from}:{to}")])
                .output()?;
            Ok(())
        })
    }

    /// Fetches from a repository of this machine, given by its inner folder (`.git`, or a bare
    /// one); no secret is near. With `checked` each object that comes must be as git makes it
    /// (`fsck`): no `.git` in a tree, no strange modes.
    ///
    /// # Errors
    /// When it has no such thing, or holds what git refuses.
    pub(super) fn fetch_folder(
        &self,
        inner: &Path,
        specs: &[String],
        checked: bool,
    ) -> Result<(), WorktreeError> {
        self.writing(|_| {
            let call = self.call("fetch")?.own_folders();
            let call = call
                .setting(&format!("fetch.fsckObjects={checked}"))
                .args(FETCH);
            let call = call.arg(format!("--upload-pack={UPLOAD_PACK}"));
            call.arg("--").arg(inner).args(specs).output()?;
            Ok(())
        })
    }

    /// The commits of all references below `prefix`, by the rest of their names.
    pub(super) fn list(&self, prefix: &str) -> Result<Vec<(String, CommitSha)>, WorktreeError> {
        let call = self.call("for-each-ref")?;
        let text = call
            .args(["--format=%(objectname) %(refname)", "--", prefix])
            .text()?;
        let row = |line: &str| {
            let (commit, name) = line.split_once(' ')?;
            let commit = CommitSha::parse(commit, ObjectFormats::Sha1AndSha256).ok()?;
            Some((name.strip_prefix(prefix)?.to_owned(), commit))
        };
        Ok(text.lines().filter_map(row).collect())
    }

    /// Points a branch of the mirror at a commit.
    pub(super) fn set(&self, reference: &str, commit: &CommitSha) -> Result<(), WorktreeError> {
        self.writing(|_| {
            let call = self.call("update-ref")?;
            call.args(["--", reference, commit.as_str()]).output()?;
            Ok(())
        })
    }

    /// Removes the references below a folder, which are never packed.
    pub(super) fn forget(&self, references: &str) -> Result<(), WorktreeError> {
        self.writing(|_| guard::remove_tree(&self.folder.join(references)))
    }

    /// What a commit would lay out, as far as an agent's clone may.
    pub(super) fn measure(&self, commit: &CommitSha) -> Result<(), WorktreeError> {
        write_config(&self.folder, &self.config())?;
        let call = |what: &str| self.git_call(what);
        git_engine::tree_size(&call, commit, &LIMITS)?;
        Ok(())
    }

    /// Tidies the mirror where that is worth it; whether it did. Waits for fetches, and they wait
    /// for it.
    ///
    /// # Errors
    /// When git fails or takes too long.
    pub(super) fn housekeep(&self, now: SystemTime) -> Result<bool, WorktreeError> {
        self.writing(|_| {
            write_config(&self.folder, &self.config())?;
            let references = References {
                pinned: "refs/orch/starts/",
                // Those of runs are removed as files.
                pack: false,
            };
            let call = |what: &str| self.git_call(what);
            Ok(git_engine::housekeep(&call, &self.folder, references, now)?)
        })
    }

    pub(super) fn is_ancestor(
        &self,
        commit: &CommitSha,
        of: &CommitSha,
    ) -> Result<bool, WorktreeError> {
        let call = self.call("merge-base")?;
        let answer = call
            .args(["--is-ancestor", commit.as_str(), of.as_str()])
            .output();
        match answer {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a commit of the mirror into another repository of this machine, with everything it
    /// needs, and points `branch` at it. `known` is a commit that is likely to be there already.
    pub(super) fn push_to(
        &self,
        inner: &Path,
        commit: &CommitSha,
        known: Option<&CommitSha>,
        branch: Option<&str>,
    ) -> Result<(), WorktreeError> {
        let objects = inner.join("objects");
        guard::real_folder_below(inner, &objects)?;
        let _writing = self.lock.lock();
        let name = format!("handover-{}.git", commit.as_str());
        let bench = HandoverRepository(self.folder.with_file_name(name));
        guard::remove_tree(&bench.0)?;
        self.make(&bench.0)?;
        let call = |what: &str| {
            let call = self.git.call(&bench.0, what).own_folders();
            call.env("GIT_DIR", &bench.0)
                .env("GIT_OBJECT_DIRECTORY", &objects)
        };
        let there = |commit: &CommitSha| {
            let object = format!("{commit}^{{commit}}");
            call("cat-file").args(["-e", &object]).output().is_ok()
        };
        if let Some(known) = known.filter(|known| there(known)) {
            let row = format!("{known} refs/heads/known\n");
            let path = bench.0.join("packed-refs");
            fs::write(&path, row).map_err(WorktreeError::at_path(&path))?;
        }
        let fetch = call("fetch").args(FETCH);
        let fetch = fetch.arg(format!("--upload-pack={UPLOAD_PACK}"));
        let spec = format!("+{commit}:refs/heads/handed");
        fetch.arg("--").arg(&self.folder).arg(spec).output()?;
        match branch {
            Some(branch) => write_reference(inner, branch, commit),
            None => Ok(()),
        }
    }

    /// A call in the mirror, by the mirror's own configuration alone.
    fn call(&self, what: &str) -> Result<GitInvocation, WorktreeError> {
        write_config(&self.folder, &self.config())?;
        Ok(self.git_call(what))
    }

    fn git_call(&self, what: &str) -> GitInvocation {
        let call = self.git.call(&self.folder, what);
        call.env("GIT_DIR", &self.folder)
    }

    fn config(&self) -> String {
        let format = if self.sha256 {
            "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        } else {
            "\trepositoryformatversion = 0\n"
        };
        format!("[core]\n\tbare = true\n{format}")
    }

    /// A bare repository of the mirror's format.
    fn make(&self, folder: &Path) -> Result<(), WorktreeError> {
        if !folder.join("HEAD").is_file() {
            fs::create_dir_all(folder).map_err(WorktreeError::at_path(folder))?;
            let format = if self.sha256 { "sha256" } else { "sha1" };
            let init = self.git.call(folder, "init").args(["--quiet", "--bare"]);
            init.args([&format!("--object-format={format}")])
                .arg(".")
                .output()?;
        }
        write_config(folder, &self.config())
    }
}

/// A repository for one handover; removed when dropped.
struct HandoverRepository(PathBuf);

impl Drop for HandoverRepository {
    fn drop(&mut self) {
        let _ = guard::remove_tree(&self.0);
    }
}

/// Makes `config` the whole configuration of a repository, and takes away what would lead
/// elsewhere.
pub(super) fn write_config(inner: &Path, config: &str) -> Result<(), WorktreeError> {
    for other in ["config.worktree", "commondir", "hooks", "info/attributes"] {
        guard::remove_tree(&inner.join(other))?;
    }
    let path = inner.join("config");
    let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
    if is_file && fs::read(&path).is_ok_and(|bytes| bytes == config.as_bytes()) {
        return Ok(());
    }
    guard::remove_tree(&path)?;
    fs::write(&path, config).map_err(WorktreeError::at_path(&path))
}

/// Points a branch of a repository at a commit, as git does it, without running git there: a lock,
/// then a rename.
fn write_reference(inner: &Path, branch: &str, commit: &CommitSha) -> Result<(), WorktreeError> {
    let path = inner.join("refs/heads").join(branch);
    let unsupported = io::Error::new(
        io::ErrorKind::Unsupported,
        "the repository keeps its references in tables; the branch is in the mirror only",
    );
    if inner.join("reftable").exists() {
        return Err(WorktreeError::at_path(&path)(unsupported));
    }
    let parent = path.parent().unwrap_or(inner);
    // A link on the way is refused before anything is made behind it.
    let real = parent.ancestors().find(|folder| folder.exists());
    guard::real_folder_below(inner, real.unwrap_or(inner))?;
    fs::create_dir_all(parent).map_err(WorktreeError::at_path(parent))?;
    let mut lock = path.clone().into_os_string();
    lock.push(".lock");
    let lock = PathBuf::from(lock);
    let written = fs::File::create_new(&lock)
        .and_then(|mut file| writeln!(file, "{commit}"))
        .and_then(|()| fs::rename(&lock, &path));
    if written
        .as_ref()
        .is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists)
    {
        let _ = fs::remove_file(&lock);
    }
    written.map_err(WorktreeError::at_path(&path))
}
