//! A daemon in a folder of its own, and a client for both of its doors.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scripted_peers::Program;
pub(crate) use scripted_peers::git;
use serde_json::Value;

use crate::wire::exchange;
pub(crate) use crate::wire::{Answer, comment, pull, run_of, runs_of};

pub(crate) const SECRET: &str = "a-secret-of-the-tests-0123456789";
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A folder with a configuration, a repository and room for data.
pub(crate) struct Site {
    pub(crate) folder: tempfile::TempDir,
}

/// A running daemon; ended when dropped.
pub(crate) struct Daemon {
    program: Program,
    pub(crate) port: u16,
    pub(crate) admin_port: Option<u16>,
    socket: PathBuf,
    /// How far the lines of each event were waited for: what comes first at a start is no promise.
    passed: HashMap<String, usize>,
}

impl Site {
    /// A site with `agents` (TOML) and more of the top level.
    pub(crate) fn new(top: &str, agents: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let site = Self { folder };
        let repository = site.path("repo");
        std::fs::create_dir(&repository).expect("a folder");
        git(&repository, &["init", "--quiet"]);
        std::fs::write(repository.join("README.md"), "hello\n").expect("a file");
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "--quiet", "-m", "first"]);
        site.configure(top, agents);
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The commit of the repository's main branch.
    pub(crate) fn head(&self) -> String {
        git(&self.path("repo"), &["rev-parse", "HEAD"])
    }

    /// One more commit, on no branch.
    pub(crate) fn commit(&self, text: &str) -> String {
        let repository = self.path("repo");
        let tree = git(&repository, &["rev-parse", "HEAD^{tree}"]);
        git(
            &repository,
            &["commit-tree", "-m", text, "-p", "HEAD", &tree],
        )
    }

    pub(crate) fn configure(&self, top: &str, agents: &str) {
        let base = self.folder.path().display();
        let text = format!(
            "wake_on_dispatch = true\nlisten = \"127.0.0.1:0\"\nadmin_socket = \"admin.sock\"\n{top}\n\
             [webhook]\nsecret = \"{SECRET}\"\nmax_body_bytes = 65536\n\
             [[projects]]\nid = \"main\"\nrepository = \"acme/main\"\nworking_dir = \"{base}/repo\"\n{agents}\n"
        );
        let path = self.path("orchestrator.toml");
        std::fs::write(&path, text).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, mode).expect("permissions");
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_orchestrator"));
        command.arg(self.path("orchestrator.toml"));
        command
            .env_remove("LOG_LEVEL")
            .env_remove("RUST_LOG")
            .env_remove("NOTIFY_SOCKET");
        command
    }

    pub(crate) fn start(&self) -> Daemon {
        self.start_with(|_| {})
    }

    /// The daemon, with more said to it.
    pub(crate) fn start_with(&self, more: impl FnOnce(&mut Command)) -> Daemon {
        let mut command = self.command();
        more(&mut command);
        let mut daemon = Daemon {
            program: Program::start_until(command, "orchestrator.listening"),
            port: 0,
            admin_port: None,
            socket: self.path("admin.sock"),
            passed: HashMap::new(),
        };
        let line = daemon.wait_for_line("orchestrator.listening");
        daemon.port = port_of(line["url"].as_str().expect("an address"));
        daemon.admin_port = line["admin"].as_str().map(port_of);
        daemon
    }
}

fn port_of(url: &str) -> u16 {
    let port = url.trim_end_matches('/').rsplit(':').next();
    port.and_then(|port| port.parse().ok())
        .unwrap_or_else(|| panic!("no port in {url}"))
}

impl Daemon {
    /// A line of this event that nobody has waited for yet.
    pub(crate) fn wait_for_line(&mut self, event: &str) -> Value {
        let from = self.passed.entry(event.to_owned()).or_default();
        let (at, line) = self.program.find(*from, &format!("\"event\":\"{event}\""));
        *from = at + 1;
        serde_json::from_str(&line).expect("JSON")
    }

    /// Everything it has logged, as text.
    pub(crate) fn logged(&self) -> String {
        self.program.output()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.program.child.id()
    }

    pub(crate) fn kill(mut self) {
        self.program.kill();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.program.signal(signal);
    }

    /// SIGTERM, and the exit code.
    pub(crate) fn stop(self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// The exit code, once it has one.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.program.child.wait().expect("it ends").code()
    }

    /// `POST /webhook`, signed rightly.
    pub(crate) fn hook(&self, body: &Value) -> Answer {
        self.try_hook(body).expect("the daemon answers")
    }

