//! The daemon: start-up and memory with a long queue, and from a webhook to its process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::{AGENTS, agents, at, comment, millis};

const SECRET: &str = "a-secret-of-the-bench-0123456789";
/// Webhooks whose process is waited for.
const WEBHOOKS: u64 = 200;

/// Prints the figures.
pub(crate) fn measure() {
    long_queue();
    to_process();
}

fn long_queue() {
    let site = Site::new(
        "max_queued = 100000\n",
        "max_per_comment = 100\n",
        &agents(),
    );
    let daemon = site.start();
    daemon.ask("POST", "/admin/projects/main/pause");
    let began = Instant::now();
    for id in 0..100 {
        let reply = daemon.hook(&comment(id, 100));
        assert_eq!(
            reply["dispatches"].as_array().map(Vec::len),
            Some(100),
            "{reply}"
        );
    }
    let filled = began.elapsed();
    drop(daemon);
    let mut starts = Vec::new();
    let (mut fresh, mut memory) = (0, (0, 0));
    for _ in 0..5 {
        let began = Instant::now();
        let daemon = site.start();
        while daemon.ask("GET", "/admin/status")["ticks"].as_u64() == Some(0) {}
        starts.push(began.elapsed());
        assert_eq!(
            daemon.ask("GET", "/admin/status")["queue"]["queued"],
            10_000
        );
        fresh = daemon.memory("VmRSS:");
        for _ in 0..20 {
            daemon.ask("POST", "/admin/projects/main/pause");
            daemon.ask("GET", "/admin/status");
            daemon.ask("GET", "/admin/agents");
        }
        memory = (daemon.memory("VmRSS:"), daemon.memory("VmHWM:"));
    }
    starts.sort();
    println!(
        "\n10,000 queued, {AGENTS} agents: accepted in {} ms (100 webhooks of 100 mentions)",
        millis(filled)
    );
    println!(
        "start until the first tick has ended: p50 {} ms, most {} ms",
        millis(at(&starts, 0.5)),
        millis(*starts.last().unwrap_or(&Duration::ZERO))
    );
    let (now, peak) = (memory.0 / 1024, memory.1 / 1024);
    println!(
        "memory: {} MB after the start, {now} MB after 20 looks at everything, peak {peak} MB",
        fresh / 1024
    );
}

fn to_process() {
    let agent = "[[agents]]\nproject = \"main\"\nname = \"agent-0\"\ncli = \"sh\"\nscript = \"date +%s%N >> started\"\nmax_parallel = 8\n";
    let site = Site::new("", "", agent);
    let daemon = site.start();
    let started = site.path("repo/started");
    let (mut times, mut accepted) = (Vec::new(), Vec::new());
    for id in 0..WEBHOOKS {
        let sent = SystemTime::now();
        daemon.hook(&one(id));
        accepted.push(sent.elapsed().unwrap_or_default());
        let wanted = usize::try_from(id).unwrap_or(0);
        let until = Instant::now() + Duration::from_secs(20);
        let at = loop {
            let text = std::fs::read_to_string(&started).unwrap_or_default();
            if let Some(line) = text.lines().nth(wanted)
                && text.ends_with('\n')
            {
                break line.parse::<u64>().expect("nanoseconds");
            }
            assert!(Instant::now() < until, "webhook {id} started nothing");
            std::thread::park_timeout(Duration::from_millis(1));
        };
        let since = sent
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        times.push(Duration::from_nanos(at).saturating_sub(since));
    }
    times.sort();
    accepted.sort();
    println!(
        "from a webhook to its process's first line: p50 {} ms, p95 {} ms, p99 {} ms (accepted after p50 {} ms)",
        millis(at(&times, 0.5)),
        millis(at(&times, 0.95)),
        millis(at(&times, 0.99)),
        millis(at(&accepted, 0.5))
    );
}

/// A comment that asks the one agent there is.
fn one(id: u64) -> Value {
    let mut event = comment(id, 1);
    event["comment"]["body"] = "@orch:agent-0".into();
    event
}

struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new(top: &str, mentions: &str, agents: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let site = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        let repository = site.path("repo");
        let made = Command::new("git")
            .args(["init", "--quiet"])
            .arg(&repository)
            .status();
        assert!(made.expect("git is installed").success());
        let text = format!(
            "wake_on_dispatch = true\nlisten = \"127.0.0.1:0\"\nadmin_socket = \"admin.sock\"\nmax_running = 64\n{top}\
             [webhook]\nsecret = \"{SECRET}\"\n[mentions]\n{mentions}\
             [[projects]]\nid = \"main\"\nrepository = \"acme/main\"\nworking_dir = \"{}\"\n{agents}\n",
            repository.display()
        );
        let path = site.path("orchestrator.toml");
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self) -> Daemon {
        let mut child = Command::new(env!("CARGO_BIN_EXE_orchestrator"))
            .arg(self.path("orchestrator.toml"))
            .env_remove("LOG_LEVEL")
            .env_remove("RUST_LOG")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let value: Value = serde_json::from_str(&line).ok()?;
            let url = value["url"].as_str()?;
            url.trim_end_matches('/').rsplit(':').next()?.parse().ok()
        });
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Daemon {
            child,
            port: port.expect("it listens"),
            socket: self.path("admin.sock"),
        }
    }
}

struct Daemon {
    child: Child,
    port: u16,
    socket: PathBuf,
}

impl Daemon {
    fn hook(&self, body: &Value) -> Value {
        let body = serde_json::to_vec(body).expect("JSON");
        let signature = forge_core::sign(SECRET, &body).expect("a secret").hub();
        let head = format!(
            "POST /webhook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             X-Hub-Signature-256: {signature}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        exchange(stream, &[head.as_bytes(), &body].concat())
    }

    fn ask(&self, method: &str, path: &str) -> Value {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        exchange(connect(&self.socket), head.as_bytes())
    }

    /// A figure of `/proc/<pid>/status`, in kilobytes.
    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().split(' ').next()?.parse().ok())
            .expect("a figure")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        let _ = self.child.wait();
    }
}

fn connect(socket: &Path) -> UnixStream {
    UnixStream::connect(socket).expect("the bridge listens")
}

/// The JSON of the answer; its body ends with the connection, and may come in chunks.
fn exchange(mut stream: impl Read + Write, request: &[u8]) -> Value {
    stream.write_all(request).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, mut rest) = answer.split_once("\r\n\r\n").expect("a head");
    if !head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        return serde_json::from_str(rest).unwrap_or_else(|error| panic!("{error}: {answer}"));
    }
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        body.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}
