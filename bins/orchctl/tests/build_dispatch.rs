//! The program itself, with a worker behind a real SSH server.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use scripted_peers::Sshd;
use tempfile::TempDir;

/// A project's checkout here, a worker there.
struct Ground {
    folder: TempDir,
    sshd: Sshd,
}

impl Ground {
    fn new(slots: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sshd = Sshd::start(folder.path(), "MaxStartups 100");
        let ground = Self { folder, sshd };
        let checkout = ground.checkout();
        fs::create_dir_all(checkout.join("sub folder")).unwrap();
        fs::write(checkout.join("file.txt"), "committed\n").unwrap();
        fs::write(checkout.join("sub folder/inner.txt"), "inner\n").unwrap();
        fs::write(checkout.join(".gitignore"), "ignored.txt\n").unwrap();
        for line in [
            "init -q -b main .",
            "config user.email a@b",
            "config user.name A",
            "add .",
            "commit -q -m first",
        ] {
            git(&checkout, line);
        }
        fs::create_dir(ground.folder.path().join("tmp")).unwrap();
        ground.configure(&[("local", "worker", slots)]);
        ground
    }

    fn checkout(&self) -> PathBuf {
        self.folder.path().join("checkout")
    }

    fn worker(&self) -> PathBuf {
        self.folder.path().join("worker")
    }

