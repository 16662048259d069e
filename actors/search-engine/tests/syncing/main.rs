//! Keeping an index in step with real folders, and excerpts from them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod defining;
mod excerpts;
mod long;
mod real;
mod shut;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::Path;

use rustc_hash::FxHashMap;
use search_core::answer::MatchedLines;
use search_core::document::{ContentKind, ExtractedDocument};
use search_core::query::{SearchRequest, parse};
use search_core::role::FileFilter;
use search_engine::excerpt::{Excerpt, Excerpter};
use search_engine::sync::{
    CancelFlag, IndexSink, KnownFile, SyncError, SyncOptions, SyncPlan, SyncReport,
    TimestampUpdate, apply, walk_all,
};
use search_engine::walk::{RootDirectory, SkipReason, WalkOptions};

/// An index that remembers.
#[derive(Default)]
struct Memory {
    documents: BTreeMap<String, (ExtractedDocument, KnownFile)>,
    puts: usize,
    notes_touches: bool,
}

impl IndexSink for Memory {
    type Error = Infallible;

    fn put(&mut self, document: ExtractedDocument, version: KnownFile) -> Result<(), Infallible> {
        self.puts += 1;
        self.documents
            .insert(document.key.clone(), (document, version));
        Ok(())
    }

    fn delete(&mut self, key: &str) -> Result<(), Infallible> {
        self.documents.remove(key);
        Ok(())
    }

    fn touch(&mut self, key: &str, version: KnownFile) -> Result<TimestampUpdate, Infallible> {
        if !self.notes_touches {
            return Ok(TimestampUpdate::PutAgain);
        }
        self.documents.get_mut(key).unwrap().1 = version;
        Ok(TimestampUpdate::Noted)
    }
}

impl Memory {
    fn known(&self) -> FxHashMap<String, KnownFile> {
        self.documents
            .iter()
            .map(|(key, (_, version))| (key.clone(), *version))
            .collect()
    }

    fn keys(&self) -> Vec<&str> {
        self.documents.keys().map(String::as_str).collect()
    }
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn walk_options() -> WalkOptions {
    WalkOptions::new(FileFilter::default())
}

fn synchronize_with(folder: &Path, index: &mut Memory, two_threads: bool) -> SyncReport {
    let root = RootDirectory::open(folder).unwrap();
    let walk = walk_options();
    let plan = SyncPlan::compare(index.known(), walk_all(&root, &walk));
    let mut options = SyncOptions::new(&walk);
    options.min_files_for_two_threads = if two_threads { 0 } else { u64::MAX };
    let mut last = None;
    let report = apply(&root, plan, &options, index, |progress| {
        last = Some(progress);
    })
    .unwrap();
    assert_eq!(last.unwrap_or(report.progress), report.progress);
    report
}

fn synchronize(folder: &Path, index: &mut Memory) -> SyncReport {
    synchronize_with(folder, index, false)
}

#[test]
fn an_index_follows_its_folder() {
    for two_threads in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut index = Memory::default();
        write(folder.path(), "a.md", "# Title\n\ntext");
        write(folder.path(), "b.rs", "fn main() {}");
        write(folder.path(), "sub/c.txt", "plain");
        let report = synchronize_with(folder.path(), &mut index, two_threads);
        assert_eq!(
            (report.put, report.progress.done, report.progress.bytes),
            (3, 3, 13 + 12 + 5)
        );
        assert_eq!(index.documents["a.md"].0.title, "Title");
        assert_eq!(index.documents["b.rs"].0.kind, ContentKind::Code);

        write(folder.path(), "a.md", "# Another title\n");
        fs::remove_dir_all(folder.path().join("sub")).unwrap();
        write(folder.path(), "d.txt", "new");
        let report = synchronize_with(folder.path(), &mut index, two_threads);
        assert_eq!((report.put, report.removed), (2, 1));
        assert_eq!(index.keys(), ["a.md", "b.rs", "d.txt"]);
        assert_eq!(index.documents["a.md"].0.title, "Another title");
    }
}

/// Sets a time that lies far enough back to be trusted.
fn set_time(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

#[test]
fn an_unchanged_folder_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Memory::default();
    write(folder.path(), "a.md", "text");
    set_time(&folder.path().join("a.md"), 1_000_000);
    synchronize(folder.path(), &mut index);
    let report = synchronize(folder.path(), &mut index);
    assert_eq!((report.progress.total, index.puts), (0, 1));
}

#[test]
fn a_touched_file_is_noted_by_its_hash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.md");
    write(folder.path(), "a.md", "text");
    for notes_touches in [true, false] {
        let mut index = Memory {
            notes_touches,
            ..Memory::default()
        };
        set_time(&path, 1_000_000);
        synchronize(folder.path(), &mut index);
        set_time(&path, 2_000_000);
        let report = synchronize(folder.path(), &mut index);
        assert_eq!((report.touched, report.put), (1, 0));
        assert_eq!(index.puts, if notes_touches { 1 } else { 2 });
        assert_eq!(
            index.documents["a.md"].1.mtime_ns,
            2_000_000 * 1_000_000_000
        );
        assert_eq!(synchronize(folder.path(), &mut index).progress.total, 0);
    }
}

