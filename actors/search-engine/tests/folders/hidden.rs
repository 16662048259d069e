//! Hidden files, and what git tracks of them.

use search_core::role::HiddenFiles;

use super::*;

/// A work tree in which git tracks the files that are `tracked`.
fn work_tree(files: &[(&str, &str)], tracked: &[&str]) -> TempDir {
    let folder = folder(files);
    git(folder.path(), &["init", "--quiet"]);
    let add = [["add", "--force", "--"].as_slice(), tracked].concat();
    git(folder.path(), &add);
    folder
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = std::process::Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
}

#[test]
fn i16_what_git_tracks_is_seen_though_hidden_and_secrets_are_not() {
    let files = [
        ("a.md", "x"),
        (".github/workflows/ci.yml", "x"),
        (".github/notes.txt", "x"),
        (".gitlab-ci.yml", "x"),
        (".cargo/config.toml", "x"),
        (".env", "x"),
        (".env.example", "x"),
        (".ssh/config", "x"),
        (".deploy/server.pem", "x"),
        (".own", "x"),
        (".gone", "x"),
        (".draft/b.md", "x"),
        (".ignore", ".draft\n"),
    ];
    let tracked = [
        "a.md",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".cargo/config.toml",
        ".env",
        ".env.example",
        ".deploy/server.pem",
        ".draft/b.md",
        ".gone",
    ];
    let folder = work_tree(&files, &tracked);
    fs::remove_file(folder.path().join(".gone")).unwrap();
    let seen = [
        "a.md",
        ".cargo/config.toml",
        ".env.example",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
    ];
    assert_eq!(keys(&folder, ""), seen);
    assert_eq!(
        keys(&folder, "!.github/"),
        [seen[0], seen[1], seen[2], seen[4]]
    );
    let told = |hidden: HiddenFiles| {
        let root = root(&folder).with_hidden(hidden);
        let walked = walk_all(&root, &options(""));
        let told = walked.skipped.into_iter();
        let mut told: Vec<_> = told.map(|one| (one.key, one.reason.as_str())).collect();
        told.sort();
        let told: Vec<String> = told
            .into_iter()
            .map(|(key, why)| format!("{key} {why}"))
            .collect();
        (walked.files.len(), told.join(", "))
    };
    let expected = ".deploy/server.pem secret, .env secret, .own hidden, .ssh secret";
    assert_eq!(told(HiddenFiles::Tracked), (5, expected.to_owned()));
    // All that is hidden, but for `.git`, for secrets, and for what is not to be searched.
    let expected = ".deploy/server.pem secret, .env secret, .ssh secret";
    assert_eq!(told(HiddenFiles::All), (8, expected.to_owned()));
    assert_eq!(told(HiddenFiles::None), (1, String::new()));
}

#[test]
fn i16_hidden_files_outside_of_a_work_tree_are_counted() {
    let folder = folder(&[("a.md", "x"), (".b", "x"), (".c/d.md", "x"), ("e/.f", "x")]);
    assert_eq!(keys(&folder, ""), ["a.md"]);
    let told = [".b", ".c", "e/.f"].map(|key| (key.to_owned(), SkipReason::Hidden));
    assert_eq!(skipped(&folder), told);
    // A repository somewhere below knows what is its own.
    git(&folder.path().join("e"), &["init", "--quiet"]);
    git(&folder.path().join("e"), &["add", "."]);
    assert_eq!(keys(&folder, ""), ["a.md", "e/.f"]);
    // So does one above.
    let part = RootDirectory::open(&folder.path().join("e")).unwrap();
    fs::create_dir(folder.path().join("e/.g")).unwrap();
    fs::write(folder.path().join("e/.g/h"), "x").unwrap();
    git(&folder.path().join("e"), &["add", "."]);
    let below = RootDirectory::open(&folder.path().join("e/.g")).unwrap();
    let seen = |root: &RootDirectory| walk_all(root, &options("")).files;
    assert_eq!(seen(&part).len(), 2);
    assert_eq!(seen(&below)[0].key, "h");
}

#[test]
fn i16_what_git_tracks_is_not_ignored() {
    let files = [
        (".gitignore", "*\n"),
        ("notes.md", "x"),
        ("a/b.md", "x"),
        ("a/c.md", "x"),
    ];
    let folder = work_tree(&files, &["notes.md", "a/b.md"]);
    assert_eq!(keys(&folder, ""), ["a/b.md", "notes.md"]);
    let told = |key: &str, reason| (key.to_owned(), reason);
    // `.gitignore` is ignored itself; all else that lies at the top is tracked, or has what is.
    assert_eq!(skipped(&folder), []);
    fs::write(folder.path().join("d.md"), "x").unwrap();
    assert_eq!(skipped(&folder), [told("", SkipReason::HiddenByGitignore)]);
}
