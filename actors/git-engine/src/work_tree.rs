//! A clone of our own making: one commit with as much history as is wanted, its branch as
//! `git clone` would have it, a part of its files or all of them.
//!
//! ```text
//! create ─▶ fetch (from a mirror, or a remote) ─▶ size ─▶ check_out ─▶ submodules ─▶ create …
//! ```

use std::path::{Path, PathBuf};

use forge_core::{CommitSha, GitRef};

use crate::command::{Git, GitInvocation};
use crate::error::GitError;
use crate::measure::{TreeLimits, TreeSize, tree_size};
use crate::mirror::{Depth, Mirror, Mirrors};
use crate::remote::Remote;

/// Bytes of the names of all files that Git LFS keeps.
const MAX_LFS_LIST: usize = 16 << 20;

/// A folder with a `.git` of its own.
#[derive(Debug, Clone)]
pub struct WorkTree {
    git: Git,
    folder: PathBuf,
}

/// What a clone is to hold beside the files.
#[derive(Debug, Clone, Copy)]
pub struct Fetch<'a> {
    /// The commit.
    pub commit: &'a CommitSha,
    /// The reference that led to it; asked for where a server gives no commit by its name.
    pub reference: Option<&'a GitRef>,
    /// Its history; with all of it come all branches and tags.
    pub depth: Depth,
    /// All tags, whatever the depth.
    pub tags: bool,
}

/// Which files are laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sparse {
    /// Folders, or patterns as in `.gitignore`.
    pub patterns: Vec<String>,
    /// Whether they are folders.
    pub cone: bool,
}

/// Where a clone comes from.
#[derive(Debug, Clone, Copy)]
enum Origin<'a> {
    Mirror(&'a Mirror),
    Remote(&'a Remote),
}

impl Origin<'_> {
    /// Branches and tags, each to where a clone has them.
    fn specs(&self) -> [&'static str; 2] {
        match self {
            Self::Mirror(_) => [
                "+refs/named/heads/*:refs/remotes/origin/*",
                "+refs/named/tags/*:refs/tags/*",
            ],
            Self::Remote(_) => [
                "+refs/heads/*:refs/remotes/origin/*",
                "+refs/tags/*:refs/tags/*",
            ],
        }
    }
}

impl WorkTree {
    /// An empty clone in `folder`, which must not exist or be empty; `origin` is `public_url`.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn create(git: &Git, folder: &Path, public_url: &str) -> Result<Self, GitError> {
        let folder = std::path::absolute(folder).map_err(|e| GitError::io(folder, e))?;
        std::fs::create_dir_all(&folder).map_err(|e| GitError::io(&folder, e))?;
        let tree = Self {
            git: git.clone(),
            folder,
        };
        tree.call("init").args(["--quiet", "."]).output()?;
        let origin = tree.call("remote").args(["add", "--", "origin"]);
        origin.arg(public_url).output()?;
        Ok(tree)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn call(&self, what: &str) -> GitInvocation {
        self.git.call(&self.folder, what)
    }

    /// Takes from a mirror, which must have the commit; of all history it must have
    /// [fetched](Mirror::fetch_named) branches and tags too.
    ///
    /// # Errors
    /// When the mirror has not what is asked for.
    pub fn fetch_from_mirror(&self, mirror: &Mirror, wanted: &Fetch<'_>) -> Result<(), GitError> {
        self.fetch(Origin::Mirror(mirror), wanted)
    }

    /// Takes from a server.
    ///
    /// # Errors
    /// When it cannot be reached, refuses, or has no such commit.
    pub fn fetch_from_remote(&self, remote: &Remote, wanted: &Fetch<'_>) -> Result<(), GitError> {
        let first = self.fetch(Origin::Remote(remote), wanted);
        if first.is_ok() && self.has_commit(wanted.commit)? {
            return Ok(());
        }
        if let Err(error @ (GitError::TimedOut { .. } | GitError::FetchTooLarge { .. })) = first {
            return Err(error);
        }
        // A server that gives no commit by its name, or knows no depth: all that leads to it.
        let mut specs: Vec<String> = Vec::new();
        match wanted.reference {
            Some(reference) => specs.push(format!("+{reference}:refs/orrery/fetched")),
            None => specs.extend(Origin::Remote(remote).specs().map(str::to_owned)),
        }
        if wanted.tags {
            specs.push(Origin::Remote(remote).specs()[1].to_owned());
        }
        let by_name = self.fetch_specs(Origin::Remote(remote), &specs, Depth::Full);
        match (by_name, first) {
            (Ok(()), _) if self.has_commit(wanted.commit)? => Ok(()),
            (Ok(()), Err(error)) | (Err(_), Err(error)) => Err(error),
            (Err(error), Ok(())) => Err(error),
            (Ok(()), Ok(())) => Err(GitError::NoCommit(wanted.commit.as_str().to_owned())),
        }
    }

