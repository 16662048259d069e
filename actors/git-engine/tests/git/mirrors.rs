//! Mirrors and checkouts with real git and real repositories.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use forge_core::{CommitSha, GitRef, ObjectFormats, RepoName};
use git_engine::{Depth, Git, GitError, Mirrors, Remote, Transports, TreeEntryKind};
use tempfile::TempDir;

/// A repository with hooks, filters and links, as a stranger would send it.
struct Upstream {
    folder: TempDir,
}

impl Upstream {
    fn new() -> Self {
        let upstream = Self {
            folder: TempDir::new().unwrap(),
        };
        upstream.git(&["init", "--quiet", "--initial-branch=main", "."]);
        upstream
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.folder.path())
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.org",
                "-c",
                "protocol.file.allow=always",
            ])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git is installed");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn commit(&self, message: &str) -> CommitSha {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        sha(&self.git(&["rev-parse", "HEAD"]))
    }

    fn remote(&self) -> Remote {
        Remote::parse(&format!("file://{}", self.folder.path().display()), FILES).unwrap()
    }
}

const FILES: Transports = Transports {
    http: false,
    file: true,
};

fn sha(text: &str) -> CommitSha {
    CommitSha::parse(text, ObjectFormats::Sha1).unwrap()
}

fn git() -> Git {
    Git::new("git", &std::env::var("PATH").unwrap())
}

fn mirrors(root: &Path) -> Mirrors {
    Mirrors::new(git(), root)
}

