//! Walking and reading real folders: everything a folder can hold, and nothing that hangs.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod hidden;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use search_core::role::FileFilter;
use search_engine::extract::is_binary;
use search_engine::sync::walk_all;
use search_engine::walk::{RootDirectory, RootError, SkipReason, WalkOptions};
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn root(folder: &TempDir) -> RootDirectory {
    RootDirectory::open(folder.path()).unwrap()
}

fn options(glob: &str) -> WalkOptions {
    let filter = if glob.is_empty() {
        FileFilter::default()
    } else {
        FileFilter::parse(glob).unwrap()
    };
    WalkOptions::new(filter)
}

fn keys(folder: &TempDir, glob: &str) -> Vec<String> {
    let walked = walk_all(&root(folder), &options(glob));
    walked.files.into_iter().map(|file| file.key).collect()
}

fn skipped(folder: &TempDir) -> Vec<(String, SkipReason)> {
    let walked = walk_all(&root(folder), &options(""));
    let mut skipped: Vec<_> = walked
        .skipped
        .into_iter()
        .map(|path| (path.key, path.reason))
        .collect();
    skipped.sort();
    skipped
}

/// Whether this process is bound by permissions at all: the superuser is not.
fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn ignore_files_count_at_every_level_and_hidden_files_never() {
    let folder = folder(&[
        (".gitignore", "*.log\n/build/\n!keep.log\n"),
        ("a.md", "x"),
        ("keep.log", "x"),
        ("b.log", "x"),
        ("build/out.md", "x"),
        ("sub/build/in.md", "x"),
        ("sub/.gitignore", "secret*\n"),
        ("sub/secret.md", "x"),
        ("sub/open.md", "x"),
        (".hidden/x.md", "x"),
        (".git/config", "x"),
        (".ignore", "draft.md\n"),
        ("draft.md", "x"),
    ]);
    assert_eq!(
        keys(&folder, ""),
        ["a.md", "keep.log", "sub/build/in.md", "sub/open.md"]
    );
}

#[test]
fn rules_above_the_root_count_in_a_work_tree_only() {
    let files = [
        (".gitignore", "*.tmp\n"),
        ("part/a.tmp", "x"),
        ("part/b.md", "x"),
    ];
    let plain = folder(&files);
    let part = |folder: &TempDir| {
        let root = RootDirectory::open(&folder.path().join("part")).unwrap();
        walk_all(&root, &options(""))
            .files
            .into_iter()
            .map(|file| file.key)
            .collect::<Vec<_>>()
    };
    assert_eq!(part(&plain), ["a.tmp", "b.md"]);
    fs::create_dir(plain.path().join(".git")).unwrap();
    assert_eq!(part(&plain), ["b.md"]);
}

#[test]
fn rules_that_leave_nothing_of_an_unpacked_archive_do_not_count() {
    // As in Debian's source packages.
    let folder = folder(&[
        (".gitignore", "*.o\n/*\n!/debian/\n"),
        ("a.c", "x"),
        ("mm/b.c", "x"),
    ]);
    assert_eq!(keys(&folder, ""), ["a.c", "mm/b.c"]);
    // In a work tree they are somebody's intention.
    fs::create_dir(folder.path().join(".git")).unwrap();
    assert_eq!(keys(&folder, ""), [] as [&str; 0]);
}

#[test]
fn i16_a_folder_that_its_own_rules_hide_is_told() {
    let folder = folder(&[
        ("a.md", "x"),
        ("unpacked/.gitignore", "*.o\n/*\n!/debian/\n"),
        ("unpacked/a.c", "x"),
        ("unpacked/mm/b.c", "x"),
        ("venv/.gitignore", "*\n"),
        ("venv/lib/c.py", "x"),
        ("part/.gitignore", "*.log\n"),
        ("part/d.log", "x"),
        ("part/d.md", "x"),
        ("bare/.gitignore", "*\n"),
    ]);
    assert_eq!(keys(&folder, ""), ["a.md", "part/d.md"]);
    let told = ["unpacked", "venv"].map(|key| (key.to_owned(), SkipReason::HiddenByGitignore));
    assert_eq!(skipped(&folder), told);
    // Where `.gitignore` files hide nothing, there is nothing to tell.
    fs::write(folder.path().join(".gitignore"), "/*\n").unwrap();
    assert_eq!(keys(&folder, "").len(), 6);
    assert_eq!(skipped(&folder), []);
}