    pub(crate) fn try_hook(&self, body: &Value) -> Option<Answer> {
        let body = serde_json::to_vec(body).expect("JSON");
        let signature = forge_core::sign(SECRET, &body).expect("a secret").hub();
        self.raw_hook(&[("X-Hub-Signature-256", &signature)], &body)
    }

    pub(crate) fn raw_hook(&self, headers: &[(&str, &str)], body: &[u8]) -> Option<Answer> {
        let mut head = format!(
            "POST /webhook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        {
            head.push_str("Content-Type: application/json\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        exchange(stream, &head, body)
    }

    /// `POST /webhook` of a delivery with this id, signed rightly.
    pub(crate) fn deliver(&self, id: &str, body: &Value) -> Option<Answer> {
        let body = serde_json::to_vec(body).expect("JSON");
        let signature = forge_core::sign(SECRET, &body).expect("a secret").hub();
        let headers = [
            ("X-Hub-Signature-256", &*signature),
            ("X-GitHub-Delivery", id),
        ];
        self.raw_hook(&headers, &body)
    }

    /// A request to the receiver, as it is.
    pub(crate) fn plain(&self, text: &str) -> Option<Answer> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        exchange(stream, text.strip_suffix("\r\n").unwrap_or(text), b"")
    }

    /// A request to the admin bridge's socket.
    pub(crate) fn admin(&self, method: &str, path: &str) -> Answer {
        self.try_admin(method, path).expect("the bridge answers")
    }

    /// The same; `None` where the connection ends without an answer.
    pub(crate) fn try_admin(&self, method: &str, path: &str) -> Option<Answer> {
        let stream = UnixStream::connect(&self.socket).expect("the socket is there");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n"
        );
        exchange(stream, &head, b"")
    }

    /// What a stream of the admin bridge sends until `text` is in it.
    pub(crate) fn follow(&self, path: &str, text: &str) -> String {
        let mut stream = UnixStream::connect(&self.socket).expect("the socket is there");
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it is taken");
        stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a time");
        let (mut seen, mut part) = (String::new(), [0; 4096]);
        while !seen.contains(text) {
            match stream.read(&mut part) {
                Ok(read) if read > 0 => seen += &String::from_utf8_lossy(&part[..read]),
                ended => panic!("{path}: {ended:?} before {text}: {seen}"),
            }
        }
        seen
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let until = Instant::now() + TEST_TIMEOUT;
        let answer = loop {
            let answer = self.admin("GET", path);
            // A process that was paused while it read the request says that it came too slowly; of
            // several a leader that had no processor for long leads anew.
            let is_led_anew = answer.status == 503 && answer.body.contains("problem:no-leader");
            if answer.status != 408 && !(is_led_anew && Instant::now() < until) {
                break answer;
            }
            std::thread::park_timeout(Duration::from_millis(50));
        };
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    pub(crate) fn post(&self, path: &str) -> Value {
        let answer = self.admin("POST", path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    pub(crate) fn run(&self, id: &str) -> Value {
        self.get(&format!("/admin/runs/{id}"))
    }

    /// The run once it is as wanted.
    pub(crate) fn wait_for_run(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        wait_until(&format!("run {id}"), || {
            last = self.run(id);
            wanted(&last)
        });
        last
    }

    pub(crate) fn ended(&self, id: &str) -> Value {
        self.wait_for_run(id, |run| run["ended"] == true)
    }

    /// The names of the journal's events, in order.
    pub(crate) fn journal(&self) -> Vec<String> {
        let page = self.get("/admin/journal?limit=1000");
        let entries = page["entries"].as_array().expect("entries").clone();
        entries
            .iter()
            .map(|entry| entry["event"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

impl Drop for Daemon {
    /// Asked to end, so that its agents end with it; killed when it does not.
    fn drop(&mut self) {
        self.program.end_within(Duration::from_secs(10));
    }
}

/// Waits for an event, as long as it takes and no longer.
pub(crate) fn wait_until(what: &str, holds: impl FnMut() -> bool) {
    wait_long(what, TEST_TIMEOUT, holds);
}

/// The same for what takes longer than anything of this machine: an emulated one, for example.
pub(crate) fn wait_long(what: &str, most: Duration, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + most;
    while !holds() {
        assert!(Instant::now() < until, "{what}: it did not happen in time");
        pause(Duration::from_millis(20));
    }
}

/// The pace of a client.
pub(crate) fn pause(time: Duration) {
    let (_keep, never) = channel::<()>();
    let _ = never.recv_timeout(time);
}