fn repo() -> RepoName {
    "Acme/Rocket".parse().unwrap()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn an_exact_commit_is_fetched_read_and_checked_out() {
    let upstream = Upstream::new();
    upstream.write(".github/workflows/ci.yml", "name: ci\n");
    upstream.write("src/main.rs", "fn main() {}\n");
    let first = upstream.commit("first");
    upstream.write("src/main.rs", "fn main() { run() }\n");
    let second = upstream.commit("second");

    let root = TempDir::new().unwrap();
    let mirror = mirrors(root.path()).open(&repo()).unwrap();
    mirror.fetch(&upstream.remote(), &first, None).unwrap();
    assert!(mirror.has_commit(&first).unwrap());
    assert!(
        !mirror.has_commit(&second).unwrap(),
        "only what was asked for"
    );
    mirror.fetch(&upstream.remote(), &second, None).unwrap();

    let listed = mirror.list(&second, ".github/workflows").unwrap();
    let names: Vec<_> = listed
        .iter()
        .map(|entry| (entry.path.as_str(), entry.kind))
        .collect();
    assert_eq!(names, [(".github/workflows/ci.yml", TreeEntryKind::File)]);
    assert!(mirror.list(&second, "no/such").unwrap().is_empty());
    let below = mirror.list_below(&second, ".github").unwrap();
    assert_eq!(below, listed);
    assert_eq!(
        mirror.read(&first, "src/main.rs", 100).unwrap(),
        b"fn main() {}\n"
    );
    let large = mirror.read(&first, "src/main.rs", 5).unwrap_err();
    assert!(
        matches!(large, GitError::TooLarge { limit: 5, .. }),
        "{large}"
    );
    assert_eq!(mirror.changed(&first, &second).unwrap(), ["src/main.rs"]);

    let place = TempDir::new().unwrap();
    let public = "https://forge.example/acme/rocket.git";
    mirror
        .check_out(&first, place.path(), Depth::Commits(1), public)
        .unwrap();
    let text = std::fs::read_to_string(place.path().join("src/main.rs")).unwrap();
    assert_eq!(text, "fn main() {}\n");
    let config = std::fs::read_to_string(place.path().join(".git/config")).unwrap();
    assert!(
        config.contains(public) && !config.contains("file://"),
        "{config}"
    );
}

#[test]
fn a_checkout_has_the_history_that_was_asked_for() {
    let upstream = Upstream::new();
    for number in 0..3 {
        upstream.commit(&number.to_string());
    }
    let head = sha(&upstream.git(&["rev-parse", "HEAD"]));
    let root = TempDir::new().unwrap();
    let mirror = mirrors(root.path()).open(&repo()).unwrap();
    mirror.fetch(&upstream.remote(), &head, None).unwrap();
    for (depth, commits) in [
        (Depth::Commits(1), 1),
        (Depth::Commits(2), 2),
        (Depth::Full, 3),
    ] {
        let place = TempDir::new().unwrap();
        mirror
            .check_out(&head, place.path(), depth, "https://f.example/a/b")
            .unwrap();
        let count = git()
            .call(place.path(), "rev-list")
            .args(["--count", "HEAD"])
            .text()
            .unwrap();
        assert_eq!(count, commits.to_string(), "{depth:?}");
    }
}

/// git as a client that speaks the first version of the protocol: there servers refuse commits that
/// no reference has.
fn old_protocol(folder: &Path) -> Git {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("git");
    std::fs::write(
        &script,
        "#!/bin/sh\nexec git -c protocol.version=0 \"$@\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    Git::new(&script, &std::env::var("PATH").unwrap())
}

#[test]
fn z3_a_commit_that_no_reference_has_is_had_by_its_name_or_not_at_all() {
    let upstream = Upstream::new();
    let head = upstream.commit("only");
    upstream.git(&["config", "uploadpack.allowAnySHA1InWant", "false"]);
    let gone = upstream.commit("gone");
    upstream.git(&["reset", "--quiet", "--hard", head.as_str()]);
    let main: GitRef = "refs/heads/main".parse().unwrap();
    let folder = TempDir::new().unwrap();
    // The second version of the protocol gives what is asked for: a push that was pushed over is
    // still run.
    let root = TempDir::new().unwrap();
    let mirror = mirrors(root.path()).open(&repo()).unwrap();
    let given = mirror.fetch(&upstream.remote(), &gone, Some(&main));
    given.unwrap();
    assert!(mirror.has_commit(&gone).unwrap());
    // The first refuses the name; the branch is asked, and has another commit: nothing else is
    // taken in its place.
    let root = TempDir::new().unwrap();
    let mirrors = Mirrors::new(old_protocol(folder.path()), root.path());
    let mirror = mirrors.open(&repo()).unwrap();
    for from in [None, Some(&main)] {
        let refused = mirror.fetch(&upstream.remote(), &gone, from);
        assert!(refused.is_err(), "{from:?}");
        assert!(!mirror.has_commit(&gone).unwrap());
    }
    // A commit behind the branch's newest one is had by the branch.
    let newest = upstream.commit("newest");
    let root = TempDir::new().unwrap();
    let mirrors = Mirrors::new(old_protocol(folder.path()), root.path());
    let mirror = mirrors.open(&repo()).unwrap();
    mirror
        .fetch(&upstream.remote(), &head, Some(&main))
        .unwrap();
    assert!(mirror.has_commit(&head).unwrap() && mirror.has_commit(&newest).unwrap());
    let missing = sha(&"1".repeat(40));
    let error = mirror.fetch(&upstream.remote(), &missing, Some(&main));
    let error = error.unwrap_err();
    assert!(matches!(error, GitError::NoCommit(_)), "{error}");
}

#[test]
fn r06_hooks_filters_links_and_submodules_do_nothing() {
    let upstream = Upstream::new();
    let trap = TempDir::new().unwrap();
    let proof = trap.path().join("ran");
    upstream.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs\n* text=auto\n",
    );
    upstream.write("data.bin", "version https://git-lfs.github.com/spec/v1\n");
    upstream.write(
        ".gitmodules",
        "[submodule \"../../x\"]\n\tpath = sub\n\turl = file:///etc\n",
    );
    upstream.write(
        "hooks/post-checkout",
        &format!("#!/bin/sh\ntouch {}\n", proof.display()),
    );
    std::os::unix::fs::symlink("/etc/passwd", upstream.folder.path().join("passwd")).unwrap();
    std::os::unix::fs::symlink("../../../outside", upstream.folder.path().join("up")).unwrap();
    let head = upstream.commit("traps");
    upstream.git(&["config", "core.hooksPath", "hooks"]);

    let root = TempDir::new().unwrap();
    let mirror = mirrors(root.path()).open(&repo()).unwrap();
    mirror.fetch(&upstream.remote(), &head, None).unwrap();
    let place = TempDir::new().unwrap();
    mirror
        .check_out(
            &head,
            place.path(),
            Depth::Commits(1),
            "https://f.example/a/b",
        )
        .unwrap();
    assert!(!proof.exists(), "a hook ran");
    let link = std::fs::symlink_metadata(place.path().join("passwd")).unwrap();
    assert!(link.is_symlink(), "a link stays a link");
    assert!(!place.path().join("sub").exists());
    let pointer = std::fs::read_to_string(place.path().join("data.bin")).unwrap();
    assert!(
        pointer.starts_with("version https://git-lfs"),
        "left as it is in the commit"
    );
    assert!(!mirror.folder().join("hooks").exists(), "no template hooks");
}

#[test]
fn export_ignore_hides_nothing_from_a_checkout() {
    let upstream = Upstream::new();
    upstream.write(".gitattributes", "secret.txt export-ignore\n");
    upstream.write("secret.txt", "here\n");
    let head = upstream.commit("attributes");
    let root = TempDir::new().unwrap();
    let mirror = mirrors(root.path()).open(&repo()).unwrap();
    mirror.fetch(&upstream.remote(), &head, None).unwrap();
    let place = TempDir::new().unwrap();
    mirror
        .check_out(
            &head,
            place.path(),
            Depth::Commits(1),
            "https://f.example/a/b",
        )
        .unwrap();
    assert!(place.path().join("secret.txt").is_file());
}

#[test]
fn a_call_that_hangs_is_ended_with_all_it_started() {
    let folder = TempDir::new().unwrap();
    let pids = folder.path().join("pids");
    let script = folder.path().join("git");
    let text = format!(
        "#!/bin/sh\nsleep 300 & echo $! > {0}\necho $$ >> {0}\nwait\n",
        pids.display()
    );
    std::fs::write(&script, text).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let slow =
        Git::new(&script, &std::env::var("PATH").unwrap()).timeout(Duration::from_millis(500));
    let begun = Instant::now();
    let error = slow.call(folder.path(), "fetch").output().unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "it did not wait for the child"
    );
    for pid in std::fs::read_to_string(&pids).unwrap().lines() {
        // Killed already; the system may need a moment to take it away.
        let begun = Instant::now();
        loop {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if state.is_empty() || state.contains(") Z ") || state.contains(") X ") {
                break;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "still running: {state}"
            );
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

#[test]
fn the_host_and_the_environment_bring_nothing_in() {
    let folder = TempDir::new().unwrap();
    let listed = git()
        .call(folder.path(), "config")
        .args(["--list", "--show-scope"])
        .text()
        .unwrap();
    assert!(
        listed.lines().all(|line| line.starts_with("command")),
        "{listed}"
    );
    assert!(files_below(folder.path()).is_empty());
}

#[test]
fn failures_say_what_git_said() {
    let root = TempDir::new().unwrap();
    let mirror = mirrors(root.path()).open(&repo()).unwrap();
    let gone = Remote::parse("file:///no/such/place", FILES).unwrap();
    let error = mirror
        .fetch(&gone, &sha(&"2".repeat(40)), None)
        .unwrap_err();
    assert!(error.to_string().contains("/no/such/place"), "{error}");
    let http = Transports {
        http: true,
        file: false,
    };
    let closed = Remote::parse("http://127.0.0.1:9/a/b.git", http).unwrap();
    let error = mirror
        .fetch(&closed, &sha(&"2".repeat(40)), None)
        .unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error}");
    let missing = Git::new("/no/such/git", "")
        .call(root.path(), "version")
        .output();
    assert!(matches!(missing, Err(GitError::Start { .. })));
}

/// Serves a folder's files by HTTP, as any plain web server does.
fn web_server(folder: PathBuf) -> Option<std::net::SocketAddr> {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("[::1]:0").ok()?;
    let address = listener.local_addr().ok()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            // The rest of the head has to be read before an answer.
            for line in lines.by_ref() {
                if line.is_ok_and(|line| line.is_empty()) {
                    break;
                }
            }
            let path = first.split(' ').nth(1).unwrap_or("/").split('?').next();
            let path = path.unwrap_or("/").trim_start_matches('/');
            let (status, body) = match std::fs::read(folder.join(path)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let mut stream = &stream;
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body);
        }
    });
    Some(address)
}