    /// Workers by name, folder and slots; `nowhere` is one that does not answer.
    fn configure(&self, workers: &[(&str, &str, u16)]) {
        let mut text = String::new();
        for (name, folder, slots) in workers {
            let args = if *name == "nowhere" {
                vec!["-F/dev/null".into(), "-p1".into()]
            } else {
                self.sshd.client_args()
            };
            let folder = self.folder.path().join(folder);
            text += &format!(
                "[[worker]]\nname = '{name}'\nhost = '{}'\nslots = {slots}\nfolder = '{}'\nssh_args = {args:?}\n",
                self.sshd.host(),
                folder.display()
            );
        }
        fs::write(self.folder.path().join("workers.toml"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_build-dispatch"));
        command
            .current_dir(self.checkout())
            .args(args)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.folder.path().join("tmp"));
        command.env(
            "BUILD_DISPATCH_CONFIG",
            self.folder.path().join("workers.toml"),
        );
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What is left on the worker and here: work folders, references, temporary files.
    fn stale_files(&self, worker: &str) -> Vec<String> {
        let names = |path: &Path| -> Vec<String> {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.path().display().to_string())
                .collect()
        };
        let folder = self.folder.path().join(worker);
        let mut left = names(&folder.join("work"));
        left.extend(names(&self.folder.path().join("tmp")));
        let references = git(&folder.join("objects.git"), "for-each-ref");
        left.extend(references.lines().map(str::to_owned));
        left
    }
}

fn git(folder: &Path, line: &str) -> String {
    scripted_peers::git(folder, &line.split(' ').collect::<Vec<_>>())
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until `condition` holds; it becomes so by something that happens, not by time.
fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..1500 {
        if condition() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    panic!("{what} did not happen");
}

fn alive(token: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = entries.map(|entry| fs::read(entry.path().join("cmdline")).unwrap_or_default());
    lines.any(|line| String::from_utf8_lossy(&line).contains(token))
}

#[test]
fn the_files_as_they_are_are_built_there_and_nothing_is_left() {
    let ground = Ground::new(6);
    let checkout = ground.checkout();
    fs::write(checkout.join("file.txt"), "changed\n").unwrap();
    fs::write(checkout.join("new.txt"), "new\n").unwrap();
    fs::write(checkout.join("ignored.txt"), "ignored\n").unwrap();
    fs::remove_file(checkout.join("sub folder/inner.txt")).unwrap();
    let before = (
        git(&checkout, "status --porcelain"),
        git(&checkout, "count-objects"),
        git(&checkout, "for-each-ref"),
    );
    let script = "cat file.txt new.txt; ls ignored.txt 'sub folder' 2>&1; pwd; git log --format=%s; echo oops >&2; exit 7";
    let output = ground.run(&["sh", "-c", script]);
    assert_eq!(
        output.status.code(),
        Some(7),
        "{} {}",
        err(&output),
        ground.sshd.log()
    );
    let text = out(&output);
    assert!(text.starts_with("changed\nnew\n"), "{text}");
    assert!(
        text.contains("ignored.txt': No such file") && !text.contains("inner.txt"),
        "{text}"
    );
    assert!(
        text.contains("/worker/work/1\n") && text.ends_with("build-dispatch\nfirst\n"),
        "{text}"
    );
    assert!(
        err(&output).contains("worker local, slot 1") && err(&output).contains("oops"),
        "{}",
        err(&output)
    );
    assert_eq!(before.0, git(&checkout, "status --porcelain"));
    assert_eq!(
        (before.1, before.2),
        (
            git(&checkout, "count-objects"),
            git(&checkout, "for-each-ref")
        )
    );
    assert_eq!(ground.stale_files("worker"), [""; 0]);
}

#[test]
fn a_subfolder_is_kept_and_no_shell_reads_the_command() {
    let ground = Ground::new(6);
    let mut command = ground.command(&[
        "--env",
        "SECRET",
        "sh",
        "-c",
        "cat inner.txt; printf '%s|' \"$@\" \"$SECRET\"",
        "x",
        "$(touch pwned)",
        "a'b",
        "",
        "-n",
    ]);
    let output = command
        .current_dir(ground.checkout().join("sub folder"))
        .env("SECRET", "s'$(id)")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(out(&output), "inner\n$(touch pwned)|a'b||-n|s'$(id)|");
}

#[test]
fn exit_codes_are_the_command_s_own() {
    let ground = Ground::new(6);
    for (script, expected) in [
        ("exit 0", 0),
        ("exit 254", 254),
        ("exit 255", 254),
        ("kill -9 $$", 137),
        ("exec no-such-program", 127),
    ] {
        assert_eq!(
            ground.run(&["sh", "-c", script]).status.code(),
            Some(expected),
            "{script}"
        );
    }
    let unknown = ground.run(&["--worker", "other", "true"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("there are: local"));
    let nowhere = ground
        .command(&["true"])
        .current_dir(ground.folder.path())
        .output()
        .unwrap();
    assert_eq!(nowhere.status.code(), Some(125));
    assert!(
        err(&nowhere).contains("is in no git checkout"),
        "{}",
        err(&nowhere)
    );
    ground.configure(&[("nowhere", "worker", 1)]);
    let unreachable = ground.run(&["true"]);
    assert_eq!(unreachable.status.code(), Some(125));
    assert!(
        err(&unreachable).contains("worker nowhere cannot be reached"),
        "{}",
        err(&unreachable)
    );
}

/// Starts a build that says that it runs and goes on until `name` is there.
fn held(ground: &Ground, name: &str) -> Child {
    let script = format!(
        "touch {0}/begun-{name}; while [ ! -e {0}/{name} ]; do sleep 0.05; done; echo {name}",
        ground.folder.path().display()
    );
    ground.command(&["sh", "-c", &script]).spawn().unwrap()
}

#[test]
fn a_build_waits_for_a_slot_and_a_second_worker_takes_it_at_once() {
    let ground = Ground::new(2);
    let at = |name: &str| ground.folder.path().join(name);
    let (one, two) = (held(&ground, "one"), held(&ground, "two"));
    wait_until("two builds at a time", || {
        at("begun-one").exists() && at("begun-two").exists()
    });
    let before = ground.sshd.connections();
    let three = held(&ground, "three");
    wait_until("the third client in the queue", || {
        ground.sshd.connections() > before
    });
    // The other worker is asked only once the first has said that it is full.
    ground.configure(&[
        ("local", "worker", 2),
        ("nowhere", "worker", 1),
        ("second", "worker-2", 1),
    ]);
    let elsewhere = ground.run(&["true"]);
    assert_eq!(elsewhere.status.code(), Some(0), "{}", err(&elsewhere));
    assert!(
        err(&elsewhere).contains("worker second, slot 1"),
        "{}",
        err(&elsewhere)
    );
    assert!(!at("begun-three").exists(), "both slots are taken");
    fs::write(at("one"), "").unwrap();
    assert_eq!(out(&one.wait_with_output().unwrap()), "one\n");
    wait_until("the third build", || at("begun-three").exists());
    fs::write(at("two"), "").unwrap();
    fs::write(at("three"), "").unwrap();
    assert!(two.wait_with_output().unwrap().status.success());
    let three = three.wait_with_output().unwrap();
    assert_eq!(out(&three), "three\n");
    assert!(
        err(&three).contains("all 2 slots are taken; waiting"),
        "{}",
        err(&three)
    );
    assert_eq!(ground.stale_files("worker"), [""; 0]);
    assert_eq!(ground.stale_files("worker-2"), [""; 0]);
}

#[test]
fn an_interrupted_client_leaves_nothing_running_there() {
    let ground = Ground::new(1);
    for (number, signal) in [(1, Signal::KILL), (2, Signal::TERM), (3, Signal::INT)] {
        let token = format!("77{}{number}", std::process::id());
        let begun = ground.folder.path().join(format!("begun-{number}"));
        let script = format!(
            "trap '' HUP; setsid sleep {token} & (sleep {token} &); touch {}; sleep {token}",
            begun.display()
        );
        let mut client = ground.command(&["sh", "-c", &script]).spawn().unwrap();
        wait_until("the build", || begun.exists());
        kill_process(Pid::from_child(&client), signal).unwrap();
        let status = client.wait().unwrap();
        let expected = [None, Some(143), Some(130)][number - 1];
        assert_eq!(status.code(), expected);
        wait_until("the end of its processes", || !alive(&token));
        wait_until("the clean-up", || {
            ground
                .stale_files("worker")
                .iter()
                .all(|left| left.contains("/tmp/"))
        });
        let next = ground.run(&["true"]);
        assert_eq!(
            next.status.code(),
            Some(0),
            "the slot is free again: {}",
            err(&next)
        );
    }
    assert_eq!(ground.stale_files("worker"), [""; 0]);
}

#[test]
fn a_client_that_leaves_the_queue_takes_no_slot_and_a_broken_connection_is_told() {
    let ground = Ground::new(1);
    let first = held(&ground, "first");
    wait_until("the first build", || {
        ground.folder.path().join("begun-first").exists()
    });
    let mut waiting = held(&ground, "waiting");
    wait_until("the second client's connection", || {
        ground.sshd.connections() >= 3
    });
    kill_process(Pid::from_child(&waiting), Signal::KILL).unwrap();
    waiting.wait().unwrap();
    ground.sshd.cut();
    let first = first.wait_with_output().unwrap();
    assert_eq!(first.status.code(), Some(125));
    assert!(
        err(&first).contains("the connection to the worker broke"),
        "{}",
        err(&first)
    );
    fs::write(ground.folder.path().join("first"), "").unwrap();
    let next = ground.run(&["true"]);
    assert_eq!(next.status.code(), Some(0), "{}", err(&next));
    assert!(!ground.folder.path().join("begun-waiting").exists());
    assert!(ground.worker().join("objects.git").is_dir());
}

/// Y11: the tree of the named commit is dispatched, not the directory as it stands; a commit that
/// is not there is said.
#[test]
fn y11_a_named_commit_is_dispatched_as_it_is() {
    let ground = Ground::new(2);
    let checkout = ground.checkout();
    let first = git(&checkout, "rev-parse HEAD");
    fs::write(checkout.join("file.txt"), "second\n").unwrap();
    git(&checkout, "commit -q -a -m second");
    fs::write(checkout.join("file.txt"), "changed since\n").unwrap();
    fs::write(checkout.join("new.txt"), "new\n").unwrap();
    let output = ground.run(&["--ref", &first, "sh", "-c", "cat file.txt; ls"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).starts_with("committed\n"), "{}", out(&output));
    assert!(!out(&output).contains("new.txt"), "{}", out(&output));
    let said = format!("build-dispatch: files of commit {first}\n");
    assert!(err(&output).contains(&said), "{}", err(&output));
    let plain = ground.run(&["cat", "file.txt"]);
    assert_eq!(out(&plain), "changed since\n");
    assert!(
        err(&plain).contains("files of the directory, on commit"),
        "{}",
        err(&plain)
    );
    for unknown in [
        "0123456789012345678901234567890123456789",
        "nope",
        "--help",
        "",
    ] {
        let option = format!("--ref={unknown}");
        let refused = ground.run(&[&option, "true"]);
        assert_eq!(refused.status.code(), Some(2), "{unknown}");
        assert!(
            err(&refused).contains("names no commit"),
            "{}",
            err(&refused)
        );
    }
    assert_eq!(ground.stale_files("worker"), [""; 0]);
}
