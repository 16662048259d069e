//! Worktrees for real: git repositories, agents that work in them, and agents that work against
//! them.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use forge_core::CommitSha;
use git_engine::Git;
use orchestrator_core::worktree::KEPT_AFTER_CHANGE;
use orchestrator_engine::worktree::{
    GcOutcome, Worktree, WorktreeError, WorktreePurpose, WorktreeRun, Worktrees,
};
use tempfile::TempDir;

/// A project's checkout with two commits, and a place for worktrees.
struct Ground {
    folder: TempDir,
    worktrees: Worktrees,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let checkout = folder.path().join("checkout");
        fs::create_dir(&checkout).unwrap();
        for line in [
            "init -q -b main .",
            "config user.email a@example.org",
            "config user.name A",
            "commit -q --allow-empty -m first",
        ] {
            git(&checkout, line);
        }
        fs::write(checkout.join("file.txt"), "one\n").unwrap();
        git(&checkout, "add file.txt");
        git(&checkout, "commit -q -m second");
        let git = Git::new("git", "/usr/local/bin:/usr/bin:/bin");
        let worktrees = Worktrees::new(
            git,
            &folder.path().join("worktrees"),
            &folder.path().join("mirrors"),
        )
        .unwrap();
        Self { folder, worktrees }
    }

    fn checkout(&self) -> PathBuf {
        self.folder.path().join("checkout")
    }

    fn create(&self, run: &str) -> Worktree {
        let start = self.worktrees.tip(&self.checkout(), "main").unwrap();
        self.worktrees
            .create(&self.checkout(), &purpose(run), &start)
            .unwrap()
    }

    /// A file that must stay as it is.
    fn treasure(&self) -> PathBuf {
        let path = self.folder.path().join("treasure");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("gold"), "gold").unwrap();
        path
    }
}

fn purpose(run: &str) -> WorktreePurpose {
    WorktreePurpose {
        project: "main".parse().unwrap(),
        agent: "developer".parse().unwrap(),
        run: run.parse().unwrap(),
    }
}

/// What an agent or a person types.
fn git(folder: &Path, line: &str) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(line.split(' '))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn commit_work(folder: &Path, text: &str) -> String {
    fs::write(folder.join("work.txt"), text).unwrap();
    git(folder, "add work.txt");
    git(folder, "commit -q -m work");
    git(folder, "rev-parse HEAD")
}

#[test]
fn a_run_works_on_a_branch_of_its_own_and_its_commits_outlive_the_folder() {
    let ground = Ground::new();
    let before = git(&ground.checkout(), "rev-parse main");
    let worktree = ground.create("run-1");
    assert_eq!(
        git(&worktree.folder, "branch --show-current"),
        "orch/developer/run-1"
    );
    let done = commit_work(&worktree.folder, "done");
    let settled = ground.worktrees.settle(&worktree).unwrap();
    assert_eq!(
        (settled.head.as_str(), settled.branch.as_str()),
        (done.as_str(), "orch/developer/run-1")
    );
    assert!(settled.changed && !settled.rescued);
    ground.worktrees.remove(&worktree).unwrap();
    assert!(!worktree.folder.exists());
    assert_eq!(
        git(&ground.checkout(), "rev-parse orch/developer/run-1"),
        done
    );
    assert_eq!(
        git(&ground.checkout(), "rev-parse main"),
        before,
        "nothing happens to the checkout"
    );
    assert_eq!(git(&ground.checkout(), "status --porcelain"), "");
    assert_eq!(git(&ground.checkout(), "worktree list").lines().count(), 1);
}

