//! `bins/dist/upgrade.sh`, with a real git remote, a program that runs, and a server that says how
//! it is.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use scripted_peers::git;

/// A remote, a clone that agents work in, and a folder of programs.
struct Stage(tempfile::TempDir);

impl Stage {
    fn new() -> Self {
        let stage = Self(tempfile::tempdir().unwrap());
        let remote = stage.path("remote");
        git(
            stage.0.path(),
            &["init", "--quiet", "--bare", "-b", "main", "remote"],
        );
        git(
            stage.0.path(),
            &["clone", "--quiet", remote.to_str().unwrap(), "agents"],
        );
        stage.commit("released");
        git(
            &stage.path("agents"),
            &["push", "--quiet", "origin", "HEAD:main"],
        );
        // What agents leave: commits of their own, and files that are nobody's.
        stage.commit("by an agent");
        std::fs::write(stage.path("agents/says"), "not even a commit\n").unwrap();
        std::fs::create_dir(stage.path("bin")).unwrap();
        write_program(&stage.path("bin/server"), "former");
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// What the program of this commit says, and that it takes every configuration but
    /// `wrong.toml`.
    fn commit(&self, says: &str) {
        let agents = self.path("agents");
        std::fs::write(agents.join("says"), format!("{says}\n")).unwrap();
        git(&agents, &["add", "."]);
        git(&agents, &["commit", "--quiet", "-m", says]);
    }

    fn upgrade(&self, check: &str, restart: &str, health: &str) -> Output {
        let build = "mkdir -p target/release && { echo '#!/bin/sh'; \
                     echo '[ \"$2\" != wrong.toml ] || { echo refused; exit 1; }'; echo \"echo $(cat says)\"; } > target/release/server && \
                     chmod 755 target/release/server";
        Command::new("sh")
            .arg(std::path::absolute("../dist/upgrade.sh").expect("a folder to work in"))
            .args(["--program", "server", "--patience", "1", "--build", build])
            .args(["--check", check, "--restart", restart, "--health", health])
            .arg("--repository")
            .arg(self.path("agents"))
            .arg("--install-dir")
            .arg(self.path("bin"))
            .env("TMPDIR", self.0.path())
            .output()
            .unwrap()
    }

    fn says(&self, program: &str) -> String {
        let output = Command::new(self.path("bin").join(program))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Nothing of the way is left, and the agents' folder is as it was.
    fn assert_clean(&self) {
        let agents = self.path("agents");
        assert_eq!(git(&agents, &["worktree", "list"]).lines().count(), 1);
        let says = std::fs::read_to_string(agents.join("says")).unwrap();
        assert_eq!(says, "not even a commit\n");
        assert_eq!(git(&agents, &["log", "-1", "--format=%s"]), "by an agent");
        let left: Vec<String> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("tmp."))
            .collect();
        assert_eq!(left, [""; 0]);
        assert!(!self.path("bin/.server.new").exists());
    }
}

fn write_program(path: &Path, says: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, format!("#!/bin/sh\necho {says}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Answers 200 when this file is there, else 503.
fn health(file: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let mut line = String::from("x");
            while !line.trim().is_empty() {
                line.clear();
                if stream.read_line(&mut line).is_err() {
                    break;
                }
            }
            let status = if file.exists() {
                "200 OK"
            } else {
                "503 Service Unavailable"
            };
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    format!("http://{address}/readyz")
}

fn stdout_of(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

#[test]
fn y10_a_program_is_built_from_the_remote_branch_checked_and_put_in_place() {
    let stage = Stage::new();
    let well = stage.path("well");
    let address = health(well.clone());
    let restart = format!("touch {}", well.display());
    let output = stage.upgrade("--check right.toml", &restart, &address);
    assert_eq!(output.status.code(), Some(0), "{}", stdout_of(&output));
    assert_eq!(
        stage.says("server"),
        "released",
        "not what agents have left"
    );
    assert_eq!(stage.says("server.former"), "former");
    stage.assert_clean();
}

#[test]
fn y10_a_program_that_runs_is_replaced_under_it() {
    let stage = Stage::new();
    // A real program keeps its file from being written: `Text file busy`.
    std::fs::copy("/bin/sleep", stage.path("bin/server")).unwrap();
    let mut running = Command::new(stage.path("bin/server"))
        .arg("60")
        .spawn()
        .unwrap();
    let well = stage.path("well");
    let restart = format!("touch {}", well.display());
    let output = stage.upgrade("--check right.toml", &restart, &health(well));
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stdout_of(&output));
    assert_eq!(stage.says("server"), "released");
}

#[test]
fn y10_a_configuration_that_is_refused_changes_nothing() {
    let stage = Stage::new();
    let restarted = stage.path("restarted");
    let restart = format!("touch {}", restarted.display());
    let output = stage.upgrade("--check wrong.toml", &restart, &health(restarted.clone()));
    assert_eq!(output.status.code(), Some(1), "{}", stdout_of(&output));
    assert!(
        stdout_of(&output).contains("refuses the configuration"),
        "{}",
        stdout_of(&output)
    );
    assert_eq!(stage.says("server"), "former");
    assert!(!restarted.exists() && !stage.path("bin/server.former").exists());
    stage.assert_clean();
}

#[test]
fn y10_a_program_that_is_not_well_is_taken_back() {
    let stage = Stage::new();
    let well = stage.path("well");
    let address = health(well.clone());
    let server = stage.path("bin/server");
    // Only the former one is ever well.
    let restart = format!(
        "rm -f {0}; if grep -q former {1}; then touch {0}; fi",
        well.display(),
        server.display()
    );
    let output = stage.upgrade("--check right.toml", &restart, &address);
    assert_eq!(output.status.code(), Some(1), "{}", stdout_of(&output));
    assert!(
        stdout_of(&output).contains("the former program runs again"),
        "{}",
        stdout_of(&output)
    );
    assert_eq!(stage.says("server"), "former");
    stage.assert_clean();
    let output = stage.upgrade("--check right.toml", "true", &health(stage.path("never")));
    assert_eq!(output.status.code(), Some(3), "{}", stdout_of(&output));
    assert_eq!(stage.says("server"), "former");
    stage.assert_clean();
}