#[test]
fn t11_an_ipv6_address_as_a_host_works() {
    let upstream = Upstream::new();
    let head = upstream.commit("only");
    upstream.git(&["update-server-info"]);
    let Some(address) = web_server(upstream.folder.path().join(".git")) else {
        // Without IPv6 there is nothing to connect to.
        return;
    };
    let http = Transports {
        http: true,
        file: false,
    };
    let url = format!("http://[::1]:{}/", address.port());
    let remote = Remote::parse(&url, http).unwrap();
    // As the runner does it: checked, pinned, with a token.
    let (host, port) = remote.host_and_port().unwrap();
    assert_eq!((host, port), ("[::1]", address.port()));
    let token = config_core::Secret::new("t".to_owned());
    let remote = remote
        .pinned(vec![address.ip()])
        .with_token("oauth2", token);
    let root = TempDir::new().unwrap();
    let mirror = mirrors(root.path()).open(&repo()).unwrap();
    let main: GitRef = "refs/heads/main".parse().unwrap();
    mirror.fetch(&remote, &head, Some(&main)).unwrap();
    assert!(mirror.has_commit(&head).unwrap());
    let heads = mirror
        .remote_heads(&remote, Duration::from_secs(60))
        .unwrap();
    assert_eq!(heads.branches, [("main".to_owned(), head)]);
}

