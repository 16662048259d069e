//! Commits that are small to send and large to lay out, with real git.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use forge_core::{CommitSha, ObjectFormats, RepoName};
use git_engine::{Git, GitError, Mirror, Mirrors, Remote, Transports, TreeLimits, TreeSize};
use tempfile::TempDir;

const FILES: Transports = Transports {
    http: false,
    file: true,
};
const LIMITS: TreeLimits = TreeLimits {
    entries: 1000,
    bytes: 1 << 20,
    depth: 20,
};

struct Upstream(TempDir);

impl Upstream {
    fn new() -> Self {
        let upstream = Self(TempDir::new().unwrap());
        upstream.git(&["init", "--quiet", "--bare", "."], "");
        upstream
    }

    fn git(&self, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new("git")
            .current_dir(self.0.path())
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git is installed");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn blob(&self, text: &str) -> String {
        self.git(&["hash-object", "-w", "--stdin"], text)
    }

    fn tree(&self, entries: &str) -> String {
        self.git(&["mktree"], entries)
    }

    /// `levels` folders of `width` names in one another, on top of a folder of as many files.
    fn bomb(&self, levels: usize, width: usize) -> String {
        let blob = self.blob("x");
        let names = |kind: &str, id: &str| -> String {
            let entries = (0..width).map(|at| format!("{kind} {id}\t{at:02}\n"));
            entries.collect()
        };
        let mut tree = self.tree(&names("100644 blob", &blob));
        for _ in 1..levels {
            tree = self.tree(&names("040000 tree", &tree));
        }
        tree
    }

    fn commit(&self, tree: &str) -> CommitSha {
        let id = self.git(&["commit-tree", "-m", "x", tree], "");
        self.git(&["update-ref", "refs/heads/main", &id], "");
        CommitSha::parse(&id, ObjectFormats::Sha1).unwrap()
    }

    fn remote(&self) -> Remote {
        Remote::parse(&format!("file://{}", self.0.path().display()), FILES).unwrap()
    }
}

fn git() -> Git {
    Git::new("git", &std::env::var("PATH").unwrap())
}

fn mirror(git: Git, root: &Path) -> Mirror {
    let repo: RepoName = "acme/rocket".parse().unwrap();
    Mirrors::new(git, root).open(&repo).unwrap()
}

fn size(
    upstream: &Upstream,
    commit: &CommitSha,
    limits: &TreeLimits,
) -> Result<TreeSize, GitError> {
    let root = TempDir::new().unwrap();
    let mirror = mirror(git().memory(1 << 30), root.path());
    mirror.fetch(&upstream.remote(), commit, None).unwrap();
    mirror.tree_size(commit, limits)
}

#[test]
fn t6_an_ordinary_commit_is_counted_exactly() {
    let upstream = Upstream::new();
    let (one, two) = (upstream.blob("12345"), upstream.blob("123"));
    let inner = upstream.tree(&format!("100644 blob {one}\ta\n100755 blob {two}\tbb\n"));
    let link = upstream.blob("inner/a");
    let tree = upstream.tree(&format!(
        "040000 tree {inner}\tinner\n040000 tree {inner}\tagain\n120000 blob {link}\tlink\n100644 blob {one}\tx y\n160000 commit {}\tsub\n",
        "1".repeat(40)
    ));
    // mktree would look for the submodule's commit.
    let commit = upstream.commit(&tree);
    let size = size(&upstream, &commit, &LIMITS).unwrap();
    let wanted = TreeSize {
        entries: 5 + 2 + 2,
        bytes: 2 * (5 + 3) + 7 + 5,
        // link, `x y`, sub; inner, inner/a, inner/bb; again, ….
        paths: 4 + 3 + 3 + (5 + 7 + 8) * 2,
        depth: 2,
    };
    assert_eq!(size, wanted);
    let empty = upstream.commit(&upstream.tree(""));
    let nothing = self::size(&upstream, &empty, &LIMITS).unwrap();
    assert_eq!((nothing.entries, nothing.bytes), (0, 0));
}

#[test]
fn t6_a_bomb_is_counted_and_not_unpacked() {
    for (levels, width) in [(7, 12), (12, 7), (12, 12)] {
        let upstream = Upstream::new();
        let commit = upstream.commit(&upstream.bomb(levels, width));
        let refused = size(&upstream, &commit, &LIMITS).unwrap_err();
        let mut entries = 0_u64;
        for level in 1..=levels {
            entries += (width as u64).pow(u32::try_from(level).unwrap());
        }
        let text = refused.to_string();
        assert!(
            refused.is_refusal() && text.contains(&entries.to_string()),
            "{text}"
        );
        assert!(text.contains("entries") && text.contains("1000"), "{text}");
    }
}

#[test]
fn t6_numbers_end_at_their_largest() {
    let upstream = Upstream::new();
    // 12^20 is more than 64 bits hold.
    let commit = upstream.commit(&upstream.bomb(19, 12));
    let refused = size(&upstream, &commit, &LIMITS).unwrap_err().to_string();
    assert!(refused.contains("more than can be counted"), "{refused}");
}

#[test]
fn t6_depth_and_bytes_are_bounded_too() {
    let upstream = Upstream::new();
    let commit = upstream.commit(&upstream.bomb(30, 1));
    let refused = size(&upstream, &commit, &LIMITS).unwrap_err().to_string();
    assert!(refused.contains("in one another"), "{refused}");
    // 64 KiB that are named a hundred times.
    let blob = upstream.blob(&"x".repeat(64 << 10));
    let names: String = (0..100)
        .map(|at| format!("100644 blob {blob}\t{at:02}\n"))
        .collect();
    let commit = upstream.commit(&upstream.tree(&names));
    let refused = size(&upstream, &commit, &LIMITS).unwrap_err().to_string();
    assert!(
        refused.contains("6553600") && refused.contains("bytes"),
        "{refused}"
    );
}

#[test]
fn t6_a_fetch_ends_at_its_limit_and_leaves_nothing() {
    let upstream = Upstream::new();
    let noise: String = (0..4_u64 << 16)
        .map(|n| format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let blob = upstream.blob(&noise);
    let commit = upstream.commit(&upstream.tree(&format!("100644 blob {blob}\tnoise\n")));
    let root = TempDir::new().unwrap();
    let mirror = mirror(git().largest_file(64 << 10), root.path());
    let refused = mirror.fetch(&upstream.remote(), &commit, None).unwrap_err();
    assert!(
        matches!(refused, GitError::FetchTooLarge { limit: 65_536 }),
        "{refused}"
    );
    let mut left = Vec::new();
    let mut open = vec![mirror.folder().join("objects")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else {
                left.push(entry.path());
            }
        }
    }
    let half_written = left
        .iter()
        .find(|path| path.to_string_lossy().contains("tmp_"));
    assert_eq!(half_written, None, "{left:?}");
}

#[test]
fn t6_memory_is_bounded() {
    let root = TempDir::new().unwrap();
    let mirror = mirror(git().memory(8 << 20), root.path());
    let upstream = Upstream::new();
    let commit = upstream.commit(&upstream.bomb(2, 2));
    let failed = mirror.fetch(&upstream.remote(), &commit, None);
    assert!(failed.is_err(), "git runs in 8 MiB");
}
