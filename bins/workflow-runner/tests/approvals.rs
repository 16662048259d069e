//! i17: a runner that is killed while runs wait for somebody: they wait on, and go on when they are
//! approved on the command line.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use scripted_peers::GitForge;
use serde_json::{Value, json};

const SECRET: &str = "the webhook's secret";
const TOKEN: &str = "an-api-token-0123456789";
/// With a machine under load.
const TEST_TIMEOUT: Duration = Duration::from_secs(90);

struct Runner {
    child: Child,
    address: String,
}

impl Runner {
    fn start(folder: &Path, forge: &GitForge) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
            .args(["--listen", "127.0.0.1:0", "--config"])
            .arg(folder.join("runner.toml"))
            .arg("--data")
            .arg(folder.join("data"))
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("FORGE_URL", forge.url())
            .env("WORKFLOW_RUNNER_API_TOKEN", TOKEN)
            .env("VMM_API_URL", "http://127.0.0.1:9")
            .env("LOG_LEVEL", "info")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines_read = lines.by_ref().map_while(Result::ok);
        let line = lines_read.find(|line| line.contains("server.listening"));
        let line = line.expect("every start succeeds");
        let address = line.split("http://").nth(1).unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn ask(&self, head: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let length = body.len();
        let request = format!(
            "{head}Authorization: Bearer {TOKEN}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        (code, serde_json::from_str(body).unwrap_or_default())
    }

    fn until(&self, run: &str, state: &str) -> Value {
        let begun = Instant::now();
        loop {
            let (_, record) = self.ask(&format!("GET /runs/{run} HTTP/1.1\r\n"), "");
            if record["state"] == state {
                return record;
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "not {state}: {record:#}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn command(&self, arguments: &[&str], token: &str) -> (bool, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
            .args(arguments)
            .args(["--url", &format!("http://{}", self.address)])
            .env("WORKFLOW_RUNNER_API_TOKEN", token)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // SIGKILL.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pull_request(forge: &GitForge, head: &str, base: &str) -> String {
    let repository = |name: &str| json!({"full_name": name, "clone_url": format!("{}/acme/rocket.git", forge.url()), "default_branch": "main", "fork": name != "acme/rocket"});
    json!({"action": "opened", "number": 7, "sender": {"login": "stranger"}, "repository": repository("acme/rocket"),
        "pull_request": {"number": 7, "title": "t", "body": "", "state": "open", "merged": false, "user": {"login": "stranger"},
            "head": {"ref": "x", "sha": head, "repo": repository("stranger/rocket")},
            "base": {"ref": "main", "sha": base, "repo": repository("acme/rocket")}}})
    .to_string()
}

#[test]
fn i17_a_killed_runner_keeps_runs_that_wait_and_they_are_approved_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("runner.toml"), "allow_http = true\n").unwrap();
    let forge = GitForge::start();
    let repository = forge.repository("acme/rocket", false);
    repository.write(
        ".github/workflows/ci.yml",
        "on: pull_request\njobs: {a: {runs-on: x, if: false, steps: [{run: x}]}}\n",
    );
    let base = repository.commit("a commit");
    let head = repository.commit("another");
    repository.git(&["update-ref", "refs/pull/7/head", &head]);
    repository.git(&["update-server-info"]);
    let mut runner = Runner::start(folder.path(), &forge);
    let body = pull_request(&forge, &head, &base);
    let signature = forge_core::sign(SECRET, body.as_bytes()).unwrap().hub();
    let (code, answer) = runner.ask(
        &format!("POST /webhook HTTP/1.1\r\nContent-Type: application/json\r\nX-GitHub-Event: pull_request\r\nX-GitHub-Delivery: d-1\r\nX-Hub-Signature-256: {signature}\r\n"),
        &body,
    );
    assert_eq!(code, 202, "{answer}");
    let run = answer["run"].as_str().unwrap().to_owned();
    // More often than a run that runs may be taken up again.
    for _ in 0..5 {
        runner.until(&run, "waiting");
        drop(runner);
        runner = Runner::start(folder.path(), &forge);
    }
    let record = runner.until(&run, "waiting");
    assert!(
        record["reason"]
            .as_str()
            .unwrap()
            .contains("waits for approval"),
        "{record:#}"
    );
    assert!(forge.asked().is_empty(), "{:?}", forge.asked());
    let (ok, text) = runner.command(&["waiting"], TOKEN);
    assert!(
        ok && text.contains(&run) && text.contains("by stranger"),
        "{text}"
    );
    let (ok, text) = runner.command(&["approve", &run], "another-token-0123456789");
    assert!(!ok && text.contains("401"), "{text}");
    let (ok, text) = runner.command(&["approve", "no-such-run"], TOKEN);
    assert!(!ok && text.contains("404"), "{text}");
    let (ok, text) = runner.command(&["approve", &run, "--by", "grace"], TOKEN);
    assert!(ok && text.contains("approved"), "{text}");
    let record = runner.until(&run, "succeeded");
    assert_eq!(record["approval"]["review"]["by"], "grace", "{record:#}");
    assert!(!forge.asked().is_empty());
    let (ok, text) = runner.command(&["waiting"], TOKEN);
    assert!(ok && text.contains("no run waits"), "{text}");
    let (ok, text) = runner.command(&["reject", &run], TOKEN);
    assert!(!ok && text.contains("409"), "{text}");
}
