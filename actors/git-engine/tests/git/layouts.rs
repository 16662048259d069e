//! Commits that names mean, laid out without history, and the digest of what lies there.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use forge_core::{CommitSha, ObjectFormats};
use git_engine::{Git, Mirrors, Remote, Transports, tree_digest};
use tempfile::TempDir;

const WITHIN: Duration = Duration::from_secs(60);

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn upstream() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    run(at, &["init", "--quiet", "--initial-branch=main", "."]);
    std::fs::create_dir(at.join("dist")).unwrap();
    std::fs::write(at.join("action.yml"), "name: one\n").unwrap();
    std::fs::write(at.join("dist/main.js"), "console.log(1)\n").unwrap();
    std::fs::write(at.join("run.sh"), "#!/bin/sh\n").unwrap();
    let program = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(at.join("run.sh"), program).unwrap();
    std::os::unix::fs::symlink("dist/main.js", at.join("link")).unwrap();
    // What `git archive` would leave out is a part of the action.
    std::fs::write(at.join(".gitattributes"), "dist export-ignore\n").unwrap();
    run(at, &["add", "--all"]);
    run(at, &["commit", "--quiet", "-m", "one"]);
    folder
}

fn remote(folder: &Path) -> Remote {
    let files = Transports {
        http: false,
        file: true,
    };
    Remote::parse(&format!("file://{}", folder.display()), files).unwrap()
}

fn sha(text: &str) -> CommitSha {
    CommitSha::parse(text, ObjectFormats::Sha1).unwrap()
}

#[test]
fn names_mean_tags_then_branches_and_annotated_tags_their_commits() {
    let upstream = upstream();
    let at = upstream.path();
    let first = sha(&run(at, &["rev-parse", "HEAD"]));
    run(at, &["tag", "light"]);
    run(at, &["tag", "-a", "-m", "v1", "v1"]);
    run(at, &["branch", "v1"]);
    run(at, &["branch", "releases/v2"]);
    run(at, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
    run(at, &["branch", "--force", "v1"]);
    let second = sha(&run(at, &["rev-parse", "HEAD"]));
    let root = TempDir::new().unwrap();
    let git = Git::new("git", &std::env::var("PATH").unwrap());
    let mirror = Mirrors::new(git, root.path());
    let mirror = mirror.open(&"acme/tool".parse().unwrap()).unwrap();
    let remote = remote(at);
    let hex = first.as_str().to_owned();
    for (name, commit, reference) in [
        ("light", Some(&first), Some("refs/tags/light")),
        ("v1", Some(&first), Some("refs/tags/v1")),
        ("releases/v2", Some(&first), Some("refs/heads/releases/v2")),
        ("main", Some(&second), Some("refs/heads/main")),
        (hex.as_str(), Some(&first), None),
        ("v*", None, None),
        ("absent", None, None),
    ] {
        let found = mirror.remote_commit(&remote, name, WITHIN).unwrap();
        let shown = found.as_ref().map(|(id, from)| {
            let from = from.as_ref().map(ToString::to_string);
            (id.clone(), from)
        });
        let expected = commit.map(|id| (id.clone(), reference.map(str::to_owned)));
        assert_eq!(shown, expected, "{name}");
    }
}

#[test]
fn files_are_laid_out_without_history_and_any_change_to_them_is_another_digest() {
    let upstream = upstream();
    let commit = sha(&run(upstream.path(), &["rev-parse", "HEAD"]));
    let root = TempDir::new().unwrap();
    let git = Git::new("git", &std::env::var("PATH").unwrap());
    let mirror = Mirrors::new(git, root.path().join("mirrors"));
    let mirror = mirror.open(&"acme/tool".parse().unwrap()).unwrap();
    run(upstream.path(), &["rm", "--quiet", "run.sh"]);
    run(upstream.path(), &["commit", "--quiet", "-m", "two"]);
    let second = sha(&run(upstream.path(), &["rev-parse", "HEAD"]));
    let remote = remote(upstream.path());
    mirror.fetch_files(&remote, &second, None).unwrap();
    assert!(
        !mirror.has_commit(&commit).unwrap(),
        "what came before is not fetched"
    );
    mirror.fetch_files(&remote, &commit, None).unwrap();
    let lay_out = |name: &str| {
        let folder = root.path().join(name);
        mirror.extract(&commit, &folder).unwrap();
        folder
    };
    let first = lay_out("first");
    assert!(!first.join(".git").exists() && !root.path().join("first.index").exists());
    assert!(first.join("dist/main.js").is_file());
    let known = tree_digest(&first).unwrap();
    assert!(known.as_str().starts_with("sha256:") && known.as_str().len() == 71);
    assert_eq!(tree_digest(&lay_out("second")).unwrap(), known);

    type Change = fn(&Path) -> std::io::Result<()>;
    let changes: [(&str, Change); 6] = [
        ("bytes", |at| {
            std::fs::write(at.join("dist/main.js"), "console.log(2)\n")
        }),
        ("mode", |at| {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(at.join("action.yml"), mode)
        }),
        ("one more", |at| std::fs::write(at.join("dist/more.js"), "")),
        ("one less", |at| std::fs::remove_file(at.join("run.sh"))),
        ("moved", |at| {
            std::fs::rename(at.join("run.sh"), at.join("dist/run.sh"))
        }),
        ("link", |at| {
            std::fs::remove_file(at.join("link"))?;
            std::os::unix::fs::symlink("dist/other.js", at.join("link"))
        }),
    ];
    for (name, change) in changes {
        let folder = lay_out(name);
        change(&folder).unwrap();
        assert_ne!(tree_digest(&folder).unwrap(), known, "{name}");
    }
    let absent = sha("0123456789012345678901234567890123456789");
    assert!(mirror.extract(&absent, &root.path().join("none")).is_err());
}
