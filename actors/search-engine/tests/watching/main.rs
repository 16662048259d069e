//! Watching real folders: every kind of change arrives, and nothing else does.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod replaced;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use search_core::role::FileFilter;
use search_engine::walk::{RootDirectory, SkipReason};
use search_engine::watch::{
    ChangeBatch, DirectoryWatch, PollingReason, RescanReason, WatchMode, WatchOptions,
};
use tempfile::TempDir;

/// Far more than any machine needs; a test that waits so long has failed.
const DEADLINE: Duration = Duration::from_secs(10);

struct Watched {
    folder: TempDir,
    watch: DirectoryWatch,
    /// Everything seen since the last question.
    seen: ChangeBatch,
}

impl Watched {
    fn start(files: &[&str]) -> Self {
        Self::with(files, options())
    }

    fn with(files: &[&str], options: WatchOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in files {
            write(folder.path(), name, "text");
        }
        let root = RootDirectory::open(folder.path()).unwrap();
        let watch = DirectoryWatch::start(&root, options).unwrap();
        Self {
            folder,
            watch,
            seen: ChangeBatch::default(),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until what was seen so far satisfies `done`, and forgets it.
    fn until(&mut self, what: &str, done: impl Fn(&ChangeBatch) -> bool) -> ChangeBatch {
        let deadline = Instant::now() + DEADLINE;
        while !done(&self.seen) {
            match self.watch.changes().recv_deadline(deadline) {
                Ok(batch) => {
                    assert!(!batch.is_empty() && batch.noticed.is_some(), "{batch:?}");
                    self.seen.merge(batch);
                }
                Err(_) => panic!("{what} did not arrive; seen so far: {:?}", self.seen),
            }
        }
        std::mem::take(&mut self.seen)
    }

    fn until_changed(&mut self, key: &str) -> ChangeBatch {
        self.until(key, |seen| seen.changed.contains(key))
    }

    fn until_removed(&mut self, key: &str) -> ChangeBatch {
        self.until(key, |seen| seen.removed.contains(key))
    }

    fn until_rescan(&mut self, reason: RescanReason) -> ChangeBatch {
        self.until("rescan", |seen| seen.rescan == Some(reason))
    }

    /// Everything up to a file that is written now: what is not in there was not reported.
    fn everything(&mut self) -> ChangeBatch {
        write(self.path(), "fence.md", "x");
        let mut seen = self.until_changed("fence.md");
        seen.changed.remove("fence.md");
        seen
    }
}

fn options() -> WatchOptions {
    WatchOptions::new(FileFilter::default())
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Puts the rules in place complete: a half-written file could be noticed on a busy machine.
fn write_rules(folder: &Path, rules: &str) {
    write(folder, ".rules.tmp", rules);
    fs::rename(folder.join(".rules.tmp"), folder.join(".gitignore")).unwrap();
}

fn keys(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|&key| key.to_owned()).collect()
}

#[test]
fn files_that_are_made_written_and_removed_are_reported() {
    let mut watched = Watched::start(&["a.md", "sub/b.md"]);
    assert_eq!(watched.watch.mode(), WatchMode::Events);
    write(watched.path(), "new.md", "x");
    watched.until_changed("new.md");
    write(watched.path(), "sub/b.md", "changed");
    watched.until_changed("sub/b.md");
    fs::remove_file(watched.path().join("a.md")).unwrap();
    watched.until_removed("a.md");
}

#[test]
fn i16_what_is_no_file_is_told_with_the_reason_why_it_is_left_out() {
    let mut watched = Watched::start(&["a.md", "sub/b.md"]);
    let path = watched.path().to_owned();
    let link = std::os::unix::fs::symlink;
    write(&path, ".ignore", "*.tmp\n");
    watched.until_rescan(RescanReason::RulesChanged);
    link("sub/b.md", path.join("to-b.md")).unwrap();
    link("/etc", path.join("out")).unwrap();
    link("nothing", path.join("broken.md")).unwrap();
    link("a.md", path.join("ignored.tmp")).unwrap();
    let reason = |seen: &ChangeBatch, key: &str| seen.left_out.get(key).copied();
    let seen = watched.until("links", |seen| seen.removed.len() >= 3);
    assert_eq!(reason(&seen, "to-b.md"), Some(SkipReason::Symlink));
    assert_eq!(reason(&seen, "out"), Some(SkipReason::SymlinkOutOfRoot));
    assert_eq!(reason(&seen, "broken.md"), Some(SkipReason::SymlinkBroken));
    assert_eq!(reason(&seen, "ignored.tmp"), None);
    // A folder brings its own; a file that takes the place of a link is one.
    fs::create_dir(path.join("new")).unwrap();
    link("../a.md", path.join("new/to-a.md")).unwrap();
    let seen = watched.until_removed("new/to-a.md");
    assert_eq!(reason(&seen, "new/to-a.md"), Some(SkipReason::Symlink));
    fs::remove_file(path.join("to-b.md")).unwrap();
    write(&path, "to-b.md", "a file");
    let seen = watched.until_changed("to-b.md");
    assert_eq!(reason(&seen, "to-b.md"), None);
}

#[test]
fn a_file_saved_by_an_atomic_rename_is_one_change() {
    let mut watched = Watched::start(&["a.md"]);
    // As editors do: a hidden temporary file takes the place of the old one.
    write(watched.path(), ".a.md.tmp", "new");
    fs::rename(
        watched.path().join(".a.md.tmp"),
        watched.path().join("a.md"),
    )
    .unwrap();
    let seen = watched.until_changed("a.md");
    assert_eq!((seen.changed, seen.removed), (keys(&["a.md"]), keys(&[])));
}

#[test]
fn a_rename_is_a_removal_and_a_change() {
    let mut watched = Watched::start(&["a.md"]);
    fs::rename(watched.path().join("a.md"), watched.path().join("b.md")).unwrap();
    let seen = watched.until("both", |seen| {
        !seen.changed.is_empty() && !seen.removed.is_empty()
    });
    assert_eq!(
        (seen.changed, seen.removed),
        (keys(&["b.md"]), keys(&["a.md"]))
    );
}

#[test]
fn a_file_that_stays_open_is_reported_too() {
    use std::io::Write;
    let mut watched = Watched::start(&["log.txt"]);
    let mut log = fs::File::options()
        .append(true)
        .open(watched.path().join("log.txt"))
        .unwrap();
    writeln!(log, "line").unwrap();
    watched.until_changed("log.txt");
}

#[test]
fn a_new_folder_is_watched_with_everything_that_came_with_it() {
    let mut watched = Watched::start(&["a.md"]);
    write(watched.path(), "deep/er/b.md", "x");
    watched.until_changed("deep/er/b.md");
    write(watched.path(), "deep/er/c.md", "x");
    watched.until_changed("deep/er/c.md");
}

#[test]
fn a_folder_that_moves_takes_its_files_along() {
    let mut watched = Watched::start(&["old/sub/a.md"]);
    fs::rename(watched.path().join("old"), watched.path().join("new")).unwrap();
    watched.until("both", |seen| {
        seen.changed.contains("new/sub/a.md") && seen.removed.contains("old")
    });
    write(watched.path(), "new/sub/a.md", "changed");
    watched.until_changed("new/sub/a.md");
}

#[test]
fn a_removed_folder_is_reported_and_can_come_back() {
    let mut watched = Watched::start(&["sub/a.md", "sub/deep/b.md"]);
    fs::remove_dir_all(watched.path().join("sub")).unwrap();
    watched.until_removed("sub");
    write(watched.path(), "sub/deep/b.md", "again");
    watched.until_changed("sub/deep/b.md");
    write(watched.path(), "sub/deep/b.md", "and again");
    watched.until_changed("sub/deep/b.md");
}

#[test]
fn ignored_hidden_and_filtered_files_are_not_reported() {
    let filter = FileFilter::parse("*.md,!old/**").unwrap();
    let mut watched = Watched::with(
        &["a.md", "target/x.md", "old/y.md", ".git/index"],
        WatchOptions::new(filter),
    );
    write_rules(watched.path(), "target/\n*.tmp.md\n");
    watched.until_rescan(RescanReason::RulesChanged);
    for name in [
        "target/x.md",
        "old/y.md",
        ".hidden/z.md",
        ".git/index",
        "b.tmp.md",
        "c.txt",
    ] {
        write(watched.path(), name, "changed");
    }
    let seen = watched.everything();
    assert_eq!((seen.changed, seen.removed), (keys(&[]), keys(&[])));
}

#[test]
fn i16_folders_that_are_made_while_the_watch_begins_are_watched() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = tempfile::tempdir().unwrap();
    for number in 0..1_000 {
        fs::create_dir(folder.path().join(format!("old{number}"))).unwrap();
    }
    let root = RootDirectory::open(folder.path()).unwrap();
    let has_begun = AtomicBool::new(false);
    let make = || {
        let mut made = Vec::new();
        while !has_begun.load(Ordering::Acquire) && made.len() < 2_000 {
            let name = format!("made{}", made.len());
            fs::create_dir(folder.path().join(&name)).unwrap();
            made.push(name);
        }
        made
    };
    let (watch, made) = std::thread::scope(|scope| {
        let making = scope.spawn(make);
        let watch = DirectoryWatch::start(&root, options()).unwrap();
        has_begun.store(true, Ordering::Release);
        (watch, making.join().unwrap())
    });
    let mut watched = Watched {
        folder,
        watch,
        seen: ChangeBatch::default(),
    };
    // By now each is watched, or waits to be.
    watched.everything();
    let expected: BTreeSet<String> = made.iter().map(|name| format!("{name}/a.md")).collect();
    for key in &expected {
        write(watched.path(), key, "x");
    }
    watched.until("all files", |seen| seen.changed.is_superset(&expected));
}

#[test]
fn changed_rules_bring_folders_under_watch() {
    let mut watched = Watched::start(&["keep.md", "out/a.md"]);
    write_rules(watched.path(), "out/\n");
    watched.until_rescan(RescanReason::RulesChanged);
    write(watched.path(), "out/a.md", "unseen");
    assert!(!watched.everything().changed.contains("out/a.md"));
    fs::remove_file(watched.path().join(".gitignore")).unwrap();
    watched.until_rescan(RescanReason::RulesChanged);
    write(watched.path(), "out/a.md", "seen");
    watched.until_changed("out/a.md");
}

#[test]
fn links_and_other_things_are_not_reported_as_files() {
    let mut watched = Watched::start(&["a.md", "b.md"]);
    std::os::unix::fs::symlink("/etc/passwd", watched.path().join("link.md")).unwrap();
    fs::remove_file(watched.path().join("b.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", watched.path().join("b.md")).unwrap();
    let seen = watched.everything();
    assert_eq!(seen.changed, keys(&[]));
    assert!(
        seen.removed.contains("b.md"),
        "a file became a link: {seen:?}"
    );
}

#[test]
fn a_root_that_is_removed_and_made_again_is_watched_again() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("root");
    fs::create_dir(&path).unwrap();
    let root = RootDirectory::open(&path).unwrap();
    let watch = DirectoryWatch::start(&root, options()).unwrap();
    let mut watched = Watched {
        folder: parent,
        watch,
        seen: ChangeBatch::default(),
    };
    fs::remove_dir(&path).unwrap();
    watched.until_rescan(RescanReason::RootReplaced);
    fs::create_dir(&path).unwrap();
    watched.until_rescan(RescanReason::RootReplaced);
    write(&path, "a.md", "x");
    watched.until_changed("a.md");
}

#[test]
fn above_the_limit_of_folders_the_watch_polls_and_says_so() {
    let mut options = options();
    options.max_directories = 2;
    options.poll_interval = Duration::from_millis(20);
    let mut watched = Watched::with(&["a/1.md", "b/2.md", "c/3.md"], options);
    assert_eq!(
        watched.watch.mode(),
        WatchMode::Polling(PollingReason::TooManyDirectories)
    );
    watched.until_rescan(RescanReason::Unwatched);
    for _ in 0..3 {
        watched.until_rescan(RescanReason::Polling);
    }
}

#[test]
fn the_limit_can_be_reached_later() {
    let mut options = options();
    options.max_directories = 2;
    let mut watched = Watched::with(&["a/1.md"], options);
    assert_eq!(watched.watch.mode(), WatchMode::Events);
    write(watched.path(), "b/2.md", "x");
    watched.until_rescan(RescanReason::Unwatched);
    assert_eq!(
        watched.watch.mode(),
        WatchMode::Polling(PollingReason::TooManyDirectories)
    );
}

#[test]
fn a_consumer_that_is_busy_gets_everything_in_few_batches() {
    let mut watched = Watched::start(&[]);
    let expected: BTreeSet<String> = (0..500).map(|number| format!("{number:03}.md")).collect();
    for key in &expected {
        write(watched.path(), key, "x");
    }
    let seen = watched.until("all files", |seen| seen.changed.len() >= 500);
    assert_eq!(seen.changed, expected);
    assert_eq!(seen.rescan, None);
}

#[test]
fn a_watch_ends_when_it_is_dropped() {
    let watched = Watched::start(&["a.md"]);
    let changes = watched.watch.changes().clone();
    drop(watched.watch);
    while changes.try_recv().is_ok() {}
    assert_eq!(
        changes.try_recv(),
        Err(crossbeam_channel::TryRecvError::Disconnected)
    );
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = std::process::Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
}

/// A work tree that is watched.
fn watched_work_tree(files: &[&str], tracked: &[&str]) -> Watched {
    let folder = tempfile::tempdir().unwrap();
    for name in files {
        write(folder.path(), name, "text");
    }
    git(folder.path(), &["init", "--quiet"]);
    let add = [["add", "--force", "--"].as_slice(), tracked].concat();
    git(folder.path(), &add);
    let root = RootDirectory::open(folder.path()).unwrap();
    let watch = DirectoryWatch::start(&root, options()).unwrap();
    Watched {
        folder,
        watch,
        seen: ChangeBatch::default(),
    }
}

#[test]
fn i16_hidden_files_that_git_tracks_are_watched_and_git_itself_is_not() {
    let ci = ".github/workflows/ci.yml";
    let mut watched = watched_work_tree(&["a.md", ci, ".own/b.md"], &["a.md", ci]);
    write(watched.path(), ci, "changed");
    watched.until_changed(ci);
    // Neither what is hidden and not tracked, nor git's own, nor secrets.
    for name in [".own/b.md", ".github/own.yml", ".git/config2", ".env"] {
        write(watched.path(), name, "changed");
    }
    git(watched.path(), &["commit", "--quiet", "-m", "x"]);
    let seen = watched.everything();
    assert_eq!((seen.changed, seen.removed), (keys(&[]), keys(&[])));
    assert_eq!(seen.rescan, None);
    // What is tracked from now on is seen, and what is not any more is gone.
    git(watched.path(), &["add", ".own/b.md"]);
    watched.until_changed(".own/b.md");
    write(watched.path(), ".own/b.md", "again");
    watched.until_changed(".own/b.md");
    git(watched.path(), &["rm", "--quiet", "--cached", ci]);
    watched.until_removed(ci);
    write(watched.path(), ci, "again");
    assert_eq!(watched.everything().changed, keys(&[]));
}

#[test]
fn i16_a_folder_that_appears_with_rules_of_its_own_is_looked_at_anew() {
    let mut watched = Watched::start(&["a.md"]);
    let made = tempfile::tempdir_in(watched.path().parent().unwrap()).unwrap();
    write(made.path(), "venv/.gitignore", "*\n");
    write(made.path(), "venv/lib.py", "x");
    fs::rename(made.path().join("venv"), watched.path().join("venv")).unwrap();
    watched.until_rescan(RescanReason::RulesChanged);
}
