//! A repository of this machine that somebody else keeps, read only: what its names mean, what
//! their trees hold, and what differs between two of them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use forge_core::{CommitSha, ObjectFormats};

use crate::command::{Git, GitInvocation};
use crate::error::GitError;
use crate::session::GitSession;
use crate::tree::TreeEntryKind;

/// Why a folder cannot be read as a repository.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// There is no folder.
    #[error("folder {} does not exist: create it, mount it or correct `location`", .0.display())]
    Missing(PathBuf),
    /// It is no repository.
    #[error(
        "{} is no git repository: name the folder that holds `.git`, or a bare repository", .0.display()
    )]
    NoRepository(PathBuf),
    /// git cannot read it.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A repository, with or without a work tree.
#[derive(Debug, Clone)]
pub struct LocalRepository {
    git: Git,
    folder: PathBuf,
    /// Where its `HEAD` is.
    own: PathBuf,
    /// Where its branches are: another folder for a linked work tree.
    common: PathBuf,
}

/// A file, link or commit of another repository in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeItem {
    /// Path from the top of the repository.
    pub path: PathBuf,
    /// What it is; never a folder.
    pub kind: TreeEntryKind,
    /// The name of its content: 40 or 64 hexadecimal digits.
    pub id: String,
    /// Bytes of a file; 0 where git does not say.
    pub size: u64,
}

/// One path that differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    /// Path from the top of the repository.
    pub path: PathBuf,
    /// What it is now; `None` where it is gone.
    pub kind: Option<TreeEntryKind>,
}

impl LocalRepository {
    /// The repository at `folder`: a folder with `.git` in it, or a bare one. Those above it do not
    /// count. Whoever it belongs to: nothing that its configuration names is run.
    ///
    /// # Errors
    /// When there is none, or git cannot read it.
    pub fn open(git: &Git, folder: &Path) -> Result<Self, RepositoryError> {
        if !folder.is_dir() {
            return Err(RepositoryError::Missing(folder.to_owned()));
        }
        let real = folder.canonicalize();
        let folder = real.map_err(|_| RepositoryError::Missing(folder.to_owned()))?;
        let call = git.call(&folder, "rev-parse").setting("safe.directory=*");
        let call = match folder.parent() {
            Some(parent) => call.env("GIT_CEILING_DIRECTORIES", parent),
            None => call,
        };
        let found = call.args(["--absolute-git-dir", "--git-common-dir"]).text();
        let found = found.map_err(|error| match &error {
            GitError::Failed { message, .. } if message.contains("not a git repository") => {
                RepositoryError::NoRepository(folder.clone())
            }
            _ => RepositoryError::Git(error),
        })?;
        let mut lines = found.lines().map(|line| folder.join(line));
        let (Some(own), Some(common)) = (lines.next(), lines.next()) else {
            return Err(RepositoryError::NoRepository(folder));
        };
        Ok(Self {
            git: git.clone(),
            folder,
            own,
            common,
        })
    }

    /// Where it is, without links.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A call of git in it that finds it again without looking.
    pub(crate) fn call(&self, what: &str) -> GitInvocation {
        let call = self
            .git
            .call(&self.folder, what)
            .setting("safe.directory=*");
        call.env("GIT_DIR", &self.own)
    }

    /// The commit that a name means now: a branch, a tag (through an annotated one to its commit),
    /// a commit's name or the beginning of it. `None`: there is no such one.
    ///
    /// # Errors
    /// When git cannot run.
    pub fn resolve(&self, name: &str) -> Result<Option<CommitSha>, GitError> {
        if name.is_empty() || name.starts_with('-') {
            return Ok(None);
        }
        let call = self.call("rev-parse").args(["--verify", "--quiet"]);
        let found = call.arg(format!("{name}^{{commit}}")).found()?;
        let Some(found) = found else { return Ok(None) };
        let id = CommitSha::parse(found.trim(), ObjectFormats::Sha1AndSha256);
        id.map(Some).map_err(|error| GitError::Unexpected {
            what: "rev-parse".to_owned(),
            reason: error.to_string(),
        })
    }

    /// The id of the object of this name; `None`: there is no such one.
    pub(crate) fn object_id(&self, name: &[u8]) -> Result<Option<String>, GitError> {
        if name.starts_with(b"-") {
            return Ok(None);
        }
        let call = self.call("rev-parse").args(["--verify", "--quiet"]);
        let found = call.arg(OsString::from_vec(name.to_vec())).found()?;
        Ok(found.map(|id| id.trim().to_owned()))
    }

    /// When a commit was made, in seconds since the Unix epoch.
    ///
    /// # Errors
    /// When there is no such commit.
    pub fn committed_at(&self, commit: &CommitSha) -> Result<i64, GitError> {
        let call = self.call("log").args(["-1", "--no-show-signature"]);
        let time = call.args(["--format=%ct", commit.as_str()]).text()?;
        time.trim().parse().map_err(|_| GitError::Unexpected {
            what: "log".to_owned(),
            reason: format!("{time:?} is no time"),
        })
    }

