//! What the orchestrator does for its mirror: it notices what others wrote, tidies it, and lays out
//! no bomb from it.

use std::fs;
use std::process::Command;

use crate::{Ground, Way, commit, git, purpose};

/// Where nothing keeps an agent from writing to the mirror, what it wrote there is found before the
/// next use.
#[test]
fn t4_a_mirror_that_somebody_else_wrote_to_is_made_anew() {
    let ground = Ground::new();
    let first = ground.create("run-1");
    let start = first.start.to_string();
    let inner = ground.path("data/mirrors/main.git");
    let evil = {
        git(&ground.path("."), &["clone", "-q", "checkout", "evil"]);
        let evil = ground.path("evil");
        git(&evil, &["config", "user.email", "a@example.org"]);
        git(&evil, &["config", "user.name", "A"]);
        commit(&evil, "evil")
    };
    let open = || {
        let project = "main".parse().unwrap();
        ground
            .worktrees
            .mirror(&project, &ground.path("checkout"))
            .unwrap()
    };
    let ways: [Way<'_>; 4] = [
        ("reference", &|inner| {
            fs::write(inner.join("refs/remotes/origin/main"), format!("{evil}\n")).unwrap();
        }),
        ("packed", &|inner| {
            let row = format!("{evil} refs/heads/orch/developer/run-9\n");
            fs::write(inner.join("packed-refs"), row).unwrap();
        }),
        ("alternates", &|inner| {
            let objects = ground.path("evil/.git/objects").display().to_string();
            fs::create_dir_all(inner.join("objects/info")).unwrap();
            fs::write(inner.join("objects/info/alternates"), objects + "\n").unwrap();
        }),
        ("hooks", &|inner| {
            fs::create_dir_all(inner.join("hooks")).unwrap();
        }),
    ];
    for (name, way) in ways {
        ground.fetch();
        way(&inner);
        let mirror = open();
        assert_eq!(
            mirror.resolve("refs/remotes/origin/main").unwrap(),
            None,
            "{name}"
        );
        assert!(
            !mirror.has_commit(&evil.parse().unwrap()).unwrap(),
            "{name}"
        );
        assert!(
            mirror
                .resolve("refs/heads/orch/developer/run-9")
                .unwrap()
                .is_none(),
            "{name}"
        );
        // A run that borrows its objects goes on.
        assert_eq!(
            git(&first.folder, &["rev-parse", "HEAD^{tree}"]).len(),
            40,
            "{name}"
        );
        assert_eq!(ground.fetch().to_string(), start, "{name}");
    }
    let second = ground.create("run-2");
    assert_eq!(second.start.to_string(), start);
    // What this program writes itself is no change.
    assert!(
        open()
            .resolve("refs/remotes/origin/main")
            .unwrap()
            .is_some()
    );
}

/// A commit that would lay out millions of files is refused before a file is made.
#[test]
fn t6_a_tree_bomb_is_no_agent_s_worktree() {
    let ground = Ground::new();
    let checkout = ground.path("checkout");
    let pipe = |line: &[&str], input: &str| -> String {
        use std::io::Write as _;
        let mut child = Command::new("git")
            .current_dir(&checkout)
            .args(line)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let blob = pipe(&["hash-object", "-w", "--stdin"], "x");
    let names = |kind: &str, id: &str| -> String {
        (0..12)
            .map(|at| format!("{kind} {id}\t{at:02}\n"))
            .collect()
    };
    let mut tree = pipe(&["mktree"], &names("100644 blob", &blob));
    for _ in 0..6 {
        tree = pipe(&["mktree"], &names("040000 tree", &tree));
    }
    let bomb = git(&checkout, &["commit-tree", "-m", "x", &tree]);
    git(&checkout, &["update-ref", "refs/heads/bomb", &bomb]);
    let made = ground
        .worktrees
        .create(&checkout, &purpose("run-1"), &bomb.parse().unwrap());
    let refused = made.expect_err("it is refused").to_string();
    assert!(refused.contains("too many entries"), "{refused}");
    assert!(!ground.path("worktrees/main/run-1").exists());
}

/// A mirror is tidied; clones that borrow from it go on, and so do references of runs.
#[test]
fn t3_the_orchestrator_s_mirror_is_tidied() {
    let ground = Ground::new();
    let first = ground.create("run-1");
    let checkout = ground.path("checkout");
    let project = "main".parse().unwrap();
    let now = std::time::SystemTime::now();
    let keep = || {
        ground
            .worktrees
            .housekeep(&project, &checkout, now)
            .unwrap()
    };
    assert!(!keep(), "there is nothing to do");
    let packs = || {
        let files = fs::read_dir(ground.path("data/mirrors/main.git/objects/pack")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".pack")).count()
    };
    for round in 0..21 {
        for file in 0..110 {
            fs::write(
                checkout.join(format!("{file}.md")),
                format!("{round} {file}\n"),
            )
            .unwrap();
        }
        git(&checkout, &["add", "."]);
        git(&checkout, &["commit", "-q", "-m", "more"]);
        git(&checkout, &["push", "-q", "origin", "HEAD:main"]);
        ground.fetch();
    }
    assert!(packs() >= 20, "{}", packs());
    assert!(keep());
    assert!(packs() <= 2, "{}", packs());
    assert!(!keep(), "at most once a day");
    let done = commit(&first.folder, "done");
    assert_eq!(ground.worktrees.settle(&first).unwrap().head.as_str(), done);
    ground.worktrees.remove(&first).unwrap();
    assert!(
        !ground
            .path("data/mirrors/main.git/refs/orch/runs/run-1")
            .exists()
    );
}
