//! A branch, tag or commit of a git repository as the files of a source, read from the object store
//! without a checkout.
//!
//! ```text
//! Revision ──files()──> RevisionFiles, a commit ──walk()──> WalkItem, as of a folder
//!     └─────changes(old, new)──> ChangeBatch, as of a watch
//! ```
//!
//! A file's hash is the beginning of its object's name, so what has changed is told from the trees
//! alone. What is in the store is what was committed: line ends and encodings as `.gitattributes`
//! normalises them.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use forge_core::CommitSha;
use git_engine::{
    BlobLookup, Git, GitError, LocalRepository, Objects, RefStamp, RepositoryError, TreeChange,
    TreeEntryKind, TreeItem, TreeItems,
};
use rustix::fs::MemfdFlags;
use search_core::role::HiddenFiles;
use search_core::secret_files::is_secret;
use url::Url;

use crate::files::{FileLocation, SourceFiles};
use crate::walk::{
    DEFAULT_MAX_FILE_BYTES, FileBytes, FileFacts, PROBE_BYTES, SkipReason, SkippedPath, WalkItem,
    WalkOptions, decode_key, encode_key,
};
use crate::watch::ChangeBatch;

/// Processes that nobody has asked for this time are ended.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How a file begins that stands for one in another store (Git LFS).
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";
/// Such a file is no longer, by its specification.
const MAX_LFS_POINTER: usize = 1024;

/// Why there is nothing to read.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// The repository cannot be read.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// It has no such name.
    #[error(
        "the repository {folder} has no branch, tag or commit `{revision}`; correct `revision`"
    )]
    NoRevision {
        /// The repository.
        folder: String,
        /// The name as configured.
        revision: String,
    },
    /// git cannot be asked.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A name of a repository.
#[derive(Debug, Clone)]
pub struct Revision {
    objects: Arc<Objects>,
    name: Arc<str>,
    /// Larger files are not opened.
    max_file_bytes: u64,
}

/// The files of the commit that a name meant at some moment.
#[derive(Debug, Clone)]
pub struct RevisionFiles {
    objects: Arc<Objects>,
    name: Arc<str>,
    commit: CommitSha,
    committed_ns: i64,
    max_file_bytes: u64,
}

impl Revision {
    /// The name `name` of the repository at `folder`, which need not exist yet.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub fn open(git: &Git, folder: &Path, name: &str) -> Result<Self, RepositoryError> {
        let repository = LocalRepository::open(git, folder)?;
        Ok(Self {
            objects: Arc::new(Objects::new(repository)),
            name: name.into(),
            max_file_bytes: DEFAULT_MAX_FILE_BYTES,
        })
    }

    /// The same, whose files are opened up to this size in bytes: what is indexed is to be shown.
    #[must_use]
    pub fn with_max_file_bytes(mut self, max_file_bytes: u64) -> Self {
        self.max_file_bytes = max_file_bytes;
        self
    }

    fn repository(&self) -> &LocalRepository {
        self.objects.repository()
    }

    /// The files of the commit that the name means now.
    ///
    /// # Errors
    /// There is no such name, or git cannot be asked.
    pub fn files(&self) -> Result<RevisionFiles, RevisionError> {
        let Some(commit) = self.repository().resolve(&self.name)? else {
            return Err(RevisionError::NoRevision {
                folder: self.repository().folder().display().to_string(),
                revision: self.name.to_string(),
            });
        };
        let seconds = self.repository().committed_at(&commit)?;
        Ok(RevisionFiles {
            objects: Arc::clone(&self.objects),
            name: Arc::clone(&self.name),
            commit,
            committed_ns: seconds.saturating_mul(1_000_000_000),
            max_file_bytes: self.max_file_bytes,
        })
    }

    /// Differs once the name may mean another commit. Costs a look at some files.
    #[must_use]
    pub fn stamp(&self) -> RefStamp {
        self.repository().stamp(&self.name)
    }

    /// Ends processes that nobody has asked for a while.
    pub fn end_idle_processes(&self) {
        self.objects.rest(IDLE_TIMEOUT);
    }

    /// What differs between two commits, as a watch tells of a folder, and what of it is left out
    /// now. Asks for a comparison where it is too much, or `old` is not there any more.
    ///
    /// # Errors
    /// git cannot be asked.
    pub fn changes(
        &self,
        old: &RevisionFiles,
        new: &RevisionFiles,
        options: &WalkOptions,
    ) -> Result<(ChangeBatch, Vec<SkippedPath>), GitError> {
        let (mut batch, mut left_out) = (ChangeBatch::default(), Vec::new());
        for change in self.repository().changes(&old.commit, &new.commit)? {
            let TreeChange { path, kind } = change?;
            let Some(secret) = admit_path(&path, options) else {
                continue;
            };
            let (key, mut one) = (encode_key(&path), ChangeBatch::default());
            match kind.map(|kind| refused(kind).or(secret)) {
                Some(None) => _ = one.changed.insert(key),
                refused => {
                    one.removed.insert(key.clone());
                    let reason = refused.flatten();
                    left_out.extend(reason.map(|reason| SkippedPath { key, reason }));
                }
            }
            batch.merge(one);
        }
        Ok((batch, left_out))
    }
}

impl RevisionFiles {
    /// The commit's name.
    #[must_use]
    pub fn commit(&self) -> &str {
        self.commit.as_str()
    }