    /// Everything below a commit's tree, in its order, without holding it.
    ///
    /// # Errors
    /// When git cannot run; reading on fails where it ends early.
    pub fn tree(&self, commit: &CommitSha) -> Result<TreeItems, GitError> {
        let call = self.call("ls-tree").args(["-r", "-z", "-l", "--full-tree"]);
        let mut session = call.arg(commit.as_str()).session()?;
        session.ask_nothing();
        Ok(TreeItems(Some(session)))
    }

    /// What differs between two commits: its cost grows with that, not with the trees. A file that
    /// was renamed is gone and another one is there.
    ///
    /// # Errors
    /// When one of them is not there any more, or git cannot run.
    pub fn changes(&self, old: &CommitSha, new: &CommitSha) -> Result<TreeChanges, GitError> {
        let call = self.call("diff-tree");
        let call = call.args(["-r", "-z", "--raw", "--no-renames", "--full-index"]);
        let mut session = call.args([old.as_str(), new.as_str()]).session()?;
        session.ask_nothing();
        Ok(TreeChanges(Some(session)))
    }

    /// Differs once a name may mean another commit: sizes and times of the files that git keeps
    /// names in. Asks no git.
    #[must_use]
    pub fn stamp(&self, name: &str) -> RefStamp {
        let mut files = vec![
            self.own.join("HEAD"),
            self.common.join("packed-refs"),
            self.common.join("reftable/tables.list"),
        ];
        // What `HEAD` means, as far as it is a branch.
        let head = std::fs::read_to_string(&files[0]).unwrap_or_default();
        let branch = head.trim().strip_prefix("ref: ").unwrap_or_default();
        let places = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let names = places.iter().map(|place| format!("{place}{name}"));
        for name in names.chain([branch.to_owned()]) {
            // A name may hold `~2`, which is no part of a file's name; those above count then.
            let name = name.split(['~', '^', '@']).next().unwrap_or_default();
            if !name.is_empty() && !name.contains("..") && !name.starts_with('/') {
                files.push(self.common.join(name));
            }
        }
        let look = |file: &PathBuf| {
            let data = std::fs::metadata(file).ok()?;
            // git replaces such a file by another one.
            Some((data.ino(), data.len(), data.modified().ok()))
        };
        RefStamp(files.iter().map(look).collect())
    }
}

/// Numbers, sizes and times of the files that hold a repository's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefStamp(Vec<Option<(u64, u64, Option<SystemTime>)>>);

/// What a tree holds, read from git as it goes.
#[derive(Debug)]
pub struct TreeItems(Option<GitSession>);

/// What differs, read from git as it goes.
#[derive(Debug)]
pub struct TreeChanges(Option<GitSession>);

impl Iterator for TreeItems {
    type Item = Result<TreeItem, GitError>;

    fn next(&mut self) -> Option<Self::Item> {
        following(&mut self.0, |session| {
            let Some(line) = session.read_until(0)? else {
                return Ok(None);
            };
            let item = tree_item(&line).ok_or_else(|| unexpected("ls-tree", &line))?;
            Ok(Some(item))
        })
    }
}

impl Iterator for TreeChanges {
    type Item = Result<TreeChange, GitError>;

    fn next(&mut self) -> Option<Self::Item> {
        following(&mut self.0, |session| {
            let Some(head) = session.read_until(0)? else {
                return Ok(None);
            };
            let path = session.read_until(0)?;
            let change = path.and_then(|path| tree_change(&head, path));
            Ok(Some(change.ok_or_else(|| unexpected("diff-tree", &head))?))
        })
    }
}

/// The next of a listing; after an error, and after its end, nothing.
fn following<T>(
    session: &mut Option<GitSession>,
    read: impl FnOnce(&mut GitSession) -> Result<Option<T>, GitError>,
) -> Option<Result<T, GitError>> {
    let next = read(session.as_mut()?);
    match next {
        Ok(Some(item)) => Some(Ok(item)),
        // What was listed counts only if git says that this was all.
        Ok(None) => session.take()?.finish().err().map(Err),
        Err(error) => {
            *session = None;
            Some(Err(error))
        }
    }
}

/// `<mode> <type> <id> <size>\t<path>`, with blanks before the size.
fn tree_item(line: &[u8]) -> Option<TreeItem> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let head = std::str::from_utf8(&line[..tab]).ok()?;
    let mut words = head.split_ascii_whitespace();
    let (mode, _, id, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
    Some(TreeItem {
        path: OsString::from_vec(line[tab + 1..].to_vec()).into(),
        kind: TreeEntryKind::of_mode(mode)?,
        id: id.to_owned(),
        size: size.parse().unwrap_or(0),
    })
}

/// `:<old mode> <new mode> <old id> <new id> <letter>`, and the path by itself.
fn tree_change(head: &[u8], path: Vec<u8>) -> Option<TreeChange> {
    let head = std::str::from_utf8(head).ok()?.strip_prefix(':')?;
    let new = head.split_ascii_whitespace().nth(1)?;
    Some(TreeChange {
        path: OsString::from_vec(path).into(),
        kind: match new {
            "000000" => None,
            mode => Some(TreeEntryKind::of_mode(mode)?),
        },
    })
}

fn unexpected(what: &str, line: &[u8]) -> GitError {
    GitError::Unexpected {
        what: what.to_owned(),
        reason: format!("{:?}", String::from_utf8_lossy(line)),
    }
}
