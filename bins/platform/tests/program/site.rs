//! A folder with settings of all products, the program, and what it says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);
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
        let made = Command::new("git")
            .args(["init", "--quiet"])
            .arg(site.path("repository"))
            .status();
        assert!(made.expect("git is installed").success());
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
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let errors = child.stderr.take().expect("it is piped");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut platform = Platform {
            child,
            lines,
            seen: Vec::new(),
        };
        platform.wait_for("platform.started");
        platform
    }
}

const PLATFORM: &str = r#"
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

const ORCHESTRATOR: &str = r#"
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
pub(crate) struct Platform {
    child: Child,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Platform {
    /// The next line of this event.
    pub(crate) fn wait_for(&mut self, event: &str) -> Value {
        let until = Instant::now() + TEST_TIMEOUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("it never logged {event}:\n{:#?}", self.seen);
            };
            self.seen.push(line.clone());
            if field(&line, "event").as_deref() == Some(event) {
                return line;
            }
        }
    }

    /// One field of every line of this event so far, in order.
    pub(crate) fn printed(&self, event: &str, name: &str) -> Vec<String> {
        let lines = self.seen.iter();
        let of_event = lines.filter(|line| field(line, "event").as_deref() == Some(event));
        of_event.filter_map(|line| field(line, name)).collect()
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
        let address = self.address(product);
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        answer(stream)
    }

    /// `POST` of a body with further headers; the status and the body.
    pub(crate) fn post(
        &self,
        product: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> (u16, String) {
        let address = self.address(product);
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        answer(stream)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// A signal, and the exit code; everything that was logged is in [`printed`](Self::printed)
    /// then.
    pub(crate) fn end(&mut self, signal: rustix::process::Signal) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
        let status = self.child.wait().expect("it ends");
        self.seen.extend(self.lines.iter());
        status.code()
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and the body of an answer that ends with the connection.
fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// A field of a log line, wherever the formatter puts fields.
fn field(line: &Value, name: &str) -> Option<String> {
    let fields = line.get("fields");
    let value = line
        .get(name)
        .or_else(|| fields.and_then(|fields| fields.get(name)))?;
    value.as_str().map(str::to_owned)
}

/// Standard error as text.
pub(crate) fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
