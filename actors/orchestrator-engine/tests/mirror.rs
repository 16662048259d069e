//! T3: agents that rewrite git's configuration, and the orchestrator's git beside a token. Real git
//! throughout.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "mirror/care.rs"]
mod care;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use config_core::Secret;
use forge_core::CommitSha;
use git_engine::{Git, Remote, Transports};
use orchestrator_engine::worktree::{Worktree, WorktreePurpose, Worktrees};
use tempfile::TempDir;

/// A forge's repository, a checkout of it, worktrees, and a program that tells that it was run,
/// with its environment.
struct Ground {
    folder: TempDir,
    worktrees: Worktrees,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let checkout = root.join("checkout");
        fs::create_dir(&checkout).unwrap();
        git(&checkout, &["init", "-q", "-b", "main", "."]);
        git(&checkout, &["config", "user.email", "a@example.org"]);
        git(&checkout, &["config", "user.name", "A"]);
        fs::write(
            checkout.join(".gitattributes"),
            "*.txt filter=evil diff=evil merge=evil\n",
        )
        .unwrap();
        fs::write(checkout.join("file.txt"), "one\n").unwrap();
        git(&checkout, &["add", "."]);
        git(&checkout, &["commit", "-q", "-m", "first"]);
        git(&root, &["clone", "-q", "--bare", "checkout", "forge.git"]);
        git(
            &checkout,
            &[
                "remote",
                "add",
                "origin",
                &root.join("forge.git").display().to_string(),
            ],
        );
        let trap = format!(
            "#!/bin/sh\nenv > {0}\necho \"$0 $*\" >> {0}\nexit 1\n",
            root.join("trapped").display()
        );
        fs::write(root.join("trap"), trap).unwrap();
        fs::set_permissions(root.join("trap"), fs::Permissions::from_mode(0o755)).unwrap();
        let worktrees = Worktrees::new(
            Git::new("git", "/usr/local/bin:/usr/bin:/bin"),
            &root.join("worktrees"),
            &root.join("data/mirrors"),
        );
        Self {
            folder,
            worktrees: worktrees.unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// As the orchestrator fetches for a run: with the forge's token in the environment of that
    /// git.
    fn fetch(&self) -> CommitSha {
        let all = Transports {
            http: true,
            file: true,
        };
        let url = format!("file://{}", self.path("forge.git").display());
        let remote = Remote::parse(&url, all).unwrap();
        let remote = remote.with_token(
            "orchestrator",
            Secret::new("forge-token-0123456789".to_owned()),
        );
        let mirror = self
            .worktrees
            .mirror(&"main".parse().unwrap(), &self.path("checkout"))
            .unwrap();
        mirror
            .fetch(&remote, "refs/heads/main", "refs/remotes/origin/main")
            .unwrap();
        mirror.resolve("refs/remotes/origin/main").unwrap().unwrap()
    }

    fn create(&self, run: &str) -> Worktree {
        let start = self.fetch();
        self.worktrees
            .create(&self.path("checkout"), &purpose(run), &start)
            .unwrap()
    }

    fn trapped(&self) -> Option<String> {
        fs::read_to_string(self.path("trapped")).ok()
    }

    /// Everything by which a configuration makes git run a program.
    fn poison(&self, inner: &Path) {
        let trap = self.path("trap").display().to_string();
        let forge = self.path("forge.git").display().to_string();
        let include = self.path("evil.inc");
        let mut text = String::new();
        for (section, lines) in [
            (
                "core",
                vec![
                    format!("hooksPath = {}", self.path("hooks").display()),
                    format!("fsmonitor = {trap}"),
                    format!("sshCommand = {trap}"),
                    format!("pager = {trap}"),
                    format!("editor = {trap}"),
                    format!("askPass = {trap}"),
                    format!("alternateRefsCommand = {trap}"),
                    format!("gitProxy = {trap}"),
                ],
            ),
            (
                "filter \"evil\"",
                vec![
                    format!("smudge = {trap}"),
                    format!("clean = {trap}"),
                    format!("process = {trap}"),
                    "required = true".into(),
                ],
            ),
            (
                "diff \"evil\"",
                vec![format!("command = {trap}"), format!("textconv = {trap}")],
            ),
            ("merge \"evil\"", vec![format!("driver = {trap}")]),
            ("diff", vec![format!("external = {trap}")]),
            ("credential", vec![format!("helper = !{trap}")]),
            ("gpg", vec![format!("program = {trap}")]),
            ("uploadpack", vec![format!("packObjectsHook = {trap}")]),
            (
                "remote \"origin\"",
                vec![
                    format!("url = {forge}"),
                    format!("uploadpack = {trap}"),
                    format!("receivepack = {trap}"),
                ],
            ),
            (
                format!("remote \"file://{forge}\"").as_str(),
                vec![
                    format!("url = {forge}"),
                    format!("uploadpack = {trap}"),
                    format!("vcs = ext::{trap}"),
                ],
            ),
            (
                format!("url \"ext::{trap} %S \"").as_str(),
                vec![
                    format!("insteadOf = {forge}"),
                    format!("insteadOf = file://{forge}"),
                ],
            ),
            ("protocol \"ext\"", vec!["allow = always".into()]),
            ("protocol", vec!["allow = always".into()]),
            (
                "alias",
                vec![format!("upload-pack = !{trap}"), format!("fetch = !{trap}")],
            ),
            ("extensions", vec!["partialClone = evil".into()]),
            (
                "remote \"evil\"",
                vec![
                    format!("url = ext::{trap}"),
                    "promisor = true".into(),
                    format!("uploadpack = {trap}"),
                ],
            ),
            (
                "includeIf \"gitdir:/**\"",
                vec![format!("path = {}", include.display())],
            ),
            ("include", vec![format!("path = {}", include.display())]),
        ] {
            text += &format!("[{section}]\n");
            for line in lines {
                text += &format!("\t{line}\n");
            }
        }
        fs::write(include, text.replace("[include", "[not-included")).unwrap();
        let config = inner.join("config");
        let before = fs::read_to_string(&config).unwrap_or_default();
        fs::write(&config, format!("{before}\n{text}")).unwrap();
        fs::write(inner.join("config.worktree"), &text).unwrap();
        for hooks in [inner.join("hooks"), self.path("hooks")] {
            fs::create_dir_all(&hooks).unwrap();
            for hook in [
                "post-checkout",
                "post-commit",
                "pre-commit",
                "reference-transaction",
                "post-merge",
                "pre-auto-gc",
                "post-index-change",
                "pre-receive",
                "update",
                "post-receive",
                "fsmonitor-watchman",
            ] {
                fs::copy(self.path("trap"), hooks.join(hook)).unwrap();
            }
        }
        fs::create_dir_all(inner.join("info")).unwrap();
        fs::write(inner.join("info/attributes"), "* filter=evil\n").unwrap();
    }
}

fn purpose(run: &str) -> WorktreePurpose {
    WorktreePurpose {
        project: "main".parse().unwrap(),
        agent: "developer".parse().unwrap(),
        run: run.parse().unwrap(),
    }
}

fn git(folder: &Path, line: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(line)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {line:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn commit(folder: &Path, text: &str) -> String {
    fs::write(folder.join("work.md"), text).unwrap();
    git(folder, &["add", "work.md"]);
    git(folder, &["commit", "-q", "-m", text]);
    git(folder, &["rev-parse", "HEAD"])
}

/// The attack as it was: configuration of the checkout, written by one run, is executed by the next
/// run's fetch.
#[test]
fn t3_no_configuration_that_an_agent_wrote_is_executed() {
    let ground = Ground::new();
    let first = ground.create("run-1");
    let done = commit(&first.folder, "done");
    ground.poison(&ground.path("checkout/.git"));
    ground.poison(&first.folder.join(".git"));
    // The traps work: this is what the orchestrator did before.
    let _ = Command::new("git")
        .current_dir(ground.path("checkout"))
        .args(["fetch", "-q", "origin"])
        .status()
        .unwrap();
    assert!(
        ground.trapped().is_some(),
        "a plain fetch in the checkout runs the program"
    );
    fs::remove_file(ground.path("trapped")).unwrap();

    let settled = ground.worktrees.settle(&first).unwrap();
    assert_eq!(
        (settled.head.as_str(), settled.branch.as_str()),
        (done.as_str(), "orch/developer/run-1")
    );
    assert_eq!(ground.trapped(), None, "reading the run's commits back");
    let second = ground.create("run-2");
    assert_eq!(
        ground.trapped(),
        None,
        "the next run's fetch, with the token, and its checkout"
    );
    assert_eq!(
        fs::read_to_string(second.folder.join("file.txt")).unwrap(),
        "one\n"
    );
    let sha = second.start.clone();
    let mirror = ground
        .worktrees
        .mirror(&"main".parse().unwrap(), &ground.path("checkout"))
        .unwrap();
    ground
        .worktrees
        .lend(&mirror, &ground.path("checkout"), &sha)
        .unwrap();
    ground.worktrees.remove(&first).unwrap();
    ground.worktrees.remove(&second).unwrap();
    assert_eq!(ground.trapped(), None, "settling and removing");
    // The branch is where people look for it.
    let branch =
        fs::read_to_string(ground.path("checkout/.git/refs/heads/orch/developer/run-1")).unwrap();
    assert_eq!(branch.trim(), done);
}

/// Whatever the mirror's own configuration has become, the next call writes it anew.
#[test]
fn t3_a_mirror_s_configuration_is_a_constant() {
    let ground = Ground::new();
    ground.create("run-1");
    ground.poison(&ground.path("data/mirrors/main.git"));
    ground.create("run-2");
    assert_eq!(ground.trapped(), None);
}

/// What an agent does to the inner git folder of its clone.
type Way<'a> = (&'a str, &'a dyn Fn(&Path));

/// A clone that leads to somebody else's repository brings nothing of it.
#[test]
fn t3_nothing_of_another_repository_is_brought_in() {
    let ground = Ground::new();
    git(&ground.path("."), &["clone", "-q", "checkout", "private"]);
    git(
        &ground.path("private"),
        &["config", "user.email", "a@example.org"],
    );
    git(&ground.path("private"), &["config", "user.name", "A"]);
    let secret = commit(&ground.path("private"), "secret");
    let private = ground.path("private/.git");
    let mirror = ground
        .worktrees
        .mirror(&"main".parse().unwrap(), &ground.path("checkout"))
        .unwrap();
    let sha: CommitSha = secret.parse().unwrap();
    let ways: [Way<'_>; 5] = [
        ("file", &|inner| {
            fs::remove_dir_all(inner).unwrap();
            fs::write(inner, format!("gitdir: {}\n", private.display())).unwrap();
        }),
        ("link", &|inner| {
            fs::remove_dir_all(inner).unwrap();
            symlink(&private, inner).unwrap();
        }),
        ("alternates", &|inner| {
            let objects = private.join("objects").display().to_string();
            fs::write(inner.join("objects/info/alternates"), objects + "\n").unwrap();
            fs::write(
                inner.join("packed-refs"),
                format!("{secret} refs/heads/orch/developer/run-alternates\n"),
            )
            .unwrap();
        }),
        ("commondir", &|inner| {
            fs::write(inner.join("commondir"), private.display().to_string()).unwrap();
        }),
        ("nested", &|inner| {
            fs::write(
                inner.join(".git"),
                format!("gitdir: {}\n", private.display()),
            )
            .unwrap();
        }),
    ];
    for (name, way) in ways {
        let run = ground.create(&format!("run-{name}"));
        way(&run.folder.join(".git"));
        // It may be refused or read as nothing done.
        let settled = ground.worktrees.settle(&run);
        assert!(
            settled.is_err() || settled.is_ok_and(|settled| !settled.changed),
            "{name}"
        );
        assert!(!mirror.has_commit(&sha).unwrap(), "{name}");
        let branch = format!("checkout/.git/refs/heads/orch/developer/run-{name}");
        assert!(!ground.path(&branch).exists(), "{name}");
    }
}

/// The project's branches, identity and origin are in a clone, but no secret of an address.
#[test]
fn t3_a_clone_knows_the_project_and_no_secret() {
    let ground = Ground::new();
    let origin = "https://bot:forge-token-0123456789@example.org/acme/main.git";
    git(
        &ground.path("checkout"),
        &["remote", "set-url", "origin", origin],
    );
    let run = ground.create("run-1");
    let config = fs::read_to_string(run.folder.join(".git/config")).unwrap();
    assert!(
        config.contains("https://example.org/acme/main.git"),
        "{config}"
    );
    assert!(!config.contains("forge-token"), "{config}");
    assert_eq!(
        git(&run.folder, &["rev-parse", "origin/main"]),
        run.start.to_string()
    );
    assert_eq!(
        git(&run.folder, &["diff", "--stat", "origin/main...HEAD"]),
        ""
    );
    assert_eq!(git(&run.folder, &["config", "user.name"]), "A");
    assert_eq!(git(&run.folder, &["status", "--porcelain"]), "");
}

/// What an agent committed on other branches, or diverged, is kept beside the run's branch.
#[test]
fn t3_every_commit_of_an_agent_is_on_a_branch() {
    let ground = Ground::new();
    let run = ground.create("run-1");
    let own = commit(&run.folder, "own");
    git(
        &run.folder,
        &["checkout", "-q", "-b", "Feature/X", "origin/main"],
    );
    let feature = commit(&run.folder, "feature");
    git(&run.folder, &["checkout", "-q", "--detach", "origin/main"]);
    let detached = commit(&run.folder, "detached");
    git(&run.folder, &["branch", "-f", "main", &own]);
    let settled = ground.worktrees.settle(&run).unwrap();
    assert_eq!(
        (settled.head.as_str(), settled.rescued),
        (detached.as_str(), true)
    );
    let checkout = ground.path("checkout");
    let main = git(&checkout, &["rev-parse", "main"]);
    assert_eq!(git(&checkout, &["rev-parse", "orch/developer/run-1"]), own);
    assert_eq!(
        git(&checkout, &["rev-parse", "orch/developer/run-1-head"]),
        detached
    );
    let all = git(
        &checkout,
        &["for-each-ref", "--format=%(objectname)", "refs/heads/orch"],
    );
    assert!(all.contains(&feature), "{all}");
    assert_eq!(
        main,
        ground.fetch().to_string(),
        "no branch of the project moves"
    );
    git(&checkout, &["fsck", "--strict"]);
}
