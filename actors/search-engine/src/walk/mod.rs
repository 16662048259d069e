//! Walking a folder: which files there are, and which were left out for what reason.
//!
//! ```text
//! RootDirectory ──walk──> Walk ──> WalkItem::File(FileFacts)        to be read by `RootDirectory::read`
//!                           └─> WalkItem::Skipped(SkippedPath)   named, counted, never silent
//! ```
//!
//! Nothing that is met on the way can hang the walk or lead it out of its root: symbolic links are
//! not followed, files that are not regular are not opened, pseudo file systems are not entered.

mod admission;
mod key;
mod mount;
mod read;
mod root;
mod rules;
mod skip;

use std::collections::{BTreeSet, btree_set};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use search_core::role::{FileFilter, HiddenFiles};
use search_core::secret_files::is_secret;

pub(crate) use admission::WalkFilter;
pub use key::{decode_key, encode_key};
pub(crate) use read::PROBE_BYTES;
pub use read::{FileBytes, FileFacts};
pub use root::{RootDirectory, RootError};
pub(crate) use rules::is_ignore_file;
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
    /// Which hidden files of a commit are meant; a folder [knows](RootDirectory::with_hidden) it.
    pub hidden: HiddenFiles,
}

impl WalkOptions {
    /// All files the filter lets pass, up to [`DEFAULT_MAX_FILE_BYTES`].
    #[must_use]
    pub fn new(filter: FileFilter) -> Self {
        Self {
            filter,
            max_file_bytes: DEFAULT_MAX_FILE_BYTES,
            hidden: HiddenFiles::default(),
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
    /// What git tracks although the rules hide it, once all else is given.
    tracked: Option<btree_set::IntoIter<PathBuf>>,
    filtered: u64,
}

/// What the folders on the way were.
struct DirectoriesSeen {
    /// Whether those are noted whose `.gitignore` hides all of them.
    follows_gitignore: bool,
    admission: WalkFilter,
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
    /// are left out. What git tracks all the same comes last. `.git` itself is never seen.
    #[must_use]
    pub fn walk<'a>(&'a self, options: &'a WalkOptions) -> Walk<'a> {
        let (mut builder, met) = self.start_walk();
        self.record_hidden(self.path(), &met);
        builder.sort_by_file_name(std::ffi::OsStr::cmp);
        let (guard, noted) = (self.clone(), Arc::clone(&met));
        let filter = options.filter.clone();
        builder.filter_entry(move |entry| guard.may_enter(entry, &filter, &noted));
        Walk {
            root: self,
            options,
            entries: builder.build(),
            met,
            tracked: None,
            filtered: 0,
        }
    }

    fn start_walk(&self) -> (ignore::WalkBuilder, Arc<Mutex<DirectoriesSeen>>) {
        let rules = rules::walk_rules(self);
        let mut met = DirectoriesSeen {
            follows_gitignore: rules.follows_gitignore,
            admission: WalkFilter::from_rules(self, &rules),
            refused: Vec::new(),
            mounts: BTreeSet::new(),
        };
        if self.is_mount("") {
            met.mounts.insert(String::new());
        }
        (rules.builder, Arc::new(Mutex::new(met)))
    }

    /// The folder itself and all folders below it whose changes matter, and what is seen of them.
    pub(crate) fn survey(&self, filter: &FileFilter) -> (Vec<PathBuf>, WalkFilter) {
        let (mut builder, met) = self.start_walk();
        let (guard, noted, wanted) = (self.clone(), Arc::clone(&met), filter.clone());
        builder.filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            is_directory && guard.may_enter(entry, &wanted, &noted)
        });
        let walked = builder.build().flatten();
        let mut folders: Vec<PathBuf> = walked.map(ignore::DirEntry::into_path).collect();
        // Whoever built the walk held the other reference.
        drop(builder);
        let admission = match Arc::try_unwrap(met) {
            Ok(met) => met.into_inner().admission,
            Err(_) => WalkFilter::new(self),
        };
        folders.extend(admission.further_folders());
        (folders, admission)
    }

    /// Keeps the walk out of folders the glob excludes as a whole and of pseudo file systems
    /// (`/proc`, `/sys` …), whose files have no end.
    fn may_enter(
        &self,
        entry: &ignore::DirEntry,
        filter: &FileFilter,
        met: &Mutex<DirectoriesSeen>,
    ) -> bool {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        if entry.depth() == 0 {
            return true;
        }
        if !self.may_be_seen(entry, is_directory, filter, &mut met.lock()) {
            return false;
        }
        if !is_directory {
            return true;
        }
        if self
            .relative(entry.path())
            .is_some_and(|folder| filter.skips_directory(folder))
        {
            return false;
        }
        // What is gone meanwhile is told by whoever opens it.
        let Some(found) = mount::find_mount(entry.path()) else {
            return true;
        };
        if self.is_pseudo_at(entry.path(), &found) {
            let skipped = self.skipped(entry.path(), SkipReason::PseudoFilesystem);
            met.lock().refused.push(skipped);
            return false;
        }
        met.lock().admission.load_tracked(entry.path());
        self.record_hidden(entry.path(), met);
        if found.is_mount {
            met.lock().mounts.extend(self.key_of(entry.path()));
        }
        true
    }

