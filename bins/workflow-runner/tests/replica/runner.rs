//! A runner of a test, on a database that others have too.

use std::process::Command;
use std::time::{Duration, Instant};

use scripted_peers::postgres::PostgresServer;
use scripted_peers::{Program, Reply, ask, deliver, push_event};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const SECRET: &str = "sixteen--letters";
/// On a machine that does other things as well.
const DEADLINE: Duration = Duration::from_secs(90);

pub(crate) struct Runner {
    pub(crate) program: Program,
    folder: TempDir,
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("data"))
            .arg("--config")
            .arg(&config)
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("VMM_API_URL", "http://127.0.0.1:9")
            .env("WORKFLOW_RUNNER_STORE_URL", url)
            .envs(variables.iter().copied());
        Self {
            program: Program::start(command),
            folder,
        }
    }

    /// Writes its file anew, and says nothing of it.
    pub(crate) fn configure(&self, settings: &str) {
        std::fs::write(self.folder.path().join("runner.toml"), settings).unwrap();
    }

    pub(crate) fn ask(&self, request: &str, headers: &[(&str, &str)]) -> Option<Reply> {
        ask(&self.program.address, request, headers, "")
    }

    pub(crate) fn get(&self, path: &str) -> Option<Reply> {
        self.ask(&format!("GET {path}"), &[])
    }

    pub(crate) fn push(&self, delivery: &str) -> Reply {
        let mut body = push_event("http://127.0.0.1:9/rocket.git", &sha_of(delivery));
        body["note"] = json!(delivery);
        deliver(&self.program.address, SECRET, "push", delivery, &body).unwrap()
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
