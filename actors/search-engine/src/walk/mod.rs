//! Walking a folder: which files there are, and which were left out for what reason.
//!
//! ```text
//! RootDirectory ──walk──> Walk ──> WalkItem::File(FileFacts)        to be read by `RootDirectory::read`
//!                           └─> WalkItem::Skipped(SkippedPath)   named, counted, never silent
//! ```
//!
//! Nothing that is met on the way can hang the walk or lead it out of its root: symbolic links are
//! not followed, files that are not regular are not opened, pseudo file systems are not entered.

mod key;
mod mount;
mod read;
mod root;
mod rules;
mod skip;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use search_core::role::FileFilter;

pub use key::{decode_key, encode_key};
pub(crate) use read::PROBE_BYTES;
pub use read::{FileBytes, FileFacts};
pub use root::{RootDirectory, RootError};
pub(crate) use rules::{is_ignore_file, walk_builder};
pub use skip::{SkipCounts, SkipReason, SkippedPath};

/// Largest file that is read when nothing else is configured: 10 MiB.
pub const DEFAULT_MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// What of a folder is to be indexed.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// The source's `glob`.
    pub filter: FileFilter,
    /// Files above this size in bytes are skipped as too large.
    pub max_file_bytes: u64,
}

impl WalkOptions {
    /// All files the filter lets pass, up to [`DEFAULT_MAX_FILE_BYTES`].
    #[must_use]
    pub fn new(filter: FileFilter) -> Self {
        Self {
            filter,
            max_file_bytes: DEFAULT_MAX_FILE_BYTES,
        }
    }
}

/// One step of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalkItem {
    /// A file to be indexed.
    File(FileFacts),
    /// Something that cannot be indexed.
    Skipped(SkippedPath),
}

/// A running walk, in ascending order of names inside each folder: the same folder always gives
/// the same sequence.
///
/// One thread: on two cores a parallel walk has to sort afterwards and gains nothing that the
/// reading of the files, which follows, would notice.
pub struct Walk<'a> {
    root: &'a RootDirectory,
    options: &'a WalkOptions,
    entries: ignore::Walk,
    met: Arc<Mutex<DirectoriesSeen>>,
    filtered: u64,
}

/// What the folders on the way were.
#[derive(Default)]
struct DirectoriesSeen {
    /// Whether those are noted whose `.gitignore` hides all of them.
    follows_gitignore: bool,
    /// Those that are not entered, or of which nothing is seen.
    refused: Vec<SkippedPath>,
    /// Keys of those at which another file system is mounted; empty for the root itself.
    mounts: BTreeSet<String>,
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk")
            .field("root", self.root)
            .finish_non_exhaustive()
    }
}

impl RootDirectory {
    /// Walks the folder: `.gitignore` and `.ignore` files are honoured, hidden files and folders
    /// (`.git` among them) are left out without being counted.
    #[must_use]
    pub fn walk<'a>(&'a self, options: &'a WalkOptions) -> Walk<'a> {
        let met: Arc<Mutex<DirectoriesSeen>> = Arc::default();
        if self.is_mount("") {
            met.lock().mounts.insert(String::new());
        }
        let (mut builder, follows_gitignore) = rules::walk_rules(self);
        met.lock().follows_gitignore = follows_gitignore;
        self.note_hidden(self.path(), &met);
        builder.sort_by_file_name(std::ffi::OsStr::cmp);
        let (guard, noted) = (self.clone(), Arc::clone(&met));
        let filter = options.filter.clone();
        builder.filter_entry(move |entry| guard.may_enter(entry, &filter, &noted));
        Walk {
            root: self,
            options,
            entries: builder.build(),
            met,
            filtered: 0,
        }
    }

