//! Folders that are renamed, and that take the place of others.

use std::fs;
use std::path::Path;
use std::time::Duration;

use search_engine::walk::RootDirectory;
use search_engine::watch::{ChangeBatch, DirectoryWatch, RescanReason};

use crate::{Watched, keys, options, write, write_rules};

/// A watch that takes what happens within a moment as one change.
fn watched_slowly(files: &[&str]) -> Watched {
    let mut options = options();
    options.debounce = Duration::from_millis(200);
    Watched::with(files, options)
}

/// Renames within the watched folder.
fn rename(watched: &Watched, from: &str, to: &str) {
    fs::rename(watched.path().join(from), watched.path().join(to)).unwrap();
}

/// Each gets the other's name, in one step.
fn exchange(one: &Path, other: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn i16_a_folder_that_is_renamed_is_watched_whatever_its_new_name() {
    let moves = [("site.new", "site"), ("zeta", "alpha"), ("a", "b")];
    for (from, to) in moves {
        let mut watched = Watched::start(&[&format!("{from}/a.md")]);
        rename(&watched, from, to);
        watched.until("both", |seen| {
            seen.changed.contains(&format!("{to}/a.md")) && seen.removed.contains(from)
        });
        let direct = format!("{to}/direct.md");
        write(watched.path(), &direct, "x");
        watched.until_changed(&direct);
        fs::remove_file(watched.path().join(&direct)).unwrap();
        watched.until_removed(&direct);
    }
}

#[test]
fn i16_a_rename_in_the_moment_of_new_rules_leaves_the_folder_watched() {
    let mut watched = watched_slowly(&["site.new/a.md"]);
    rename(&watched, "site.new", "site");
    write_rules(watched.path(), "*.tmp\n");
    watched.until_rescan(RescanReason::RulesChanged);
    write(watched.path(), "site/direct.md", "x");
    watched.until_changed("site/direct.md");
}

#[test]
fn i16_a_folder_that_takes_the_place_of_another_at_once_is_read_anew() {
    let files = ["site/old.md", "site/deep/old.md", "site.new/new.md"];
    let mut watched = watched_slowly(&files);
    rename(&watched, "site", "site.old");
    rename(&watched, "site.new", "site");
    let expected = ["site/new.md", "site.old/old.md", "site.old/deep/old.md"];
    let seen = watched.until("the new folder", |seen| {
        seen.changed.is_superset(&keys(&expected))
    });
    // Nothing is known below a name that is new.
    assert_eq!(seen.removed, keys(&["site", "site.new", "site.old"]));
    assert_eq!(seen.changed, keys(&expected));
    for key in ["site/direct.md", "site.old/direct.md", "site.old/deep/b.md"] {
        write(watched.path(), key, "x");
        watched.until_changed(key);
    }
}

#[test]
fn i16_folders_that_are_exchanged_are_both_read_anew() {
    let mut watched = watched_slowly(&["a/1.md", "a/sub/2.md", "b/3.md"]);
    exchange(&watched.path().join("a"), &watched.path().join("b"));
    let expected = keys(&["a/3.md", "b/1.md", "b/sub/2.md"]);
    let seen = watched.until("both", |seen| seen.changed.is_superset(&expected));
    assert_eq!((seen.changed, seen.removed), (expected, keys(&["a", "b"])));
    for key in ["a/4.md", "b/5.md", "b/sub/6.md"] {
        write(watched.path(), key, "x");
        watched.until_changed(key);
    }
}

#[test]
fn i16_a_folder_that_is_removed_and_made_again_at_once_is_watched() {
    let mut watched = watched_slowly(&["out/a.md", "out/sub/b.md"]);
    fs::remove_dir_all(watched.path().join("out")).unwrap();
    write(watched.path(), "out/sub/c.md", "x");
    let seen = watched.until_changed("out/sub/c.md");
    assert_eq!(seen.changed, keys(&["out/sub/c.md"]));
    assert!(seen.removed.contains("out"), "{seen:?}");
    for key in ["out/d.md", "out/sub/e.md"] {
        write(watched.path(), key, "x");
        watched.until_changed(key);
    }
}

#[test]
fn i16_a_file_in_the_place_of_a_folder_and_the_other_way_round() {
    let mut watched = watched_slowly(&["folder/a.md", "file"]);
    fs::remove_dir_all(watched.path().join("folder")).unwrap();
    write(watched.path(), "folder", "a file");
    fs::remove_file(watched.path().join("file")).unwrap();
    write(watched.path(), "file/b.md", "x");
    let seen = watched.until("both", |seen| {
        seen.changed.is_superset(&keys(&["folder", "file/b.md"]))
    });
    assert_eq!(seen.changed, keys(&["folder", "file/b.md"]));
    assert!(
        seen.removed.is_superset(&keys(&["folder", "file"])),
        "{seen:?}"
    );
    write(watched.path(), "file/c.md", "x");
    watched.until_changed("file/c.md");
}

#[test]
fn i16_a_root_that_another_folder_takes_the_place_of_is_watched() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("root");
    write(&path, "a.md", "x");
    write(parent.path(), "root.new/sub/b.md", "x");
    let root = RootDirectory::open(&path).unwrap();
    let watch = DirectoryWatch::start(&root, options()).unwrap();
    let mut watched = Watched {
        folder: parent,
        watch,
        seen: ChangeBatch::default(),
    };
    exchange(&watched.path().join("root.new"), &path);
    watched.until_rescan(RescanReason::RootReplaced);
    write(&path, "sub/c.md", "x");
    watched.until_changed("sub/c.md");
    write(&path, "d.md", "x");
    watched.until_changed("d.md");
}
