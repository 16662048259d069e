//! Repositories of others, read with real git.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use git_engine::{
    BlobLookup, Git, GitError, LocalRepository, Objects, RepositoryError, TrackedFiles,
    TreeEntryKind,
};
use tempfile::TempDir;

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn git() -> Git {
    Git::new("git", &std::env::var("PATH").unwrap())
}

fn commit(folder: &Path) -> String {
    run(folder, &["add", "--all"]);
    run(folder, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    run(folder, &["rev-parse", "HEAD"])
}

fn repository() -> TempDir {
    let folder = TempDir::new().unwrap();
    run(folder.path(), &["init", "--quiet", "-b", "main", "."]);
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/a b.txt"), "one\n").unwrap();
    std::os::unix::fs::symlink("sub", folder.path().join("link")).unwrap();
    commit(folder.path());
    folder
}

#[test]
fn names_mean_commits_and_other_things_nothing() {
    let folder = repository();
    let first = run(folder.path(), &["rev-parse", "HEAD"]);
    run(folder.path(), &["tag", "-a", "v1", "-m", "one"]);
    let second = commit(folder.path());
    let found = LocalRepository::open(&git(), folder.path()).unwrap();
    let resolve = |name: &str| {
        found
            .resolve(name)
            .unwrap()
            .map(|id| id.as_str().to_owned())
    };
    for name in ["main", "HEAD", "refs/heads/main", &second, &second[..10]] {
        assert_eq!(resolve(name).as_ref(), Some(&second), "{name}");
    }
    for name in ["v1", "HEAD~1", "main^", &first] {
        assert_eq!(resolve(name).as_ref(), Some(&first), "{name}");
    }
    for name in ["mian", "", "--all", "HEAD:sub/a b.txt", "HEAD~9"] {
        assert_eq!(resolve(name), None, "{name}");
    }
    let main = found.resolve("main").unwrap().unwrap();
    assert!(found.committed_at(&main).unwrap() > 1_600_000_000);
}

#[test]
fn only_the_folder_itself_is_looked_at() {
    let folder = repository();
    let below = LocalRepository::open(&git(), &folder.path().join("sub"));
    assert!(matches!(below, Err(RepositoryError::NoRepository(_))));
    let missing = LocalRepository::open(&git(), &folder.path().join("none"));
    assert!(matches!(missing, Err(RepositoryError::Missing(_))));
    let inside = LocalRepository::open(&git(), &folder.path().join(".git"));
    assert!(inside.is_ok(), "a repository without its work tree");
}

#[test]
fn trees_and_what_differs_are_listed() {
    let folder = repository();
    let found = LocalRepository::open(&git(), folder.path()).unwrap();
    let before = found.resolve("main").unwrap().unwrap();
    let items: Vec<_> = found.tree(&before).unwrap().map(Result::unwrap).collect();
    let listed: Vec<_> = items
        .iter()
        .map(|one| (one.path.to_str().unwrap(), one.kind, one.size))
        .collect();
    let expected = [
        ("link", TreeEntryKind::Link, 3),
        ("sub/a b.txt", TreeEntryKind::File, 4),
    ];
    assert_eq!(listed, expected);
    std::fs::remove_file(folder.path().join("link")).unwrap();
    std::fs::write(folder.path().join("new\n.txt"), "two\n").unwrap();
    commit(folder.path());
    let after = found.resolve("main").unwrap().unwrap();
    let changes = found.changes(&before, &after).unwrap();
    let changes: Vec<_> = changes
        .map(|one| one.unwrap())
        .map(|one| (one.path.to_str().unwrap().to_owned(), one.kind))
        .collect();
    let expected = [
        ("link".to_owned(), None),
        ("new\n.txt".to_owned(), Some(TreeEntryKind::File)),
    ];
    assert_eq!(changes, expected);
    // A commit that is not there: an error, not an empty difference.
    let gone = "0123456789012345678901234567890123456789".parse().unwrap();
    let changes: Vec<_> = found.changes(&gone, &after).unwrap().collect();
    assert!(matches!(changes[..], [Err(_)]), "{changes:?}");
    assert!(found.tree(&gone).unwrap().any(|item| item.is_err()));
}

#[test]
fn i16_a_file_with_a_line_end_in_its_name_is_read() {
    let folder = repository();
    let objects = Objects::new(LocalRepository::open(&git(), folder.path()).unwrap());
    for (name, text) in [("new\n.txt", "two\n"), ("a\nmain:link", "three\n")] {
        std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
        commit(folder.path());
        let name = format!("main:{name}");
        let found = objects.blob(name.as_bytes(), 100).unwrap();
        let BlobLookup::Blob(found) = found else {
            panic!("it is there: {found:?}");
        };
        assert_eq!(found.bytes, text.as_bytes());
        let small = objects.blob(name.as_bytes(), 3).unwrap();
        assert!(matches!(small, BlobLookup::TooLarge(_)));
    }
    for name in ["--all\nx", "main:none\nx", "\n"] {
        let found = objects.blob(name.as_bytes(), 100).unwrap();
        assert_eq!(found, BlobLookup::Nothing, "{name:?}");
    }
}

/// Takes so many bytes, and notes how many come at once.
struct Counted {
    room: usize,
    most: usize,
    all: Vec<u8>,
}

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.all.len() + bytes.len() > self.room {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.most = self.most.max(bytes.len());
        self.all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn i16_a_large_file_is_copied_as_it_comes() {
    let folder = repository();
    let text: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
    std::fs::write(folder.path().join("large.txt"), &text).unwrap();
    commit(folder.path());
    let objects = Objects::new(LocalRepository::open(&git(), folder.path()).unwrap());
    let copied = |name: &str, limit, room| {
        let (most, all) = (0, Vec::new());
        let mut into = Counted { room, most, all };
        let found = objects.copy(name.as_bytes(), limit, &mut into);
        (found, into)
    };
    let (found, into) = copied("main:large.txt", u64::MAX, usize::MAX);
    let BlobLookup::Blob(found) = found.unwrap() else {
        panic!("it is there");
    };
    assert!(into.all == text.as_bytes(), "{} bytes", into.all.len());
    assert!(into.most <= 64 << 10, "{} bytes at once", into.most);
    let BlobLookup::Blob(whole) = objects.blob(b"main:large.txt", u64::MAX).unwrap() else {
        panic!("it is there");
    };
    assert!(found.id == whole.id && found.bytes.is_empty() && whole.bytes == into.all);
    // One that cannot be written to spoils no later answer.
    let (found, _) = copied("main:large.txt", u64::MAX, 100_000);
    assert!(matches!(found, Err(GitError::Io { .. })), "{found:?}");
    for (name, limit) in [
        ("main:large.txt", 10),
        ("main:sub", 1_000),
        ("main:none", 10),
    ] {
        let (found, into) = copied(name, limit, usize::MAX);
        assert!(!matches!(found.unwrap(), BlobLookup::Blob(_)), "{name}");
        assert!(into.all.is_empty(), "{name}");
    }
}

#[test]
fn objects_are_read_one_after_the_other() {
    let folder = repository();
    let objects = Objects::new(LocalRepository::open(&git(), folder.path()).unwrap());
    let blob = |name: &str, limit| objects.blob(name.as_bytes(), limit).unwrap();
    let BlobLookup::Blob(one) = blob("main:sub/a b.txt", 100) else {
        panic!("it is there");
    };
    let id = run(folder.path(), &["rev-parse", "main:sub/a b.txt"]);
    assert_eq!((one.bytes.as_slice(), &one.id), (b"one\n".as_slice(), &id));
    for _ in 0..3 {
        assert_eq!(blob("main:sub/a b.txt", 3), BlobLookup::TooLarge(4));
        for name in [
            "main:none",
            "main:sub",
            "none:x",
            "",
            "main:sub/a b.txt\nmain:link",
        ] {
            assert_eq!(blob(name, 100), BlobLookup::Nothing, "{name}");
        }
        assert!(matches!(blob(&id, 4), BlobLookup::Blob(_)));
    }
    // What comes later, and is packed then, is found by a process that runs already.
    std::fs::write(folder.path().join("later.txt"), "three\n").unwrap();
    commit(folder.path());
    run(folder.path(), &["gc", "--quiet", "--prune=now"]);
    assert!(matches!(blob("main:later.txt", 100), BlobLookup::Blob(_)));
    objects.rest(Duration::ZERO);
    assert!(matches!(blob("main:later.txt", 100), BlobLookup::Blob(_)));
}

#[test]
fn a_stamp_differs_once_a_name_has_moved() {
    let folder = repository();
    let found = LocalRepository::open(&git(), folder.path()).unwrap();
    let before = found.stamp("main");
    assert_eq!(before, found.stamp("main"));
    std::fs::write(folder.path().join("more.txt"), "").unwrap();
    run(folder.path(), &["add", "--all"]);
    assert_eq!(before, found.stamp("main"), "nothing is committed");
    commit(folder.path());
    assert_ne!(before, found.stamp("main"));
    let before = found.stamp("HEAD");
    commit(folder.path());
    assert_ne!(before, found.stamp("HEAD"), "through the branch");
    let before = found.stamp("main");
    run(folder.path(), &["pack-refs", "--all"]);
    assert_ne!(before, found.stamp("main"));
}

#[test]
fn nothing_that_the_repository_names_is_run() {
    let folder = repository();
    let trap = folder.path().join("trap");
    let command = format!("touch {}", trap.display());
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "diff.external",
        "filter.x.smudge",
        "filter.x.clean",
        "diff.x.textconv",
        "core.alternateRefsCommand",
    ] {
        run(folder.path(), &["config", key, &command]);
    }
    std::fs::write(
        folder.path().join(".git/info/attributes"),
        "* filter=x diff=x\n",
    )
    .unwrap();
    let found = LocalRepository::open(&git(), folder.path()).unwrap();
    let main = found.resolve("main").unwrap().unwrap();
    assert_eq!(found.tree(&main).unwrap().count(), 2);
    assert_eq!(found.changes(&main, &main).unwrap().count(), 0);
    assert!(found.committed_at(&main).is_ok());
    let objects = Objects::new(found);
    let blob = objects.blob(b"main:sub/a b.txt", 100).unwrap();
    assert!(matches!(blob, BlobLookup::Blob(_)));
    assert!(!trap.exists());
}

#[test]
fn i16_the_index_says_what_is_tracked_in_all_its_forms() {
    let tracked = |folder: &Path| {
        let mut paths = Vec::new();
        let files = TrackedFiles::load(folder).expect("a work tree");
        files
            .visit_all(|path| paths.push(path.display().to_string()))
            .unwrap();
        paths.sort();
        paths.dedup();
        paths
    };
    let folder = repository();
    let expected = [".github/ci.yml", "sub/a b.txt", "sub/a c.txt"];
    for path in expected {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    commit(folder.path());
    std::fs::write(folder.path().join("other"), "x").unwrap();
    assert_eq!(tracked(folder.path()), expected);
    for version in ["4", "3", "2"] {
        run(folder.path(), &["update-index", "--index-version", version]);
        assert_eq!(tracked(folder.path()), expected, "version {version}");
    }
    run(folder.path(), &["update-index", "--split-index"]);
    std::fs::write(folder.path().join("more"), "x").unwrap();
    run(folder.path(), &["add", "more"]);
    assert_eq!(tracked(folder.path()).len(), 4);
    run(folder.path(), &["update-index", "--no-split-index"]);
    // A linked work tree has a file that leads to its folder.
    let linked = TempDir::new().unwrap();
    let path = linked.path().join("tree");
    let name = path.to_str().unwrap();
    run(folder.path(), &["worktree", "add", "--quiet", name]);
    assert_eq!(tracked(&path), expected);
    assert!(TrackedFiles::load(linked.path()).is_none());
    let sha256 = TempDir::new().unwrap();
    run(
        sha256.path(),
        &["init", "--quiet", "--object-format=sha256", "."],
    );
    std::fs::write(sha256.path().join(".one"), "x").unwrap();
    run(sha256.path(), &["add", "--all"]);
    assert_eq!(tracked(sha256.path()), [".one"]);
}