    /// The folder itself and all folders below it that the walk enters.
    pub(crate) fn folders(&self, filter: &FileFilter) -> impl Iterator<Item = PathBuf> + use<> {
        let mut builder = walk_builder(self);
        let (guard, met, filter) = (
            self.clone(),
            Mutex::new(DirectoriesSeen::default()),
            filter.clone(),
        );
        builder.filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            is_directory && guard.may_enter(entry, &filter, &met)
        });
        builder.build().flatten().map(ignore::DirEntry::into_path)
    }

    /// Keeps the walk out of folders the glob excludes as a whole and of pseudo file systems
    /// (`/proc`, `/sys` …), whose files have no end.
    fn may_enter(
        &self,
        entry: &ignore::DirEntry,
        filter: &FileFilter,
        met: &Mutex<DirectoriesSeen>,
    ) -> bool {
        if entry.depth() == 0 || !entry.file_type().is_some_and(|kind| kind.is_dir()) {
            return true;
        }
        if self
            .relative(entry.path())
            .is_some_and(|folder| filter.skips_directory(folder))
        {
            return false;
        }
        // What is gone meanwhile is told by whoever opens it.
        let Some(found) = mount::look(entry.path()) else {
            return true;
        };
        if self.is_pseudo_at(entry.path(), &found) {
            let skipped = self.skipped(entry.path(), SkipReason::PseudoFilesystem);
            met.lock().refused.push(skipped);
            return false;
        }
        self.note_hidden(entry.path(), met);
        if found.is_mount {
            met.lock().mounts.extend(self.key_of(entry.path()));
        }
        true
    }

    /// Notes a folder whose own `.gitignore` hides all of it. It is still entered: `.ignore` files
    /// may bring something back.
    fn note_hidden(&self, folder: &Path, met: &Mutex<DirectoriesSeen>) {
        if met.lock().follows_gitignore && rules::hides_all(folder) {
            let skipped = self.skipped(folder, SkipReason::HiddenByGitignore);
            met.lock().refused.push(skipped);
        }
    }

    /// A skip record of a path below the root.
    pub(crate) fn skipped(&self, path: &Path, reason: SkipReason) -> SkippedPath {
        SkippedPath {
            key: self.key_of(path).unwrap_or_default(),
            reason,
        }
    }
}

impl Walk<'_> {
    /// Files the glob has kept out so far.
    #[must_use]
    pub fn filtered(&self) -> u64 {
        self.filtered
    }

    /// The folders met so far at which another file system is mounted, by their keys; empty for the
    /// root itself.
    #[must_use]
    pub fn mounts(&self) -> BTreeSet<String> {
        self.met.lock().mounts.clone()
    }

    /// What one entry of the folder means; `None` for folders and files the glob keeps out.
    fn classify(&mut self, entry: &ignore::DirEntry) -> Option<WalkItem> {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            return None;
        }
        let relative = self.root.relative(entry.path())?;
        if !self.options.filter.matches(relative) {
            self.filtered += 1;
            return None;
        }
        let key = encode_key(relative);
        Some(if kind.is_symlink() {
            WalkItem::Skipped(SkippedPath {
                key,
                reason: self.root.link_reason(entry.path()),
            })
        } else if kind.is_file() {
            self.file(key, entry)
        } else {
            WalkItem::Skipped(SkippedPath {
                key,
                reason: SkipReason::NotARegularFile,
            })
        })
    }

    fn file(&self, key: String, entry: &ignore::DirEntry) -> WalkItem {
        match entry.metadata() {
            Ok(data) if data.len() > self.options.max_file_bytes => {
                WalkItem::Skipped(SkippedPath {
                    key,
                    reason: SkipReason::TooLarge,
                })
            }
            Ok(data) => WalkItem::File(FileFacts {
                key,
                size: data.len(),
                mtime_ns: read::mtime_ns(&data),
                hash: None,
            }),
            Err(error) => WalkItem::Skipped(SkippedPath {
                key,
                reason: SkipReason::of_walk_error(&error),
            }),
        }
    }

    fn error_item(&self, error: &ignore::Error) -> WalkItem {
        let key = error_path(error)
            .and_then(|path| self.root.key_of(path))
            .unwrap_or_default();
        WalkItem::Skipped(SkippedPath {
            key,
            reason: SkipReason::of_walk_error(error),
        })
    }
}

impl Iterator for Walk<'_> {
    type Item = WalkItem;

    fn next(&mut self) -> Option<WalkItem> {
        loop {
            if let Some(skipped) = self.met.lock().refused.pop() {
                return Some(WalkItem::Skipped(skipped));
            }
            match self.entries.next() {
                Some(Ok(entry)) => {
                    if let Some(item) = self.classify(&entry) {
                        return Some(item);
                    }
                }
                Some(Err(error)) => return Some(self.error_item(&error)),
                // The last entry may have been a refused folder.
                None => return self.met.lock().refused.pop().map(WalkItem::Skipped),
            }
        }
    }
}

/// The path an error of the walker is about.
fn error_path(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::Loop { child, .. } => Some(child),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            error_path(err)
        }
        ignore::Error::Partial(errors) => errors.iter().find_map(error_path),
        _ => None,
    }
}