    fn fetch(&self, origin: Origin<'_>, wanted: &Fetch<'_>) -> Result<(), GitError> {
        let [branches, tags] = origin.specs();
        let mut specs = vec![wanted.commit.as_str().to_owned()];
        if wanted.depth == Depth::Full {
            specs.push(branches.to_owned());
        }
        if wanted.depth == Depth::Full || wanted.tags {
            specs.push(tags.to_owned());
        }
        if let Some(tag) = wanted.reference.and_then(GitRef::tag)
            && specs.len() == 1
        {
            // With its own object, where it is an annotated one and still there.
            let [_, tags] = origin.specs();
            let mut with_tag = specs.clone();
            with_tag.push(tags.replace('*', tag.as_ref()));
            match self.fetch_specs(origin, &with_tag, wanted.depth) {
                Ok(()) => return Ok(()),
                Err(error @ (GitError::TimedOut { .. } | GitError::FetchTooLarge { .. })) => {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        self.fetch_specs(origin, &specs, wanted.depth)
    }

    fn fetch_specs(
        &self,
        origin: Origin<'_>,
        specs: &[String],
        depth: Depth,
    ) -> Result<(), GitError> {
        let call = self.call("fetch");
        let (call, from) = match origin {
            Origin::Mirror(mirror) => (
                call.own_folders(),
                format!("file://{}", mirror.folder().display()),
            ),
            Origin::Remote(remote) => (call.remote(remote), remote.address().to_owned()),
        };
        let call = call.args(["--quiet", "--no-tags", "--no-recurse-submodules"]);
        let call = match depth {
            Depth::Commits(count) => call.arg(format!("--depth={}", count.max(1))),
            Depth::Full => call,
        };
        let fetched = call.args(["--", &from]).args(specs).output();
        fetched.map(drop).map_err(|error| self.git.refined(error))
    }

    fn has_commit(&self, commit: &CommitSha) -> Result<bool, GitError> {
        let object = format!("{}^{{commit}}", commit.as_str());
        match self.call("cat-file").args(["-e", &object]).output() {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the commit lays out, as far as that is within `limits`.
    ///
    /// # Errors
    /// [`GitError::TooMuch`] when it is not.
    pub fn size(&self, commit: &CommitSha, limits: &TreeLimits) -> Result<TreeSize, GitError> {
        tree_size(&|what| self.call(what), commit, limits)
    }

    /// Lays the files out. Of a branch `HEAD` is that branch, which follows the one of `origin`; of
    /// all else it is the commit.
    ///
    /// # Errors
    /// When the commit is not here or the folder cannot be written.
    pub fn check_out(
        &self,
        commit: &CommitSha,
        reference: Option<&GitRef>,
        sparse: Option<&Sparse>,
    ) -> Result<(), GitError> {
        if let Some(sparse) = sparse {
            let mut lines = sparse.patterns.join("\n");
            lines.push('\n');
            let mode = if sparse.cone { "--cone" } else { "--no-cone" };
            let set = self.call("sparse-checkout").args(["set", mode, "--stdin"]);
            set.input(lines.into_bytes()).output()?;
        }
        let checkout = self
            .call("checkout")
            .args(["--quiet", "--force", "--detach"]);
        checkout.arg(commit.as_str()).output()?;
        let Some(reference) = reference else {
            return Ok(());
        };
        // It points at this commit, wherever it points at by now where it was fetched from; an
        // annotated tag that leads there stays as it is.
        let tracking = tracking(reference);
        if reference.tag().is_none() || !self.leads_to(&tracking, commit)? {
            self.point(&tracking, commit)?;
        }
        if let Some(branch) = reference.branch() {
            let local = reference.to_string();
            self.point(&local, commit)?;
            let head = self.call("symbolic-ref").args(["HEAD", &local]);
            head.output()?;
            for (name, value) in [("remote", "origin"), ("merge", &local)] {
                let key = format!("branch.{branch}.{name}");
                self.call("config").args([key.as_str(), value]).output()?;
            }
        }
        Ok(())
    }

    /// Writes a setting of this clone.
    ///
    /// # Errors
    /// When the settings cannot be written.
    pub fn set(&self, name: &str, value: &str) -> Result<(), GitError> {
        self.call("config").args([name, value]).output().map(drop)
    }

    /// The files of the index that Git LFS keeps elsewhere by the repository's attributes, from the
    /// work tree.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn lfs_files(&self) -> Result<Vec<String>, GitError> {
        let list = self
            .call("ls-files")
            .args(["-z", "--", ":(attr:filter=lfs)"]);
        let list = list.at_most(MAX_LFS_LIST).output()?;
        let names = list
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        Ok(names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect())
    }

    fn leads_to(&self, reference: &str, commit: &CommitSha) -> Result<bool, GitError> {
        let peeled = format!("{reference}^{{commit}}");
        let found = self
            .call("rev-parse")
            .args(["--quiet", "--verify", &peeled]);
        match found.text() {
            Ok(found) => Ok(found == commit.as_str()),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn point(&self, reference: &str, commit: &CommitSha) -> Result<(), GitError> {
        let update = self.call("update-ref").args([reference, commit.as_str()]);
        update.output().map(drop)
    }
}

impl Mirrors {
    /// An empty clone in `folder`; see [`WorkTree::create`].
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn work_tree(&self, folder: &Path, public_url: &str) -> Result<WorkTree, GitError> {
        WorkTree::create(self.git(), folder, public_url)
    }
}

impl Mirror {
    /// An empty clone in `folder`; see [`WorkTree::create`].
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn work_tree(&self, folder: &Path, public_url: &str) -> Result<WorkTree, GitError> {
        WorkTree::create(self.git(), folder, public_url)
    }
}

/// Where a clone has a reference of its origin.
fn tracking(reference: &GitRef) -> String {
    match reference {
        GitRef::Branch(name) => format!("refs/remotes/origin/{name}"),
        GitRef::Tag(_) => reference.to_string(),
        GitRef::Other(name) => {
            let name = name.as_str();
            let short = name.strip_prefix("refs/").unwrap_or(name);
            format!("refs/remotes/{short}")
        }
    }
}