/// Repositories of settings are made so: everything is ignored, and some of it added by force.
#[test]
fn i16_a_work_tree_that_ignores_all_of_itself_is_told_of() {
    let folder = folder(&[(".gitignore", "*\n"), ("notes.md", "x"), ("a/b.md", "x")]);
    fs::create_dir(folder.path().join(".git")).unwrap();
    assert!(keys(&folder, "").is_empty());
    let told = (String::new(), SkipReason::HiddenByGitignore);
    assert_eq!(skipped(&folder), [told]);
}

#[test]
fn a_glob_selects_and_counts_what_it_keeps_out() {
    let folder = folder(&[
        ("a.md", "x"),
        ("b.txt", "x"),
        ("old/c.md", "x"),
        ("d.rs", "x"),
    ]);
    assert_eq!(keys(&folder, "*.md,*.txt,!old/**"), ["a.md", "b.txt"]);
    let walked = walk_all(&root(&folder), &options("*.md"));
    assert_eq!((walked.files.len(), walked.filtered), (2, 2));
}

#[test]
fn the_order_is_always_the_same() {
    let folder = folder(&[
        ("b/2", "x"),
        ("a", "x"),
        ("b/10", "x"),
        ("c", "x"),
        ("b/1", "x"),
    ]);
    assert_eq!(keys(&folder, ""), ["a", "b/1", "b/10", "b/2", "c"]);
}

#[test]
fn facts_are_those_of_the_file_system() {
    let folder = folder(&[("a.md", "four")]);
    let walked = walk_all(&root(&folder), &options(""));
    assert_eq!(walked.files[0].size, 4);
    let modified = fs::metadata(folder.path().join("a.md"))
        .unwrap()
        .modified()
        .unwrap();
    let expected = modified
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    assert_eq!(u128::try_from(walked.files[0].mtime_ns).unwrap(), expected);
    assert_eq!(root(&folder).facts("a.md").unwrap(), walked.files[0]);
}

#[test]
fn s07_links_lead_nowhere() {
    let outside = folder(&[("secret.md", "x")]);
    let folder = folder(&[("real.md", "x"), ("sub/in.md", "x")]);
    let path = folder.path();
    symlink(outside.path(), path.join("out")).unwrap();
    symlink(outside.path().join("secret.md"), path.join("out.md")).unwrap();
    symlink("../..", path.join("sub/above")).unwrap();
    symlink("..", path.join("sub/loop")).unwrap();
    symlink("self", path.join("self")).unwrap();
    symlink("real.md", path.join("inside.md")).unwrap();
    symlink("nothing", path.join("broken")).unwrap();
    symlink("/dev/zero", path.join("zero")).unwrap();
    symlink("/proc", path.join("proc")).unwrap();
    assert_eq!(keys(&folder, ""), ["real.md", "sub/in.md"]);
    let expected = [
        ("broken", SkipReason::SymlinkBroken),
        ("inside.md", SkipReason::Symlink),
        ("out", SkipReason::SymlinkOutOfRoot),
        ("out.md", SkipReason::SymlinkOutOfRoot),
        ("proc", SkipReason::SymlinkOutOfRoot),
        ("self", SkipReason::SymlinkLoop),
        ("sub/above", SkipReason::SymlinkOutOfRoot),
        ("sub/loop", SkipReason::SymlinkLoop),
        ("zero", SkipReason::SymlinkOutOfRoot),
    ];
    assert_eq!(
        skipped(&folder),
        expected.map(|(key, reason)| (key.to_owned(), reason))
    );
    for key in ["out/secret.md", "out.md", "sub/above/x", "self", "zero"] {
        assert!(root(&folder).read(key, 100, |_| false).is_err(), "{key}");
    }
}