#[test]
fn u3_heads_are_asked_without_fetching() {
    let upstream = Upstream::new();
    let first = upstream.commit("first");
    upstream.git(&["branch", "old"]);
    upstream.git(&["update-ref", "refs/pull/7/head", first.as_str()]);
    upstream.git(&["update-ref", "refs/other/refs/heads/fake", first.as_str()]);
    let second = upstream.commit("second [skip ci]\n\nbody");
    let root = TempDir::new().unwrap();
    let mirror = mirrors(root.path()).open(&repo()).unwrap();
    let (remote, soon) = (upstream.remote(), Duration::from_secs(60));
    let mut heads = mirror.remote_heads(&remote, soon).unwrap().branches;
    heads.sort_by(|a, b| a.0.cmp(&b.0));
    let wanted = [("main", &second), ("old", &first)];
    assert_eq!(
        heads,
        wanted.map(|(name, id)| (name.to_owned(), id.clone()))
    );
    let at = |name| mirror.remote_ref(&remote, name, soon).unwrap();
    assert_eq!(at("refs/pull/7/head"), Some(first.clone()));
    assert_eq!(at("refs/heads/none"), None);
    let default = mirror.remote_default(&remote, soon).unwrap();
    assert_eq!(default, Some(("main".to_owned(), second.clone())));
    assert!(!mirror.has_commit(&first).unwrap(), "nothing was fetched");
    mirror.fetch(&remote, &second, None).unwrap();
    let message = mirror.message(&second, 1000).unwrap();
    assert_eq!(message, "second [skip ci]\n\nbody");
    assert!(mirror.message(&second, 5).is_err(), "longer than that");
}