#[test]
fn a_file_that_has_just_been_written_is_compared_by_its_hash_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.md");
    let mut index = Memory {
        notes_touches: true,
        ..Memory::default()
    };
    write(folder.path(), "a.md", "one");
    synchronize(folder.path(), &mut index);
    // Another content of the same length whose time could not be told apart.
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    write(folder.path(), "a.md", "two");
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(before)
        .unwrap();
    let age = before.elapsed().unwrap();
    synchronize(folder.path(), &mut index);
    // On a machine that was held up for longer than clocks tick there was nothing to tell apart.
    if age < std::time::Duration::from_millis(20) {
        assert_eq!(index.documents["a.md"].0.body, "two\n");
    }
}

#[test]
fn a_file_that_had_just_been_written_and_is_the_same_is_not_put_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.md");
    let mut index = Memory::default();
    write(folder.path(), "a.md", "one");
    // A time that is always too close to be trusted.
    set_time(&path, 4_000_000_000);
    synchronize(folder.path(), &mut index);
    let report = synchronize(folder.path(), &mut index);
    assert_eq!((report.touched, report.put, index.puts), (1, 0, 1));
    write(folder.path(), "a.md", "two");
    set_time(&path, 4_000_000_000);
    let report = synchronize(folder.path(), &mut index);
    assert_eq!((report.touched, report.put, index.puts), (0, 1, 2));
    assert_eq!(index.documents["a.md"].0.body, "two\n");
}

#[test]
fn what_cannot_be_indexed_is_counted_and_leaves_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = Memory::default();
    for name in ["binary", "empty", "text"] {
        write(folder.path(), name, "text");
    }
    synchronize(folder.path(), &mut index);
    write(folder.path(), "binary", b"\0\x01\x02 not text");
    write(folder.path(), "empty", " \n\t");
    write(folder.path(), "new.png", b"\x89PNG\r\n\x1a\n");
    let report = synchronize(folder.path(), &mut index);
    assert_eq!(index.keys(), ["text"]);
    assert_eq!(report.skipped.get(SkipReason::Binary), 2);
    assert_eq!(report.skipped.get(SkipReason::Empty), 1);
    assert_eq!(report.removed, 2);
}

#[test]
fn a_file_that_vanishes_after_the_walk_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        write(folder.path(), name, "text");
    }
    let root = RootDirectory::open(folder.path()).unwrap();
    let walk = walk_options();
    let plan = SyncPlan::compare(FxHashMap::default(), walk_all(&root, &walk));
    fs::remove_file(folder.path().join("b")).unwrap();
    let mut index = Memory::default();
    let report = apply(&root, plan, &SyncOptions::new(&walk), &mut index, |_| {}).unwrap();
    assert_eq!(index.keys(), ["a", "c"]);
    assert_eq!(
        (
            report.skipped.get(SkipReason::Vanished),
            report.progress.done
        ),
        (1, 3)
    );
}

#[test]
fn a_synchronisation_can_be_ended_and_taken_up_again() {
    for two_threads in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..100 {
            write(
                folder.path(),
                &format!("{number}.txt"),
                format!("text {number}"),
            );
            set_time(&folder.path().join(format!("{number}.txt")), 1_000_000);
        }
        let root = RootDirectory::open(folder.path()).unwrap();
        let walk = walk_options();
        let mut index = Memory::default();
        let plan = SyncPlan::compare(index.known(), walk_all(&root, &walk));
        let mut options = SyncOptions::new(&walk);
        options.min_files_for_two_threads = if two_threads { 0 } else { u64::MAX };
        let cancel: CancelFlag = options.cancel.clone();
        let report = apply(&root, plan, &options, &mut index, |progress| {
            if progress.done == 10 {
                cancel.cancel();
            }
        })
        .unwrap();
        assert!(
            report.cancelled && report.put >= 10 && report.put < 100,
            "{report:?}"
        );
        let before = index.puts;
        let report = synchronize_with(folder.path(), &mut index, two_threads);
        assert_eq!(report.put as usize + before, 100);
    }
}

/// An index whose disk is full after some documents.
struct Full(usize);

impl IndexSink for Full {
    type Error = &'static str;

    fn put(&mut self, _: ExtractedDocument, _: KnownFile) -> Result<(), Self::Error> {
        self.0 = self.0.checked_sub(1).ok_or("the disk is full")?;
        Ok(())
    }

    fn delete(&mut self, _: &str) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[test]
fn an_index_that_fails_ends_both_threads() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..40 {
        // Large enough that the reading thread has to wait for the other one.
        write(
            folder.path(),
            &format!("{number}.txt"),
            "text ".repeat(200_000),
        );
    }
    let root = RootDirectory::open(folder.path()).unwrap();
    let walk = walk_options();
    let mut options = SyncOptions::new(&walk);
    options.min_files_for_two_threads = 0;
    let plan = SyncPlan::compare(FxHashMap::default(), walk_all(&root, &walk));
    let result = apply(&root, plan, &options, &mut Full(3), |_| {});
    assert_eq!(result.unwrap_err(), SyncError::Sink("the disk is full"));
}
