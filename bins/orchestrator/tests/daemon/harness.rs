//! A daemon in a folder of its own, and a client for both of its doors.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::wire::exchange;
pub(crate) use crate::wire::{Answer, comment, pull, run_of, runs_of};

pub(crate) const SECRET: &str = "a-secret-of-the-tests-0123456789";
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A folder with a configuration, a repository and room for data.
pub(crate) struct Site {
    pub(crate) folder: tempfile::TempDir,
}

/// A running daemon; killed when dropped.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) port: u16,
    pub(crate) admin_port: Option<u16>,
    socket: PathBuf,
    lines: Mutex<Receiver<Value>>,
    /// Lines that were read while others were waited for: what comes first at a start is no
    /// promise.
    passed: Vec<Value>,
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
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
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the daemon starts");
        let errors = child.stderr.take().expect("it is piped");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if send.send(value).is_err() {
                    break;
                }
            }
        });
        let mut daemon = Daemon {
            child,
            port: 0,
            admin_port: None,
            socket: self.path("admin.sock"),
            lines: Mutex::new(lines),
            passed: Vec::new(),
        };
        let line = daemon.wait_for_line("orchestrator.listening");
        let url = field(&line, "url").unwrap_or_else(|| panic!("no address in {line}"));
        daemon.port = port_of(&url);
        daemon.admin_port = field(&line, "admin").map(|url| port_of(&url));
        daemon
    }
}

fn port_of(url: &str) -> u16 {
    let port = url.trim_end_matches('/').rsplit(':').next();
    port.and_then(|port| port.parse().ok())
        .unwrap_or_else(|| panic!("no port in {url}"))
}

/// A field of a log line, wherever the formatter puts fields.
fn field(line: &Value, name: &str) -> Option<String> {
    let value = line
        .get(name)
        .or_else(|| line.get("fields").and_then(|fields| fields.get(name)))?;
    value.as_str().map(str::to_owned)
}

impl Daemon {
    /// A line of this event that nobody has waited for yet.
    pub(crate) fn wait_for_line(&mut self, event: &str) -> Value {
        let is_it = |line: &Value| field(line, "event").as_deref() == Some(event);
        if let Some(place) = self.passed.iter().position(is_it) {
            return self.passed.remove(place);
        }
        let until = Instant::now() + TEST_TIMEOUT;
        let lines = self.lines.get_mut().expect("not poisoned");
        while let Ok(line) = lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            if is_it(&line) {
                return line;
            }
            self.passed.push(line);
        }
        let seen: Vec<String> = self.passed.iter().map(Value::to_string).collect();
        panic!("the daemon never logged {event}:\n{}", seen.join("\n"));
    }

    /// Everything it has logged since this was asked last, as text.
    pub(crate) fn logged(&self) -> String {
        let lines = self.lines.lock().expect("not poisoned");
        let lines = lines.try_iter().map(|line| line.to_string());
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// SIGTERM, and the exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.signal(rustix::process::Signal::TERM);
        self.child.wait().expect("it ends").code()
    }

    /// The exit code, once it has one.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
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
        let answer = loop {
            let answer = self.admin("GET", path);
            // A process that was paused while it read the request says that it came too slowly.
            if answer.status != 408 {
                break answer;
            }
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
        let until = Instant::now() + Duration::from_secs(10);
        if matches!(self.child.try_wait(), Ok(None)) {
            let pid = rustix::process::Pid::from_child(&self.child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            pause(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
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