    /// Whether both are of the same commit.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.commit == other.commit
    }

    /// Everything in the commit that is meant, in the order of its tree, without holding it. All
    /// of it is tracked, hidden files too.
    ///
    /// # Errors
    /// git cannot be asked.
    pub fn walk<'o>(&self, options: &'o WalkOptions) -> Result<RevisionWalk<'o>, GitError> {
        Ok(RevisionWalk {
            items: self.objects.repository().tree(&self.commit)?,
            options,
        })
    }

    /// A file, whose bytes are written to `into` where they are not to be held.
    fn found(
        &self,
        key: &str,
        limit: u64,
        into: Option<&mut dyn Write>,
    ) -> Result<git_engine::GitBlob, SkipReason> {
        use std::os::unix::ffi::OsStrExt;
        let path = decode_key(key).ok_or(SkipReason::Vanished)?;
        let commit = self.commit.as_str().as_bytes();
        let name = [commit, b":", path.as_os_str().as_bytes()].concat();
        let found = match into {
            Some(into) => self.objects.copy(&name, limit, into),
            None => self.objects.blob(&name, limit),
        };
        match found {
            Ok(BlobLookup::Blob(blob)) => Ok(blob),
            Ok(BlobLookup::TooLarge(_)) => Err(SkipReason::TooLarge),
            Ok(BlobLookup::Nothing) => Err(SkipReason::Vanished),
            Err(GitError::Start { source, .. } | GitError::Io { source, .. }) => {
                Err(SkipReason::from_io_error(&source))
            }
            Err(error) => {
                tracing::warn!(event = "file.unreadable", key, %error);
                Err(SkipReason::Unreadable)
            }
        }
    }
}

impl SourceFiles for RevisionFiles {
    fn read(
        &self,
        key: &str,
        limit: u64,
        reject: &dyn Fn(&[u8]) -> bool,
    ) -> Result<FileBytes, SkipReason> {
        let blob = self.found(key, limit, None)?;
        if blob.bytes.len() < MAX_LFS_POINTER && blob.bytes.starts_with(LFS_POINTER) {
            return Err(SkipReason::LfsPointer);
        }
        if reject(&blob.bytes[..blob.bytes.len().min(PROBE_BYTES)]) {
            return Err(SkipReason::Binary);
        }
        Ok(FileBytes {
            size: blob.bytes.len() as u64,
            bytes: blob.bytes,
            mtime_ns: self.committed_ns,
            hash: hash_of(&blob.id),
        })
    }

    /// A file in memory without a name, written as it is unpacked: whoever shows a place of a file
    /// reads only that of it.
    fn open_file(&self, key: &str) -> Result<File, SkipReason> {
        let failed = |error: std::io::Error| SkipReason::from_io_error(&error);
        let made = rustix::fs::memfd_create("revision", MemfdFlags::CLOEXEC);
        let mut file = File::from(made.map_err(|error| failed(error.into()))?);
        self.found(key, self.max_file_bytes, Some(&mut file))?;
        file.rewind().map_err(failed)?;
        Ok(file)
    }

    fn location(&self, key: &str) -> Option<FileLocation> {
        let folder = self.objects.repository().folder();
        let mut url = Url::from_file_path(folder).ok()?;
        url.set_fragment(Some(&format!("{}:{key}", self.name)));
        Some(FileLocation {
            url: url.into(),
            path: None,
        })
    }

    fn has_times(&self) -> bool {
        false
    }

    fn top_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A walk through a commit.
#[derive(Debug)]
pub struct RevisionWalk<'o> {
    items: TreeItems,
    options: &'o WalkOptions,
}

impl Iterator for RevisionWalk<'_> {
    type Item = Result<WalkItem, GitError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let item = match self.items.next()? {
                Ok(item) => item,
                Err(error) => return Some(Err(error)),
            };
            if let Some(secret) = admit_path(&item.path, self.options) {
                return Some(Ok(walked(&item, secret, self.options.max_file_bytes)));
            }
        }
    }
}

fn walked(item: &TreeItem, secret: Option<SkipReason>, max_file_bytes: u64) -> WalkItem {
    let key = encode_key(&item.path);
    let too_large = (item.size > max_file_bytes).then_some(SkipReason::TooLarge);
    match refused(item.kind).or(secret).or(too_large) {
        Some(reason) => WalkItem::Skipped(SkippedPath { key, reason }),
        None => WalkItem::File(FileFacts {
            key,
            size: item.size,
            mtime_ns: 0,
            hash: hash_of(&item.id),
        }),
    }
}

/// Why something in a tree is not read.
fn refused(kind: TreeEntryKind) -> Option<SkipReason> {
    match kind {
        TreeEntryKind::File => None,
        TreeEntryKind::Link => Some(SkipReason::Symlink),
        TreeEntryKind::Submodule => Some(SkipReason::Submodule),
        TreeEntryKind::Folder => Some(SkipReason::NotARegularFile),
    }
}

/// Whether a path is one of the source's: the glob lets it pass, and it is not hidden where those
/// are not meant; then, whether it is secret by its name.
fn admit_path(path: &Path, options: &WalkOptions) -> Option<Option<SkipReason>> {
    let mut names = path.iter().map(std::ffi::OsStr::as_encoded_bytes);
    let is_hidden = names.any(|name| name.starts_with(b"."));
    let is_meant =
        options.filter.matches(path) && !(is_hidden && options.hidden == HiddenFiles::None);
    let is_secret = || is_hidden && is_secret(&path.to_string_lossy());
    is_meant.then(|| is_secret().then_some(SkipReason::Secret))
}

/// The first 16 bytes of an object's name; `None` for what is none.
fn hash_of(id: &str) -> Option<[u8; 16]> {
    let number = u128::from_str_radix(id.get(..32)?, 16).ok()?;
    Some(number.to_be_bytes())
}
