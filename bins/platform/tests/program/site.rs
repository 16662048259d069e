//! A folder with settings of all products, the program, and what it says.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use scripted_peers::{Program, Reply, ask, git};
use serde_json::Value;

pub(crate) const SECRET: &str = "a-secret-of-the-tests-0123456789";

/// The folder.
pub(crate) struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    /// All products, each on a free port. The VM manager has the driver that needs nothing made
    /// first.
    pub(crate) fn new() -> Self {
        let site = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        site.write("documents/note.md", "# Note\n\nneedle\n");
        site.write(
            "roles.json",
            r#"{"name": "Reader", "relevance_function": "BM25F", "theme": "spacelab", "haystacks":
               [{"name": "Notes", "service": "LocalFiles", "location": "documents"}]}"#,
        );
        site.write("repository/README.md", "hello\n");
        git(&site.path("repository"), &["init", "--quiet"]);
        site.write("orchestrator/orchestrator.toml", ORCHESTRATOR);
        site.write("platform.toml", PLATFORM);
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        let own = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, own).expect("permissions");
    }

    pub(crate) fn command(&self, config: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_platform"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .env_clear()
            .envs([("HOME", self.folder.path().as_os_str()), ("PATH", &path)])
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("ORCH_WEBHOOK_SECRET", SECRET)
            .env("ORCH_PROJECT_DIR", self.path("repository"))
            .arg("--config")
            .arg(config)
            .stdin(Stdio::null());
        command
    }

    /// Starts it and waits until it says that it is up.
    pub(crate) fn start(&self) -> Platform {
        self.start_with(|_| {})
    }

    /// The same, with more in its environment.
    pub(crate) fn start_with(&self, more: impl FnOnce(&mut Command)) -> Platform {
        let mut command = self.command(&self.path("platform.toml"));
        more(&mut command);
        Platform(Program::start_until(command, "platform.started"))
    }
}

pub(crate) const PLATFORM: &str = r#"
data_dir = "state"
[search]
settings = "roles.json"
listen = "127.0.0.1:0"
[vm_manager]
listen = "127.0.0.1:0"
driver = "namespace-sandbox"
agent = "/bin/true"
[runner]
listen = "127.0.0.1:0"
[orchestrator]
settings = "orchestrator/orchestrator.toml"
"#;

pub(crate) const ORCHESTRATOR: &str = r#"
listen = "127.0.0.1:0"
admin_socket = "admin.sock"
data_dir = "${PLATFORM_DATA}/orchestrator"
[webhook]
secret = "${ORCH_WEBHOOK_SECRET}"
[[projects]]
id = "main"
repository = "acme/main"
working_dir = "${ORCH_PROJECT_DIR}"
worktree_root = "worktrees"
[[agents]]
project = "main"
name = "greeter"
cli = "sh"
script = "echo hello"
"#;

/// A running platform; killed when dropped.
pub(crate) struct Platform(Program);

impl Platform {
    /// The next line of this event.
    pub(crate) fn wait_for(&mut self, event: &str) -> Value {
        let line = self.0.next_with(&format!("\"event\":\"{event}\""));
        serde_json::from_str(&line).expect("JSON")
    }

    /// One field of every line of this event so far, in order.
    pub(crate) fn printed(&self, event: &str, name: &str) -> Vec<String> {
        let output = self.0.output();
        let lines = output
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let of_event = lines.filter(|line: &Value| line["event"] == event);
        let fields = of_event.filter_map(|line| Some(line[name].as_str()?.to_owned()));
        fields.collect()
    }

    /// Where a product listens.
    pub(crate) fn address(&self, product: &str) -> String {
        let products = self.printed("platform.listening", "product");
        let urls = self.printed("platform.listening", "url");
        let found = products.iter().position(|name| name == product);
        let url = &urls[found.unwrap_or_else(|| panic!("{product} is not among {products:?}"))];
        url.trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned()
    }

    /// `GET`; the status and the body.
    pub(crate) fn get(&self, product: &str, path: &str) -> (u16, String) {
        let Reply { status, body, .. } = self.ask(product, &format!("GET {path}"));
        (status, body)
    }

    /// A request without a body.
    pub(crate) fn ask(&self, product: &str, request: &str) -> Reply {
        let reply = ask(&self.address(product), request, &[], "");
        reply.expect("it answers")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.child.id()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        self.0.signal(signal);
    }

    /// A signal, and the exit code; everything that was logged is in [`printed`](Self::printed)
    /// then.
    pub(crate) fn end(&mut self, signal: rustix::process::Signal) -> Option<i32> {
        self.0.end_by(signal).0
    }
}

/// Standard error as text.
pub(crate) fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