#[test]
fn s07_a_folder_replaced_by_a_link_after_the_walk_is_not_followed() {
    let outside = folder(&[("a.md", "secret")]);
    let folder = folder(&[("sub/a.md", "public")]);
    let root = root(&folder);
    assert_eq!(
        root.read("sub/a.md", 100, |_| false).unwrap().bytes,
        b"public"
    );
    fs::remove_dir_all(folder.path().join("sub")).unwrap();
    symlink(outside.path(), folder.path().join("sub")).unwrap();
    assert_eq!(
        root.read("sub/a.md", 100, |_| false),
        Err(SkipReason::SymlinkOutOfRoot)
    );
}

#[test]
fn s07_a_fifo_a_socket_and_a_device_are_not_opened() {
    let folder = folder(&[("a.md", "x")]);
    let path = folder.path();
    let made = std::process::Command::new("mkfifo")
        .arg(path.join("fifo"))
        .status()
        .unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
    assert_eq!(keys(&folder, ""), ["a.md"]);
    let expected = ["fifo", "socket"].map(|key| (key.to_owned(), SkipReason::NotARegularFile));
    assert_eq!(skipped(&folder), expected);
    // Even when asked for by name: a reader of a FIFO would wait for a writer for ever.
    for key in ["fifo", "socket"] {
        assert_eq!(
            root(&folder).read(key, 100, |_| false),
            Err(SkipReason::NotARegularFile),
            "{key}"
        );
    }
}

#[test]
fn s07_a_sparse_file_of_100_gb_is_skipped_unread() {
    let folder = folder(&[("a.md", "x")]);
    let sparse = fs::File::create(folder.path().join("huge.txt")).unwrap();
    if sparse.set_len(100 << 30).is_err() {
        // The file system of the temporary folder has no sparse files of this size.
        sparse.set_len(64 << 20).unwrap();
    }
    assert_eq!(
        skipped(&folder),
        [("huge.txt".to_owned(), SkipReason::TooLarge)]
    );
    assert_eq!(
        root(&folder).read("huge.txt", 1000, |_| false),
        Err(SkipReason::TooLarge)
    );
}

#[test]
fn s07_pseudo_file_systems_are_no_sources() {
    for path in ["/proc", "/proc/self", "/sys"] {
        let error = RootDirectory::open(Path::new(path)).unwrap_err();
        assert!(
            matches!(error, RootError::PseudoFilesystem { .. }),
            "{error}"
        );
    }
}

#[test]
fn s07_endless_files_that_claim_to_be_empty_are_bounded() {
    // Files of /proc have size 0 and content.
    let dir = folder(&[("a.md", "x")]);
    let root = root(&dir);
    assert!(
        root.read("../../../proc/self/maps", 100, |_| false)
            .is_err()
    );
    assert!(root.read("/proc/self/maps", 100, |_| false).is_err());
}

#[test]
fn s07_names_that_are_not_utf8_can_be_opened_again() {
    let folder = folder(&[]);
    let names: [&[u8]; 4] = [
        b"caf\xe9.txt",
        b"new\nline.txt",
        b"100%25.txt",
        b"\x1b[31m.txt",
    ];
    for name in names {
        fs::write(folder.path().join(OsStr::from_bytes(name)), name).unwrap();
    }
    let keys = keys(&folder, "*.txt");
    assert_eq!(
        keys,
        [
            "%1B[31m.txt",
            "100%2525.txt",
            "caf%E9.txt",
            "new%0Aline.txt"
        ]
    );
    for key in keys {
        let read = root(&folder).read(&key, 100, |_| false).unwrap();
        assert!(names.contains(&read.bytes.as_slice()), "{key}");
    }
}

#[test]
fn s07_a_root_with_parent_components_is_refused_with_the_path_to_write() {
    let folder = folder(&[("sub/a.md", "x")]);
    let error = RootDirectory::open(&folder.path().join("sub/.."))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("contains `..`: write the path without it"),
        "{error}"
    );
    assert!(
        error.contains(folder.path().canonicalize().unwrap().to_str().unwrap()),
        "{error}"
    );
}

