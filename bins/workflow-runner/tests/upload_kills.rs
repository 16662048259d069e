//! A runner that is killed within an upload: nothing half is ever served, and what was stored in
//! vain is removed.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use s3_server::{ACCESS_KEY, BUCKET, FaultProxy, S3Server, SECRET_KEY, Weather};
use serde_json::{Value, json};

const SECRET: &str = "sixteen--letters";
/// The collector looks once a minute.
const DEADLINE: Duration = Duration::from_secs(240);

struct Runner {
    child: Child,
    address: String,
}

impl Drop for Runner {
    fn drop(&mut self) {
        // SIGKILL.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Runner {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(folder.join("data"))
            .arg("--config")
            .arg(folder.join("runner.toml"))
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("VMM_API_URL", "http://127.0.0.1:9")
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .env("LOG_LEVEL", "info")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let line = lines.find(|line| line.contains("server.listening"));
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let address = line["url"].as_str().unwrap().trim_matches('/');
        let address = address.trim_start_matches("http://").to_owned();
        // A pipe that nobody reads is full one day.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn ask(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap();
        (status.parse().unwrap(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.ask(&format!(
            "GET {path} HTTP/1.0\r\nhost: {}\r\n\r\n",
            self.address
        ))
    }

    /// Sends a push of a commit whose repository cannot be fetched; gives its run.
    fn push(&self, commit: char) -> String {
        let commit = commit.to_string().repeat(40);
        let body = json!({"ref": "refs/heads/main", "before": "0".repeat(40), "after": commit,
            "created": true, "deleted": false, "commits": [],
            "pusher": {"login": "alice"}, "sender": {"login": "alice"},
            "repository": {"full_name": "acme/rocket", "clone_url": "http://127.0.0.1:9/rocket.git",
                "html_url": "http://forge.example/acme/rocket", "default_branch": "main"}})
        .to_string();
        let signature = forge_core::sign(SECRET, body.as_bytes()).unwrap().hub();
        let (status, answer) = self.ask(&format!(
            "POST /webhook HTTP/1.0\r\nhost: {}\r\ncontent-type: application/json\r\n\
             x-gitea-event: push\r\nx-gitea-delivery: {commit}\r\n\
             x-hub-signature-256: {signature}\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        ));
        assert_eq!(status, 202, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["run"].as_str().unwrap().to_owned()
    }

    /// Waits for the run's end; gives its log.
    fn ended(&self, run: &str) -> String {
        until("the end of the run", || {
            let (_, record) = self.get(&format!("/runs/{run}"));
            let record: Value = serde_json::from_str(&record).unwrap();
            record["ended_at"].is_u64()
        });
        let (status, log) = self.get(&format!("/runs/{run}/log"));
        assert_eq!(status, 200, "{log}");
        assert!(log.contains("the repository cannot be fetched"), "{log}");
        log
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < DEADLINE, "not in time: {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// What the storage gives out as objects of files.
fn objects(storage: &S3Server) -> BTreeSet<PathBuf> {
    let is_part = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with('.')
    };
    let all = storage.objects().into_iter();
    all.filter(|path| path.starts_with(storage.bucket().join("objects")) && !is_part(path))
        .collect()
}

fn digest(path: &Path) -> String {
    let digest = blake3::hash(&std::fs::read(path).unwrap());
    digest.to_hex().to_string()
}

/// An object is called by the digest of its bytes: what has another one is half of a file.
fn assert_whole(storage: &S3Server) {
    for path in objects(storage) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(&digest(&path)), "{name}");
    }
}

#[test]
fn i18_a_kill_within_an_upload_leaves_nothing_broken_and_nothing_behind() {
    let (storage, folder) = (S3Server::start(), tempfile::tempdir().unwrap());
    let proxy = FaultProxy::start(storage.port());
    let settings = format!(
        "[objects]\nurl = \"s3://{BUCKET}\"\nendpoint = \"{}\"\ngrace = \"1s\"\nsweep = \"1s\"\n",
        proxy.endpoint()
    );
    std::fs::write(folder.path().join("runner.toml"), settings).unwrap();
    let mut runner = Runner::start(folder.path());
    let mut runs = vec![runner.push('1')];
    runner.ended(&runs[0]);
    until("the first log's object", || objects(&storage).len() == 1);
    let first = objects(&storage);

    // All of a log arrives, and its row cannot be written.
    proxy.set(Weather::Unanswered);
    runs.push(runner.push('2'));
    until("an object without a row", || objects(&storage) != first);
    // Half of the next one.
    proxy.set(Weather::Half);
    let held = proxy.held();
    runs.push(runner.push('3'));
    until("an upload under way", || proxy.held() > held);
    drop(runner);
    proxy.set(Weather::Fair);
    assert_whole(&storage);
    runner = Runner::start(folder.path());
    for run in &runs {
        runner.ended(run);
    }
    let orphans = |kept: &BTreeSet<String>| {
        let all = objects(&storage);
        all.iter()
            .filter(|path| !kept.contains(&digest(path)))
            .count()
    };
    // A log that came to the storage is its file; everything else there is nobody's.
    let logs = || -> BTreeSet<String> {
        let logs = runs.iter().map(|run| {
            let file = folder.path().join(format!("data/logs/{run}.jsonl"));
            digest(&file)
        });
        logs.collect()
    };
    until("one object for each log, and no other", || {
        objects(&storage).len() == runs.len() && orphans(&logs()) == 0
    });
    assert!(objects(&storage).is_superset(&first), "what counted stayed");
    assert_whole(&storage);
    for run in &runs {
        runner.ended(run);
    }
}
