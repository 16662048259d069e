//! The real daemon, in a folder of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use scripted_peers::{Program, git};
use serde_json::Value;

use crate::{code, command, err, out};

pub(crate) const SECRET: &str = "shared-secret-of-all-0123456789";
pub(crate) const OWN_SECRET: &str = "own-secret-of-tools-0123456789";
pub(crate) const TOKEN: &str = "token-of-the-admin-bridge";
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

const AGENTS: &str = r#"
[mentions]
max_dispatches_per_tick = 100
max_concurrent_mention_agents = 100
[[agents]]
project = "main"
name = "greeter"
cli = "sh"
script = "echo hello; echo to the world"
max_parallel = 8
[[agents]]
project = "main"
name = "failing"
cli = "sh"
script = "echo no; exit 3"
[[agents]]
project = "main"
name = "killed"
cli = "sh"
script = "kill -9 $$$$"
[[agents]]
project = "main"
name = "slow"
cli = "sh"
script = "echo begun; exec sleep 600"
grace_seconds = 1
max_parallel = 8
[[agents]]
project = "main"
name = "asleep"
enabled = false
cli = "sh"
script = "true"
[[agents]]
project = "main"
name = "writer"
cli = "command"
command = ["/bin/cat"]
task = "Write well."
"#;

/// A project in `conf.d` whose repository's webhook has a secret of its own.
const TOOLS: &str = r#"
[project]
id = "tools"
repository = "acme/tools"
working_dir = "BASE/repo"
webhook_secret = "OWN"
[[agents]]
name = "helper"
cli = "sh"
script = "echo helped"
"#;

/// A folder with a configuration and a repository.
pub(crate) struct Site {
    pub(crate) folder: tempfile::TempDir,
}

/// A running daemon; ended when dropped.
pub(crate) struct Daemon {
    program: Program,
    pub(crate) receiver: String,
    pub(crate) admin: String,
}

impl Site {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let site = Self { folder };
        let repository = site.path("repo");
        fs::create_dir(&repository).unwrap();
        git(&repository, &["init", "--quiet"]);
        let commit = ["commit", "--quiet", "--allow-empty", "-m", "first"];
        git(&repository, &commit);
        fs::create_dir(site.path("conf.d")).unwrap();
        let base = site.folder.path().display().to_string();
        let tools = TOOLS.replace("BASE", &base).replace("OWN", OWN_SECRET);
        site.write("conf.d/tools.toml", &tools);
        site.configure("");
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The configuration, with more at its top.
    pub(crate) fn configure(&self, top: &str) {
        let base = self.folder.path().display();
        let text = format!(
            "wake_on_dispatch = true\nmain_project = \"main\"\nlisten = \"127.0.0.1:0\"\nadmin_socket = \"admin.sock\"\n\
             admin_listen = \"127.0.0.1:0\"\nadmin_token = \"{TOKEN}\"\n{top}\n[webhook]\nsecret = \"${{HIDDEN}}\"\n\
             [[projects]]\nid = \"main\"\nrepository = \"acme/main\"\nworking_dir = \"{base}/repo\"\n{AGENTS}"
        );
        self.write("orchestrator.toml", &text);
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub(crate) fn start(&self) -> Daemon {
        self.start_with(&[])
    }

    /// The daemon, with further variables.
    pub(crate) fn start_with(&self, variables: &[(&str, &str)]) -> Daemon {
        let mut command = Command::new(orchestrator());
        command.envs(variables.iter().copied());
        command
            .arg(self.path("orchestrator.toml"))
            .env("HIDDEN", SECRET)
            .env_remove("LOG_LEVEL")
            .env_remove("RUST_LOG")
            .env_remove("NOTIFY_SOCKET");
        let program = Program::start_until(command, "orchestrator.listening");
        let line = program.wait_for("orchestrator.listening");
        let line: Value = serde_json::from_str(&line).unwrap();
        // One of several does not say where its admin port is.
        let address = |name: &str| {
            let url = line[name].as_str().unwrap_or_default();
            let address = url.trim_end_matches('/').trim_start_matches("http://");
            address.to_owned()
        };
        Daemon {
            program,
            receiver: address("url"),
            admin: address("admin"),
        }
    }

    /// orchctl in the site's folder, by the socket's relative path.
    pub(crate) fn orchctl(&self, daemon: &Daemon, args: &[&str]) -> Command {
        let receiver = format!("--receiver={}", daemon.receiver);
        let place = [
            &*receiver,
            "--admin=./admin.sock",
            "--config=orchestrator.toml",
        ];
        let args: Vec<&str> = place.into_iter().chain(args.iter().copied()).collect();
        let mut command = command(&args, &[("HIDDEN", SECRET)]);
        command.current_dir(self.folder.path());
        command
    }

    pub(crate) fn ask(&self, daemon: &Daemon, args: &[&str]) -> Output {
        self.orchctl(daemon, args).output().unwrap()
    }

    /// The standard output of a command that ends with `expected`.
    pub(crate) fn printed(&self, daemon: &Daemon, args: &[&str], expected: i32) -> String {
        let output = self.ask(daemon, args);
        let said = format!("{args:?}: {} {}", out(&output), err(&output));
        assert_eq!(code(&output), expected, "{said}");
        out(&output)
    }

    /// The same with `--format json`.
    pub(crate) fn json(&self, daemon: &Daemon, args: &[&str], expected: i32) -> Value {
        let all: Vec<&str> = args.iter().copied().chain(["--format=json"]).collect();
        let text = self.printed(daemon, &all, expected);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}"))
    }

    /// Starts an agent; the id of its run.
    pub(crate) fn trigger(&self, daemon: &Daemon, agent: &str) -> String {
        let reply = self.json(daemon, &["trigger", agent], 0);
        reply["dispatches"][0]["run"].as_str().unwrap().to_owned()
    }

    /// The run once it is in this state.
    pub(crate) fn in_state(&self, daemon: &Daemon, run: &str, state: &str) -> Value {
        let until = Instant::now() + TEST_TIMEOUT;
        loop {
            let view = self.json(daemon, &["show", run], 0);
            if view["state"] == state {
                return view;
            }
            assert!(Instant::now() < until, "never {state}: {view}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Daemon {
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        self.program.signal(signal);
    }

    /// Ends it as an operator would; the exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.program.signal(rustix::process::Signal::TERM);
        self.program.child.wait().unwrap().code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.program.end_within(Duration::from_secs(10));
    }
}

/// The daemon's program, which cargo puts beside the program under test when the whole workspace is
/// tested.
fn orchestrator() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_orchctl")).with_file_name("orchestrator");
    assert!(
        path.exists(),
        "{} is missing: run `cargo build -p orchestrator`, or test both packages",
        path.display()
    );
    path
}