#[test]
fn work_on_a_detached_head_or_a_deleted_branch_gets_a_branch() {
    let ground = Ground::new();
    let detached = ground.create("run-1");
    git(&detached.folder, "checkout -q --detach");
    let done = commit_work(&detached.folder, "detached");
    let settled = ground.worktrees.settle(&detached).unwrap();
    assert!(settled.rescued && settled.changed);
    assert_eq!(
        git(&ground.checkout(), &format!("rev-parse {}", settled.branch)),
        done
    );
    let deleted = ground.create("run-2");
    commit_work(&deleted.folder, "deleted");
    git(&deleted.folder, "checkout -q --detach");
    git(&deleted.folder, "branch -q -D orch/developer/run-2");
    let settled = ground.worktrees.settle(&deleted).unwrap();
    assert!(settled.rescued, "{settled:?}");
    ground.worktrees.remove(&deleted).unwrap();
    let kept = git(
        &ground.checkout(),
        &format!("show {}:work.txt", settled.branch),
    );
    assert_eq!(kept, "deleted");
    let own = ground.create("run-3");
    git(&own.folder, "checkout -q -b feature/x");
    commit_work(&own.folder, "own");
    let settled = ground.worktrees.settle(&own).unwrap();
    assert_eq!(
        (settled.branch.as_str(), settled.rescued),
        ("orch/developer/run-3", true),
        "what it called its branch is its own affair"
    );
    let idle = ground.create("run-4");
    assert!(!ground.worktrees.settle(&idle).unwrap().changed);
}

#[test]
fn a_second_worktree_of_one_run_and_an_unknown_commit_are_refused_and_leave_nothing() {
    let ground = Ground::new();
    let worktree = ground.create("run-1");
    let again = ground
        .worktrees
        .create(&ground.checkout(), &purpose("run-1"), &worktree.start);
    assert!(matches!(again, Err(WorktreeError::Taken(_))), "{again:?}");
    let unknown: CommitSha = "0123456789012345678901234567890123456789".parse().unwrap();
    let refused = ground
        .worktrees
        .create(&ground.checkout(), &purpose("run-2"), &unknown);
    assert!(
        matches!(refused, Err(WorktreeError::NoCommit { .. })),
        "{refused:?}"
    );
    assert!(
        !ground
            .worktrees
            .folder(&"main".parse().unwrap(), &"run-2".parse().unwrap())
            .exists()
    );
    assert_eq!(
        git(&ground.checkout(), "branch --list orch/developer/run-2"),
        ""
    );
    ground.create("run-2");
    let nowhere = ground.worktrees.tip(ground.folder.path(), "main");
    assert!(matches!(nowhere, Err(WorktreeError::NoRepository(_))));
}

#[test]
fn a_bare_repository_serves_as_well() {
    let ground = Ground::new();
    git(ground.folder.path(), "clone -q --bare checkout bare.git");
    let bare = ground.folder.path().join("bare.git");
    let start = ground.worktrees.tip(&bare, "main").unwrap();
    let worktree = ground
        .worktrees
        .create(&bare, &purpose("run-1"), &start)
        .unwrap();
    assert_eq!(
        fs::read_to_string(worktree.folder.join("file.txt")).unwrap(),
        "one\n"
    );
    git(&worktree.folder, "config user.email a@example.org");
    git(&worktree.folder, "config user.name A");
    let done = commit_work(&worktree.folder, "bare");
    ground.worktrees.remove(&worktree).unwrap();
    assert_eq!(git(&bare, "rev-parse orch/developer/run-1"), done);
}

