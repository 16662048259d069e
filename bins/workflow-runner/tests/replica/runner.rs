//! A runner of a test, on a database that others have too.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use postgres_server::PostgresServer;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const SECRET: &str = "sixteen--letters";
/// On a machine that does other things as well.
const DEADLINE: Duration = Duration::from_secs(90);

pub(crate) struct Runner {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) _folder: TempDir,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Runner {
    pub(crate) fn start(server: &PostgresServer) -> Self {
        Self::on(&server.url())
    }

    pub(crate) fn on(url: &str) -> Self {
        Self::with(url, &[], "keep_runs = 1000\n")
    }

    /// With further variables and settings.
    pub(crate) fn with(url: &str, variables: &[(&str, &str)], settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("runner.toml");
        std::fs::write(&config, settings).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("data"))
            .arg("--config")
            .arg(&config)
            .envs(variables.iter().copied())
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("VMM_API_URL", "http://127.0.0.1:9")
            .env("LOG_LEVEL", "info")
            .env("WORKFLOW_RUNNER_STORE_URL", url)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let line = lines
            .find(|line| line.contains("server.listening"))
            .unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        let url = line["url"].as_str().unwrap();
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let address = address.to_owned();
        // A pipe that nobody reads is full one day.
        std::thread::spawn(move || {
            lines.for_each(|line| {
                if std::env::var_os("SHOW_LOGS").is_some() {
                    let _ = writeln!(std::io::stderr(), "{line}");
                }
            });
        });
        Self {
            child,
            address,
            _folder: folder,
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        let _ = kill_process(pid.unwrap(), signal);
    }

    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Option<Answer> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let mut head = format!(
            "{method} {path} HTTP/1.0\r\nhost: {}\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some(Answer {
            status: head.split(' ').nth(1)?.parse().ok()?,
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        })
    }

    pub(crate) fn get(&self, path: &str) -> Option<Answer> {
        self.ask("GET", path, &[], "")
    }

    pub(crate) fn push(&self, delivery: &str) -> Answer {
        let body = json!({"ref": "refs/heads/main", "before": "0".repeat(40), "after": "1".repeat(40),
            "created": true, "deleted": false, "commits": [], "note": delivery,
            "pusher": {"login": "alice"}, "sender": {"login": "alice"},
            "repository": {"full_name": "acme/rocket", "clone_url": "http://127.0.0.1:9/rocket.git",
                "html_url": "http://forge.example/acme/rocket", "default_branch": "main"}});
        let body = body.to_string().replace(&"1".repeat(40), &sha_of(delivery));
        let signature = forge_core::sign(SECRET, body.as_bytes()).unwrap().hub();
        let headers = [
            ("x-gitea-event", "push"),
            ("x-gitea-delivery", delivery),
            ("x-hub-signature-256", &signature),
        ];
        self.ask("POST", "/webhook", &headers, &body).unwrap()
    }

    pub(crate) fn role(&self) -> Option<String> {
        let health = self.get("/health")?.json();
        Some(health["replica"]["role"].as_str()?.to_owned())
    }

    /// How long it took until the process was this.
    pub(crate) fn until_role(&self, role: &str) -> Duration {
        until(|| self.role().as_deref() == Some(role), role)
    }

    pub(crate) fn runs(&self) -> Vec<Value> {
        let answer = self.get("/runs?limit=1000").unwrap();
        answer.json().as_array().cloned().unwrap_or_default()
    }
}

/// Another commit for each delivery: a commit is run once.
fn sha_of(delivery: &str) -> String {
    let sum = delivery.bytes().fold(7_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    format!("{sum:040x}")
}

pub(crate) fn until(mut holds: impl FnMut() -> bool, what: &str) -> Duration {
    let began = Instant::now();
    while !holds() {
        assert!(
            began.elapsed() < DEADLINE,
            "not within a minute and a half: {what}"
        );
        std::thread::park_timeout(Duration::from_millis(20));
    }
    began.elapsed()
}

pub(crate) fn pair(server: &PostgresServer) -> (Runner, Runner) {
    let first = Runner::start(server);
    first.until_role("leader");
    let second = Runner::start(server);
    second.until_role("standby");
    until(
        || second.get("/readyz").is_some_and(|it| it.status == 200),
        "a ready standby",
    );
    (first, second)
}
