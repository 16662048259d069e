//! A bare copy of a repository: fetch one exact commit, look into it, check it out.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use forge_core::{CommitSha, GitRef, RepoName, TagName};
use parking_lot::Mutex;

use crate::command::{Git, GitInvocation};
use crate::error::GitError;
use crate::housekeeping::{References, housekeep};
use crate::remote::Remote;
use crate::tree::{self, TreeEntry};

/// How much history a checkout has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// So many commits, at least one.
    Commits(u32),
    /// All that the mirror has of it.
    Full,
}

/// All mirrors below one folder; one call at a time writes to each.
#[derive(Debug, Clone)]
pub struct Mirrors {
    git: Git,
    root: PathBuf,
    locks: Arc<Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>>,
}

impl Mirrors {
    /// Mirrors live in `root/<owner>/<repo>.git`.
    pub fn new(git: Git, root: impl Into<PathBuf>) -> Self {
        Self {
            git,
            root: root.into(),
            locks: Arc::default(),
        }
    }

    /// The git of all of them.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// The mirror of `repo`, made when it is not there yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(&self, repo: &RepoName) -> Result<Mirror, GitError> {
        let folder = self
            .root
            .join(repo.owner().to_lowercase())
            .join(format!("{}.git", repo.repo().to_lowercase()));
        let lock = Arc::clone(self.locks.lock().entry(folder.clone()).or_default());
        let mirror = Mirror {
            git: self.git.clone(),
            folder,
            lock,
        };
        mirror.make()?;
        Ok(mirror)
    }
}

/// One bare repository of ours.
#[derive(Debug, Clone)]
pub struct Mirror {
    git: Git,
    folder: PathBuf,
    lock: Arc<Mutex<()>>,
}