#[test]
fn o05_neither_hooks_nor_filters_nor_other_programs_of_the_repository_run() {
    let ground = Ground::new();
    let trap = ground.folder.path().join("trapped");
    let program = ground.folder.path().join("program");
    fs::write(
        &program,
        format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", trap.display()),
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = ground.folder.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in [
        "post-checkout",
        "post-commit",
        "reference-transaction",
        "pre-commit",
    ] {
        fs::copy(&program, hooks.join(hook)).unwrap();
        fs::copy(&program, ground.checkout().join(".git/hooks").join(hook)).unwrap();
    }
    fs::write(
        ground.checkout().join(".gitattributes"),
        "*.txt filter=evil diff=evil\n",
    )
    .unwrap();
    git(
        &ground.checkout(),
        "-c core.hooksPath=/dev/null add .gitattributes",
    );
    git(
        &ground.checkout(),
        "-c core.hooksPath=/dev/null commit -q -m attributes",
    );
    let program = program.display();
    for (name, value) in [
        ("core.hooksPath", hooks.display().to_string()),
        ("core.fsmonitor", program.to_string()),
        ("core.sshCommand", program.to_string()),
        ("core.pager", program.to_string()),
        ("filter.evil.smudge", program.to_string()),
        ("filter.evil.clean", program.to_string()),
        ("filter.evil.process", program.to_string()),
        ("filter.evil.required", "true".to_owned()),
        ("credential.helper", format!("!{program}")),
        ("gpg.program", program.to_string()),
        ("diff.evil.command", program.to_string()),
    ] {
        let set = Command::new("git")
            .current_dir(ground.checkout())
            .args(["config", name, &value])
            .status();
        assert!(set.unwrap().success());
    }
    let worktree = ground.create("run-1");
    assert_eq!(
        fs::read_to_string(worktree.folder.join("file.txt")).unwrap(),
        "one\n"
    );
    ground.worktrees.settle(&worktree).unwrap();
    ground.worktrees.remove(&worktree).unwrap();
    assert!(
        !trap.exists(),
        "{}",
        fs::read_to_string(&trap).unwrap_or_default()
    );
}

#[test]
fn o05_links_out_of_a_worktree_are_removed_and_never_followed() {
    let ground = Ground::new();
    let treasure = ground.treasure();
    let worktree = ground.create("run-1");
    let done = commit_work(&worktree.folder, "work");
    symlink(&treasure, worktree.folder.join("link")).unwrap();
    symlink("/etc", worktree.folder.join("etc")).unwrap();
    fs::hard_link(treasure.join("gold"), worktree.folder.join("gold")).unwrap();
    let locked = worktree.folder.join("locked/inner");
    fs::create_dir_all(&locked).unwrap();
    fs::write(locked.join("file"), "x").unwrap();
    fs::set_permissions(locked.parent().unwrap(), fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(
        ground.worktrees.settle(&worktree).unwrap().head.as_str(),
        done
    );
    // The worktree's repository leads to another one now.
    git(ground.folder.path(), "init -q other");
    let pointer = format!("gitdir: {}/other/.git\n", ground.folder.path().display());
    fs::remove_dir_all(worktree.folder.join(".git")).unwrap();
    fs::write(worktree.folder.join(".git"), pointer).unwrap();
    assert!(!ground.worktrees.settle(&worktree).unwrap().changed);
    ground.worktrees.remove(&worktree).unwrap();
    assert!(!worktree.folder.exists());
    assert_eq!(fs::read_to_string(treasure.join("gold")).unwrap(), "gold");
    assert!(Path::new("/etc/passwd").exists());
    assert_eq!(
        git(&ground.checkout(), "rev-parse orch/developer/run-1"),
        done
    );
}

#[test]
fn o05_a_worktree_or_project_folder_replaced_by_a_link_is_not_followed() {
    let ground = Ground::new();
    let treasure = ground.treasure();
    let replaced = ground.create("run-1");
    fs::remove_dir_all(&replaced.folder).unwrap();
    symlink(&treasure, &replaced.folder).unwrap();
    ground.worktrees.remove(&replaced).unwrap();
    assert!(treasure.join("gold").exists() && replaced.folder.symlink_metadata().is_err());

    let inside = ground.create("run-2");
    let project = inside.folder.parent().unwrap().to_owned();
    fs::rename(&project, ground.folder.path().join("moved")).unwrap();
    fs::create_dir(treasure.join("run-2")).unwrap();
    symlink(&treasure, &project).unwrap();
    let refused = ground.worktrees.remove(&inside);
    assert!(
        matches!(refused, Err(WorktreeError::Outside { .. })),
        "{refused:?}"
    );
    assert!(treasure.join("run-2").exists());
    let start = inside.start;
    let refused = ground
        .worktrees
        .create(&ground.checkout(), &purpose("run-3"), &start);
    assert!(
        matches!(refused, Err(WorktreeError::Outside { .. })),
        "{refused:?}"
    );

    let administration = ground.create_elsewhere("run-4");
    let all = ground.checkout().join(".git/worktrees");
    // As worktrees were made before there were clones.
    fs::create_dir_all(all.join("run-4")).unwrap();
    fs::rename(&all, ground.folder.path().join("moved-administration")).unwrap();
    fs::create_dir(treasure.join("run-4")).unwrap();
    symlink(&treasure, &all).unwrap();
    let refused = ground.worktrees.remove(&administration);
    assert!(
        matches!(refused, Err(WorktreeError::Outside { .. })),
        "{refused:?}"
    );
    assert!(treasure.join("run-4").exists());
}

impl Ground {
    /// A worktree of another project.
    fn create_elsewhere(&self, run: &str) -> Worktree {
        let start = self.worktrees.tip(&self.checkout(), "main").unwrap();
        let purpose = WorktreePurpose {
            project: "second".parse().unwrap(),
            ..purpose(run)
        };
        self.worktrees
            .create(&self.checkout(), &purpose, &start)
            .unwrap()
    }
}

#[test]
fn the_sweep_follows_the_run_table_and_spares_what_was_just_modified() {
    let ground = Ground::new();
    let (live, over, fresh) = (
        ground.create("run-live"),
        ground.create("run-over"),
        ground.create("run-fresh"),
    );
    let done = commit_work(&over.folder, "over");
    let stranger = live.folder.with_file_name("notes-of-a-person");
    fs::create_dir(&stranger).unwrap();
    let state = |name: &str| match name {
        "run-live" => WorktreeRun::Live,
        "run-over" => WorktreeRun::Ended(over.clone()),
        "run-fresh" => WorktreeRun::Ended(fresh.clone()),
        _ => WorktreeRun::Unknown,
    };
    let kept = |swept: &[GcOutcome]| {
        swept
            .iter()
            .filter(|one| matches!(one, GcOutcome::Kept(_)))
            .count()
    };
    let soon = ground.worktrees.collect_garbage(&state, SystemTime::now());
    assert_eq!(kept(&soon), 3, "all were modified just now: {soon:?}");
    let later =
        SystemTime::now() + Duration::from_millis(KEPT_AFTER_CHANGE) + Duration::from_secs(60);
    // One file deep inside was written a moment ago.
    fs::create_dir_all(fresh.folder.join("a/b")).unwrap();
    let file = fs::File::create(fresh.folder.join("a/b/c")).unwrap();
    file.set_modified(later - Duration::from_secs(5)).unwrap();
    let swept = ground.worktrees.collect_garbage(&state, later);
    assert!(
        swept.contains(&GcOutcome::Removed(over.folder.clone())),
        "{swept:?}"
    );
    assert!(
        swept.contains(&GcOutcome::Kept(live.folder))
            && swept.contains(&GcOutcome::Kept(fresh.folder.clone()))
    );
    assert!(swept.contains(&GcOutcome::Unknown(stranger.clone())) && stranger.exists());
    assert_eq!(
        git(&ground.checkout(), "rev-parse orch/developer/run-over"),
        done
    );
    let again = ground.worktrees.collect_garbage(&state, later);
    assert_eq!(again.len(), 3);
}

#[test]
fn worktrees_of_one_repository_are_made_at_the_same_time() {
    let ground = Ground::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let ground = &ground;
            scope.spawn(move || {
                let worktree = ground.create(&format!("run-{number}"));
                commit_work(&worktree.folder, &number.to_string());
                ground.worktrees.settle(&worktree).unwrap();
                ground.worktrees.remove(&worktree).unwrap();
            });
        }
    });
    assert_eq!(
        git(&ground.checkout(), "branch --list orch/developer/*")
            .lines()
            .count(),
        8
    );
}
