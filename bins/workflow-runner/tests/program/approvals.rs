//! i17: a runner that is killed while runs wait for somebody: they wait on, and go on when they are
//! approved on the command line.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use scripted_peers::{GitForge, Program, deliver};
use serde_json::{Value, json};

const SECRET: &str = "the webhook's secret";
const TOKEN: &str = "an-api-token-0123456789";
/// With a machine under load.
const TEST_TIMEOUT: Duration = Duration::from_secs(90);

struct Runner(Program);

impl Runner {
    fn start(folder: &Path, forge: &GitForge) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command
            .args(["--listen", "127.0.0.1:0", "--config"])
            .arg(folder.join("runner.toml"))
            .arg("--data")
            .arg(folder.join("data"))
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("FORGE_URL", forge.url())
            .env("WORKFLOW_RUNNER_API_TOKEN", TOKEN)
            .env("VMM_API_URL", "http://127.0.0.1:9");
        Self(Program::start(command))
    }

    fn until(&self, run: &str, state: &str) -> Value {
        let (begun, bearer) = (Instant::now(), format!("Bearer {TOKEN}"));
        loop {
            let request = format!("GET /runs/{run}");
            let reply = self.0.ask(&request, &[("Authorization", &bearer)], "");
            let record = reply.json();
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
            .args(["--url", &format!("http://{}", self.0.address)])
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

fn pull_request(forge: &GitForge, head: &str, base: &str) -> Value {
    let repository = |name: &str| json!({"full_name": name, "clone_url": format!("{}/acme/rocket.git", forge.url()), "default_branch": "main", "fork": name != "acme/rocket"});
    json!({"action": "opened", "number": 7, "sender": {"login": "stranger"}, "repository": repository("acme/rocket"),
        "pull_request": {"number": 7, "title": "t", "body": "", "state": "open", "merged": false, "user": {"login": "stranger"},
            "head": {"ref": "x", "sha": head, "repo": repository("stranger/rocket")},
            "base": {"ref": "main", "sha": base, "repo": repository("acme/rocket")}}})
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
    let address = &runner.0.address;
    let reply = deliver(address, SECRET, "pull_request", "d-1", &body).unwrap();
    assert_eq!(reply.status, 202, "{reply:?}");
    let run = reply.json()["run"].as_str().unwrap().to_owned();
    // More often than a run that runs may be taken up again.
    for _ in 0..5 {
        runner.until(&run, "waiting");
        runner.0.kill();
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