#[test]
fn a_root_that_cannot_be_used_says_what_to_do() {
    let folder = folder(&[("file.md", "x")]);
    let missing = RootDirectory::open(&folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, RootError::Missing { .. }));
    assert!(
        missing
            .to_string()
            .contains("create it, mount it or correct `location`")
    );
    let file = RootDirectory::open(&folder.path().join("file.md")).unwrap_err();
    assert!(
        file.to_string()
            .contains("is not a folder: set `location` to the folder it lies in")
    );
}

#[test]
fn an_unreadable_folder_or_file_is_reported_and_the_rest_is_found() {
    let folder = folder(&[("a.md", "x"), ("locked/b.md", "x"), ("shut.md", "x")]);
    let locked = folder.path().join("locked");
    let shut = folder.path().join("shut.md");
    for path in [&locked, &shut] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let (found, left_out) = (keys(&folder, ""), skipped(&folder));
    let read = root(&folder).read("shut.md", 100, |_| false);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    if is_superuser() {
        // Permissions do not bind the superuser: this run shows only that nothing fails.
        assert_eq!(found, ["a.md", "locked/b.md", "shut.md"]);
        return;
    }
    assert_eq!(found, ["a.md"]);
    let unreadable = |key: &str| (key.to_owned(), SkipReason::Unreadable);
    assert_eq!(left_out, [unreadable("locked"), unreadable("shut.md")]);
    assert_eq!(read, Err(SkipReason::Unreadable));
}

#[test]
fn reading_is_bounded_and_stops_at_binary_content() {
    let folder = folder(&[("text", "0123456789")]);
    fs::write(
        folder.path().join("binary"),
        [b"\x7fELF".as_slice(), &[0; 100_000]].concat(),
    )
    .unwrap();
    fs::write(folder.path().join("long"), "x".repeat(20_000)).unwrap();
    let root = root(&folder);
    assert_eq!(root.read("text", 10, is_binary).unwrap().bytes.len(), 10);
    assert_eq!(root.read("text", 9, is_binary), Err(SkipReason::TooLarge));
    assert_eq!(
        root.read("long", 20_000, is_binary).unwrap().bytes.len(),
        20_000
    );
    assert_eq!(
        root.read("binary", 1 << 20, is_binary),
        Err(SkipReason::Binary)
    );
    assert_eq!(root.read("gone", 9, is_binary), Err(SkipReason::Vanished));
    assert_eq!(
        root.read("text/below", 9, is_binary),
        Err(SkipReason::Vanished)
    );
    assert_eq!(root.facts("gone"), Err(SkipReason::Vanished));
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_again() {
    let folder = folder(&[("log", "first ")]);
    let path = folder.path().join("log");
    let attempts = std::cell::Cell::new(0);
    // The check of the content is a moment in the middle of a read.
    let grow = |_: &[u8]| {
        if attempts.replace(attempts.get() + 1) == 0 {
            fs::write(&path, "first second").unwrap();
        }
        false
    };
    let read = root(&folder).read("log", 100, grow).unwrap();
    assert_eq!(
        (read.bytes.as_slice(), read.size, attempts.get()),
        (&b"first second"[..], 12, 2)
    );
}

#[test]
fn a_file_that_never_rests_is_read_with_older_facts() {
    let folder = folder(&[("log", "")]);
    let path = folder.path().join("log");
    let count = std::cell::Cell::new(0_usize);
    let grow = |_: &[u8]| {
        count.set(count.get() + 1);
        fs::write(&path, "x".repeat(count.get())).unwrap();
        false
    };
    let read = root(&folder).read("log", 100, grow).unwrap();
    let now = root(&folder).facts("log").unwrap();
    assert!(count.get() < 10);
    // The next comparison sees a difference and reads again.
    assert_ne!((read.size, read.mtime_ns), (now.size, now.mtime_ns));
}