    /// Keeps the walk away from what is hidden, which is noted unless it is git's own, or what git
    /// tracks, which comes last.
    fn may_be_seen(
        &self,
        entry: &ignore::DirEntry,
        is_directory: bool,
        filter: &FileFilter,
        met: &mut DirectoriesSeen,
    ) -> bool {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let Some(path) = self.relative(entry.path()) else {
            return true;
        };
        // Below a hidden folder that is entered any name may be that of a secret.
        if !is_hidden && !admission::has_hidden(path) || met.admission.is_left(path, is_directory) {
            return true;
        }
        let is_counted = entry.file_name() != ".git"
            && !is_ignore_file(entry.file_name())
            && self.hidden_files() != HiddenFiles::None
            && !met.admission.knows(path)
            && !filter.skips_directory(path)
            && (is_directory || filter.matches(path));
        if is_counted {
            let reason = match is_secret(&path.to_string_lossy()) {
                true => SkipReason::Secret,
                false => SkipReason::Hidden,
            };
            let skipped = self.skipped(entry.path(), reason);
            met.refused.push(skipped);
        }
        false
    }

    /// Notes a folder whose own `.gitignore` hides all of it, unless git tracks all of it. It is
    /// still entered: `.ignore` files may bring something back.
    fn record_hidden(&self, folder: &Path, met: &Mutex<DirectoriesSeen>) {
        let mut met = met.lock();
        let is_tracked = |entry: std::fs::DirEntry| {
            let path = entry.path();
            let path = self.relative(&path);
            path.is_some_and(|path| met.admission.is_tracked(path))
        };
        if met.follows_gitignore
            && rules::hides_all(folder)
            && !rules::visible_entries(folder).all(is_tracked)
        {
            let skipped = self.skipped(folder, SkipReason::HiddenByGitignore);
            met.refused.push(skipped);
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
        if kind.is_file() {
            return Some(self.file(entry.path(), entry.metadata()));
        }
        Some(WalkItem::Skipped(SkippedPath {
            key: encode_key(relative),
            reason: self.root.no_file(entry.path(), kind),
        }))
    }

    fn file(&self, path: &Path, data: Result<Metadata, ignore::Error>) -> WalkItem {
        let key = self.root.key_of(path).unwrap_or_default();
        let data = data.map_err(|error| SkipReason::from_walk_error(&error));
        let data = data.and_then(|data| match data {
            data if data.len() > self.options.max_file_bytes => Err(SkipReason::TooLarge),
            data if !read::may_read(path, &data) => Err(SkipReason::Unreadable),
            data => Ok(data),
        });
        match data {
            Ok(data) => WalkItem::File(FileFacts {
                key,
                size: data.len(),
                mtime_ns: read::mtime_ns(&data),
                hash: None,
            }),
            Err(reason) => WalkItem::Skipped(SkippedPath { key, reason }),
        }
    }

    /// What is left once all that the rules leave is given.
    fn next_tracked(&mut self) -> Option<WalkItem> {
        if self.tracked.is_none() {
            let mut met = self.met.lock();
            let (files, secrets) = met.admission.take();
            met.refused.extend(secrets.into_iter().filter_map(|path| {
                let is_wanted = self.options.filter.matches(&path);
                let path = self.root.path().join(path);
                let is_there = is_wanted && path.symlink_metadata().is_ok();
                is_there.then(|| self.root.skipped(&path, SkipReason::Secret))
            }));
            self.tracked = Some(files.into_iter());
        }
        if let Some(skipped) = self.met.lock().refused.pop() {
            return Some(WalkItem::Skipped(skipped));
        }
        loop {
            let relative = self.tracked.as_mut()?.next()?;
            if !self.options.filter.matches(&relative) {
                self.filtered += 1;
                continue;
            }
            // What git tracks need not be there.
            let path = self.root.path().join(&relative);
            match path.symlink_metadata() {
                Ok(data) if data.is_file() => return Some(self.file(&path, Ok(data))),
                _ => {}
            }
        }
    }

    fn error_item(&self, error: &ignore::Error) -> WalkItem {
        let key = error_path(error)
            .and_then(|path| self.root.key_of(path))
            .unwrap_or_default();
        WalkItem::Skipped(SkippedPath {
            key,
            reason: SkipReason::from_walk_error(error),
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
                None => return self.next_tracked(),
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
