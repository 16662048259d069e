//! `search-server` as a contender: configured for one folder, started as its users start it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{Running, pause};

/// Where one server keeps its things during the benchmark.
pub(crate) struct Setup {
    pub(crate) binary: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) port: u16,
}

impl Setup {
    /// Builds the release binary and writes a role that searches `folder` by BM25F.
    pub(crate) fn new(home: &Path, folder: &Path) -> Self {
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--release",
                "--quiet",
                "--package",
                "search-server",
            ])
            .status()
            .expect("cargo runs");
        assert!(built.success(), "search-server does not build");
        let bench = std::env::current_exe().expect("a program knows its own path");
        let release = bench
            .ancestors()
            .nth(2)
            .expect("target/release/deps/search")
            .to_owned();
        std::fs::create_dir_all(home).expect("a folder for the server");
        let setup = Self {
            binary: release.join("search-server"),
            home: home.to_owned(),
            port: free_port(),
        };
        setup.write_role(folder, "BM25F");
        setup
    }

    /// Writes the role: it searches `folder` by `function`.
    pub(crate) fn write_role(&self, folder: &Path, function: &str) {
        let role = serde_json::json!({
            "name": "bench", "relevance_function": function, "theme": "spacelab",
            "haystacks": [{"name": "folder", "service": "LocalFiles", "location": folder}]
        });
        std::fs::write(self.home.join("role.json"), role.to_string()).expect("the role is written");
    }

    /// Waits until the concepts of the source are learnt; returns the documents learnt from.
    pub(crate) fn wait_until_learnt(&self) -> u64 {
        let began = Instant::now();
        loop {
            let health = get(self.port, "/health").expect("/health answers");
            let concepts = &health["sources"][0]["concepts"];
            if concepts["state"] == "ready" {
                return concepts["total"].as_u64().unwrap_or(0);
            }
            assert!(
                began.elapsed() < Duration::from_secs(3600),
                "learning takes too long: {concepts}"
            );
            pause(Duration::from_millis(500));
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    /// Starts the server; `cache` is the value of `SERVICE_CACHE_SIZE`.
    pub(crate) fn start(&self, cache: &str) -> Running {
        Running::start(
            Command::new(&self.binary)
                .arg("--config")
                .arg(self.home.join("role.json"))
                .env("SERVICE_DATA_PATH", self.data())
                .env(
                    "SERVICE_SERVER_HOSTNAME",
                    format!("127.0.0.1:{}", self.port),
                )
                .env("SERVICE_CACHE_SIZE", cache)
                .env("LOG_LEVEL", "warn"),
        )
    }

    /// Waits until `path` answers 200 and returns how long that took.
    pub(crate) fn wait_for(&self, path: &str, every: Duration) -> Duration {
        let began = Instant::now();
        while get(self.port, path).is_none() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{path} does not answer"
            );
            pause(every);
        }
        began.elapsed()
    }

    /// Waits until every source is `ready`; returns the documents found in it.
    pub(crate) fn wait_until_indexed(&self) -> u64 {
        let began = Instant::now();
        loop {
            let health = get(self.port, "/health").expect("/health answers");
            let source = &health["sources"][0];
            if source["state"] == "ready" {
                return source["documents"].as_u64().unwrap_or(0);
            }
            assert_ne!(source["state"], "failed", "{source}");
            assert!(
                began.elapsed() < Duration::from_secs(1800),
                "indexing takes too long: {source}"
            );
            pause(Duration::from_millis(100));
        }
    }

    /// Documents that match `word`.
    pub(crate) fn total(&self, word: &str) -> u64 {
        let body = serde_json::json!({"search_term": word, "limit": 1}).to_string();
        let answer = exchange(
            self.port,
            &format!(
                "POST /api/documents/search HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        );
        answer.and_then(|json| json["total"].as_u64()).unwrap_or(0)
    }
}

/// A port nobody listens on right now.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("loopback has ports");
    listener.local_addr().expect("a bound address").port()
}

/// GET of a JSON (or other) resource; `None` unless it answers 200.
pub(crate) fn get(port: u16, path: &str) -> Option<serde_json::Value> {
    exchange(
        port,
        &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"),
    )
}

fn exchange(port: u16, request: &str) -> Option<serde_json::Value> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    if !head.starts_with("HTTP/1.1 200") {
        return None;
    }
    Some(serde_json::from_str(body).unwrap_or(serde_json::Value::Null))
}