impl Mirror {
    fn make(&self) -> Result<(), GitError> {
        let _writing = self.lock.lock();
        if self.folder.join("HEAD").is_file() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder).map_err(|e| GitError::io(&self.folder, e))?;
        let call = self.git.call(&self.folder, "init");
        call.args(["--quiet", "--bare", "."]).output()?;
        // Checkouts fetch exact commits from here, which no branch need point at.
        let call = self.git.call(&self.folder, "config");
        call.args(["uploadpack.allowAnySHA1InWant", "true"])
            .output()?;
        Ok(())
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the commit is here already.
    ///
    /// # Errors
    /// When git cannot run.
    pub fn has_commit(&self, commit: &CommitSha) -> Result<bool, GitError> {
        let object = format!("{}^{{commit}}", commit.as_str());
        match self.call("cat-file").args(["-e", &object]).output() {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Fetches `commit`, with its whole history: by its name, and where the server refuses names
    /// that no branch has, by the reference that the event named. Nothing is fetched when it is
    /// here.
    ///
    /// # Errors
    /// When the remote cannot be reached, refuses, or has no such commit.
    pub fn fetch(
        &self,
        remote: &Remote,
        commit: &CommitSha,
        from: Option<&GitRef>,
    ) -> Result<(), GitError> {
        self.fetch_to(remote, commit, from, Depth::Full)
    }

    /// The same without what came before the commit: for mirrors of which only files are used.
    ///
    /// # Errors
    /// As [`Mirror::fetch`].
    pub fn fetch_files(
        &self,
        remote: &Remote,
        commit: &CommitSha,
        from: Option<&GitRef>,
    ) -> Result<(), GitError> {
        self.fetch_to(remote, commit, from, Depth::Commits(1))
    }

    /// Fetches the object of a tag, for clones that describe a commit by it.
    ///
    /// # Errors
    /// When the remote cannot be reached, refuses or has no such tag by now.
    pub fn fetch_tag(&self, remote: &Remote, tag: &TagName) -> Result<(), GitError> {
        let _writing = self.lock.lock();
        let spec = format!("+refs/tags/{tag}:refs/named/tags/{tag}");
        self.fetch_spec(remote, &spec, Depth::Full)
    }

    /// Fetches all branches and tags, and forgets those that are gone: for clones with all history.
    ///
    /// # Errors
    /// When the remote cannot be reached or refuses.
    pub fn fetch_named(&self, remote: &Remote) -> Result<(), GitError> {
        let _writing = self.lock.lock();
        let call = self.call("fetch").remote(remote);
        let call = call.args([
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
        ]);
        let call = call.args(["--", remote.address()]);
        let specs = [
            "+refs/heads/*:refs/named/heads/*",
            "+refs/tags/*:refs/named/tags/*",
        ];
        match call.args(specs).output() {
            Ok(_) => Ok(()),
            Err(error) => {
                self.sweep();
                Err(self.git.refined(error))
            }
        }
    }

    /// Fetches a reference of a pull request (its `head`, or the `merge` that some forges make),
    /// whose commit is then here without being a branch's, and gives that.
    ///
    /// # Errors
    /// When the remote cannot be reached, refuses, or has none.
    pub fn fetch_pull(
        &self,
        remote: &Remote,
        (number, which): (u64, &str),
    ) -> Result<String, GitError> {
        let _writing = self.lock.lock();
        let kept = match which {
            "head" => format!("refs/pulls/{number}"),
            _ => format!("refs/pulls-{which}/{number}"),
        };
        let spec = format!("+refs/pull/{number}/{which}:{kept}");
        self.fetch_spec(remote, &spec, Depth::Full)?;
        self.call("rev-parse").args(["--verify", &kept]).text()
    }

    /// Has a reference keep a commit that was made here.
    pub(crate) fn keep(&self, commit: &CommitSha) -> Result<(), GitError> {
        let _writing = self.lock.lock();
        let kept = format!("refs/orrery/{commit}");
        let call = self.call("update-ref").args([&kept, commit.as_str()]);
        call.output().map(|_| ())
    }

    fn fetch_to(
        &self,
        remote: &Remote,
        commit: &CommitSha,
        from: Option<&GitRef>,
        depth: Depth,
    ) -> Result<(), GitError> {
        let _writing = self.lock.lock();
        if self.has_commit(commit)? {
            return Ok(());
        }
        // Kept by a reference, so that a clean-up by hand keeps it too.
        let exact = format!("+{0}:refs/orrery/{0}", commit.as_str());
        let first = match self.fetch_spec(remote, &exact, depth) {
            // A server of files alone knows no depth.
            Err(GitError::Failed { message, .. }) if message.contains("shallow") => {
                return self.fetch_spec(remote, &exact, Depth::Full);
            }
            first => first,
        };
        if first.is_ok() && self.has_commit(commit)? {
            return Ok(());
        }
        let Some(from) = from else {
            return first.and(Err(GitError::NoCommit(commit.as_str().to_owned())));
        };
        let named = format!("+{}:refs/orrery/by-name/{}", from, commit.as_str());
        self.fetch_spec(remote, &named, depth)?;
        if self.has_commit(commit)? {
            Ok(())
        } else {
            Err(GitError::NoCommit(commit.as_str().to_owned()))
        }
    }

    fn fetch_spec(&self, remote: &Remote, spec: &str, depth: Depth) -> Result<(), GitError> {
        let call = self.call("fetch").remote(remote);
        let call = call.args([
            "--quiet",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
        ]);
        let call = match depth {
            Depth::Commits(count) => call.arg(format!("--depth={}", count.max(1))),
            Depth::Full => call,
        };
        let fetched = call.args(["--", remote.address(), spec]).output();
        match fetched {
            Ok(_) => Ok(()),
            Err(error) => {
                self.sweep();
                Err(self.git.refined(error))
            }
        }
    }

    /// Removes what a fetch that was ended left half written. The caller holds the lock, so nobody
    /// else writes.
    fn sweep(&self) {
        let objects = self.folder.join("objects");
        let below = std::fs::read_dir(&objects).into_iter().flatten().flatten();
        let folders = below.map(|entry| entry.path()).filter(|path| path.is_dir());
        for folder in folders {
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("tmp_"));
            for file in files {
                // What is gone already is swept too.
                let _ = std::fs::remove_file(file.path());
            }
        }
    }

    /// Tidies the mirror where that is worth it; whether it did. Waits for fetches, and they wait
    /// for it.
    ///
    /// # Errors
    /// When git fails or takes too long.
    pub fn housekeep(&self, now: SystemTime) -> Result<bool, GitError> {
        let _writing = self.lock.lock();
        let references = References {
            pinned: "refs/orrery/",
            pack: true,
        };
        let call = |what: &str| self.call(what).any_file_size();
        let kept = housekeep(&call, &self.folder, references, now);
        if kept.is_err() {
            self.sweep();
        }
        kept
    }

    /// The whole message of a commit, at most `limit` bytes of it.
    ///
    /// # Errors
    /// When the commit is not here, or its message is longer.
    pub fn message(&self, commit: &CommitSha, limit: usize) -> Result<String, GitError> {
        let call = self.call("log").at_most(limit);
        let call = call.args([
            "-1",
            "--no-show-signature",
            "--format=%B",
            "--encoding=UTF-8",
        ]);
        let output = call.arg(commit.as_str()).arg("--").output()?;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }

    /// The entries of one folder of the commit (`""` is the top), not of those below; empty when
    /// there is no such folder.
    ///
    /// # Errors
    /// When the commit is not here.
    pub fn list(&self, commit: &CommitSha, folder: &str) -> Result<Vec<TreeEntry>, GitError> {
        self.entries(self.call("ls-tree"), commit, folder)
    }

    /// The files of a folder of the commit and of those below it; empty when there is none.
    ///
    /// # Errors
    /// When the commit is not here.
    pub fn list_below(&self, commit: &CommitSha, folder: &str) -> Result<Vec<TreeEntry>, GitError> {
        self.entries(self.call("ls-tree").arg("-r"), commit, folder)
    }

    fn entries(
        &self,
        call: GitInvocation,
        commit: &CommitSha,
        folder: &str,
    ) -> Result<Vec<TreeEntry>, GitError> {
        let call = call.args(["-z", "-l", "--full-tree", commit.as_str(), "--"]);
        let call = if folder.is_empty() {
            call
        } else {
            call.arg(format!("{}/", folder.trim_end_matches('/')))
        };
        let output = call.env("GIT_LITERAL_PATHSPECS", "1").output()?;
        tree::parse(&output).map_err(|reason| GitError::Unexpected {
            what: "ls-tree".to_owned(),
            reason,
        })
    }

    /// The paths of all files of the commit; for `paths` filters where it is compared with nothing.
    ///
    /// # Errors
    /// When the commit is not here.
    pub fn paths(&self, commit: &CommitSha) -> Result<Vec<String>, GitError> {
        let call = self.call("ls-tree");
        let call = call.args(["-r", "-z", "--name-only", "--full-tree", commit.as_str()]);
        Ok(names(&call.output()?))
    }

    /// The bytes of one file of the commit, at most `limit`.
    ///
    /// # Errors
    /// When there is no such file or it is larger.
    pub fn read(&self, commit: &CommitSha, path: &str, limit: usize) -> Result<Vec<u8>, GitError> {
        let object = format!("{}:{path}", commit.as_str());
        let call = self.call("cat-file").at_most(limit);
        call.args(["blob", &object]).output()
    }

    /// Paths that differ between two commits, both of which must be here; for `paths` filters of a
    /// push.
    ///
    /// # Errors
    /// When one of them is not here.
    pub fn changed(&self, before: &CommitSha, after: &CommitSha) -> Result<Vec<String>, GitError> {
        self.names(&[before.as_str(), after.as_str()])
    }

    /// Paths that `head` changes since it left `base`; for `paths` filters of a pull request.
    ///
    /// # Errors
    /// When one of them is not here, or they have nothing in common.
    pub fn changed_since_fork(
        &self,
        base: &CommitSha,
        head: &CommitSha,
    ) -> Result<Vec<String>, GitError> {
        let both = format!("{}...{}", base.as_str(), head.as_str());
        self.names(&[&both])
    }

    fn names(&self, commits: &[&str]) -> Result<Vec<String>, GitError> {
        let call = self.call("diff").args([
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
        ]);
        let output = call.args(commits).arg("--").output()?;
        Ok(names(&output))
    }

    /// Puts the commit's files and a `.git` folder into `folder`, which must not exist or be empty:
    /// as `git clone` would leave it, with `origin` set to `public_url`, without any token.
    ///
    /// # Errors
    /// When the commit is not here or the folder cannot be written.
    pub fn check_out(
        &self,
        commit: &CommitSha,
        folder: &Path,
        depth: Depth,
        public_url: &str,
    ) -> Result<(), GitError> {
        std::fs::create_dir_all(folder).map_err(|e| GitError::io(folder, e))?;
        let here = |what: &str| self.git.call(folder, what);
        here("init").args(["--quiet", "."]).output()?;
        let fetch = here("fetch").own_folders();
        let fetch = fetch.args(["--quiet", "--no-tags", "--no-recurse-submodules"]);
        let fetch = match depth {
            Depth::Commits(count) => fetch.arg(format!("--depth={}", count.max(1))),
            Depth::Full => fetch,
        };
        let from = format!("file://{}", self.folder.display());
        fetch.args(["--", &from, commit.as_str()]).output()?;
        let checkout = here("checkout").args(["--quiet", "--force", "--detach"]);
        checkout.arg(commit.as_str()).output()?;
        let origin = here("remote").args(["add", "--", "origin", public_url]);
        origin.output()?;
        Ok(())
    }

    /// Puts the commit's files, and nothing else, into `folder`, which must not exist or be empty:
    /// no `.git` and no history. Submodules are empty folders.
    ///
    /// # Errors
    /// When the commit is not here or the folder cannot be written.
    pub fn extract(&self, commit: &CommitSha, folder: &Path) -> Result<(), GitError> {
        // git starts in the folder: what is relative to ours would lead elsewhere there.
        let absolute = |path: &Path| std::path::absolute(path).map_err(|e| GitError::io(path, e));
        let (folder, mirror) = (&absolute(folder)?, absolute(&self.folder)?);
        std::fs::create_dir_all(folder).map_err(|e| GitError::io(folder, e))?;
        // An index of its own: the mirror has none, and others may lay out at the same time.
        let index = folder.with_extension("index");
        let here = |what: &str| {
            let call = self.git.call(folder, what).setting("core.bare=false");
            call.env("GIT_DIR", &mirror)
                .env("GIT_WORK_TREE", folder)
                .env("GIT_INDEX_FILE", &index)
        };
        let read = here("read-tree").arg(commit.as_str()).output();
        let laid_out = read.and_then(|_| {
            let call = here("checkout-index");
            call.args(["--quiet", "--all", "--force"]).output()
        });
        // Of no use any more; one that cannot be removed is replaced the next time.
        let _ = std::fs::remove_file(&index);
        laid_out.map(|_| ())
    }

    /// The git that works in it.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    pub(crate) fn call(&self, what: &str) -> GitInvocation {
        self.git.call(&self.folder, what)
    }
}

/// Names between zero bytes.
fn names(output: &[u8]) -> Vec<String> {
    let names = output.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    names.collect()
}
