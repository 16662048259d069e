//! Mirrors do not grow for ever. Real git throughout.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use forge_core::{CommitSha, ObjectFormats};
use git_engine::{Git, Mirrors, Remote, Transports};
use tempfile::TempDir;

fn git(folder: &Path, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git is installed");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// One more commit of `main`, with enough new objects for a pack of its own.
fn grow(upstream: &Path, round: usize) -> CommitSha {
    let mut text = String::from("commit refs/heads/main\n");
    let message = format!("round {round}");
    let _ = write!(
        text,
        "committer t <t@example.org> {} +0000\ndata {}\n{message}\n",
        1_700_000_000 + round,
        message.len()
    );
    if round > 0 {
        text += "from refs/heads/main^0\n";
    }
    for file in 0..110 {
        let body = format!("{round} {file}");
        let _ = write!(
            text,
            "M 100644 inline {file}.txt\ndata {}\n{body}\n",
            body.len()
        );
    }
    git(upstream, &["fast-import", "--quiet"], &text);
    let id = git(upstream, &["rev-parse", "refs/heads/main"], "");
    CommitSha::parse(&id, ObjectFormats::Sha1).unwrap()
}

fn packs(folder: &Path) -> usize {
    let files = std::fs::read_dir(folder.join("objects/pack")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".pack")).count()
}

#[test]
fn t3_a_mirror_is_tidied_and_keeps_what_is_named() {
    let (upstream, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    git(upstream.path(), &["init", "--quiet", "--bare", "."], "");
    let files = Transports {
        http: false,
        file: true,
    };
    let remote = Remote::parse(&format!("file://{}", upstream.path().display()), files).unwrap();
    let mirrors = Mirrors::new(
        Git::new("git", &std::env::var("PATH").unwrap()),
        root.path(),
    );
    let mirror = mirrors.open(&"acme/rocket".parse().unwrap()).unwrap();
    let now = SystemTime::now();
    assert!(!mirror.housekeep(now).unwrap(), "there is nothing to do");
    let commits: Vec<CommitSha> = (0..22)
        .map(|round| {
            let commit = grow(upstream.path(), round);
            mirror.fetch(&remote, &commit, None).unwrap();
            commit
        })
        .collect();
    assert!(packs(mirror.folder()) >= 20, "{}", packs(mirror.folder()));
    // What a repository's configuration could make git run is not run.
    let trap = root.path().join("trapped");
    let config = mirror.folder().join("config");
    let mut text = std::fs::read_to_string(&config).unwrap();
    text += &format!("[core]\n\tfsmonitor = touch {}\n", trap.display());
    std::fs::write(&config, text).unwrap();
    assert!(mirror.housekeep(now).unwrap());
    assert!(packs(mirror.folder()) <= 2, "{}", packs(mirror.folder()));
    assert!(!trap.exists());
    for commit in &commits {
        assert!(mirror.has_commit(commit).unwrap(), "{commit} is named");
    }
    for round in 22..44 {
        mirror
            .fetch(&remote, &grow(upstream.path(), round), None)
            .unwrap();
    }
    let now = SystemTime::now();
    assert!(!mirror.housekeep(now).unwrap(), "at most once a day");
    let tomorrow = now + std::time::Duration::from_secs(25 * 3600);
    assert!(mirror.housekeep(tomorrow).unwrap());
}
