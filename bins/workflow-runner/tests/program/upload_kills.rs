//! A runner that is killed within an upload: nothing half is ever served, and what was stored in
//! vain is removed.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use scripted_peers::s3::{ACCESS_KEY, BUCKET, FaultProxy, S3Server, SECRET_KEY, Weather};
use scripted_peers::{Program, deliver, push_event};

const SECRET: &str = "sixteen--letters";
/// The collector looks once a minute.
const DEADLINE: Duration = Duration::from_secs(240);

struct Runner(Program);

impl Runner {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(folder.join("data"))
            .arg("--config")
            .arg(folder.join("runner.toml"))
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("VMM_API_URL", "http://127.0.0.1:9")
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        Self(Program::start(command))
    }

    /// Sends a push of a commit whose repository cannot be fetched; gives its run.
    fn push(&self, commit: char) -> String {
        let commit = commit.to_string().repeat(40);
        let body = push_event("http://127.0.0.1:9/rocket.git", &commit);
        let reply = deliver(&self.0.address, SECRET, "push", &commit, &body).unwrap();
        assert_eq!(reply.status, 202, "{reply:?}");
        reply.json()["run"].as_str().unwrap().to_owned()
    }

    /// Waits for the run's end, and looks at its log.
    fn ended(&self, run: &str) {
        until("the end of the run", || {
            let record = self.0.ask(&format!("GET /runs/{run}"), &[], "").json();
            record["ended_at"].is_u64()
        });
        let log = self.0.ask(&format!("GET /runs/{run}/log"), &[], "");
        assert_eq!(log.status, 200, "{log:?}");
        let is_told = log.body.contains("the repository cannot be fetched");
        assert!(is_told, "{log:?}");
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
