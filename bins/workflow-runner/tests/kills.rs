//! F01, W19: the runner is killed at random points while webhooks arrive: what it acknowledged is
//! there, once, and what it did not acknowledge can be sent again.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use postgres_server::PostgresServer;
use serde_json::{Value, json};

const SECRET: &str = "the webhook's secret";
/// Lives of the runner; `ORRERY_KILLS` for more.
const INCARNATIONS: u64 = 12;
/// With a machine under load.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

struct Runner {
    child: Child,
    address: String,
}

impl Runner {
    /// With its store in the folder, or at an address.
    fn start(folder: &Path, store: Option<&str>) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_workflow-runner"))
            .envs(store.map(|url| ("WORKFLOW_RUNNER_STORE_URL", url)))
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(folder)
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("VMM_API_URL", "http://127.0.0.1:9")
            .env("LOG_LEVEL", "info")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines
            .by_ref()
            .map_while(Result::ok)
            .find(|line| line.contains("server.listening"));
        let line = line.expect("every start succeeds");
        let address = line
            .split("http://")
            .nth(1)
            .unwrap()
            .split('/')
            .next()
            .unwrap()
            .to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn kill(&mut self) {
        // SIGKILL.
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(address: &str, head: &str, body: &str) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .ok()?;
    let request = format!(
        "{head}Host: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let code = head.split(' ').nth(1)?.parse().ok()?;
    Some((code, serde_json::from_str(body).unwrap_or_default()))
}

fn deliver(address: &str, number: u64) -> Option<(u16, Value)> {
    let sha = format!("{number:040x}");
    let body = json!({"ref": "refs/heads/main", "before": "0".repeat(40), "after": sha, "created": true, "deleted": false, "commits": [],
        "head_commit": {"id": sha, "message": "m"}, "pusher": {"login": "ada"}, "sender": {"login": "ada"},
        "repository": {"full_name": "acme/rocket", "clone_url": "https://forge.invalid/a.git", "default_branch": "main"}, "padding": "x".repeat(20_000)});
    let body = body.to_string();
    let signature = forge_core::sign(SECRET, body.as_bytes()).unwrap().hub();
    let head = format!(
        "POST /webhook HTTP/1.1\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: d-{number}\r\nX-Hub-Signature-256: {signature}\r\n"
    );
    ask(address, &head, &body)
}

/// By delivery: how many runs it has, once there are runs of so many deliveries. A process that
/// shares its store begins as a standby: it leads, and decides what was taken in, a little later.
fn runs(address: &str, deliveries: usize) -> BTreeMap<String, usize> {
    let begun = Instant::now();
    loop {
        let (code, runs) = ask(address, "GET /runs?limit=1000 HTTP/1.1\r\n", "").unwrap();
        assert!(matches!(code, 200 | 503), "{code}: {runs}");
        let known = by_delivery(&runs);
        if (code == 200 && known.len() >= deliveries) || begun.elapsed() >= TEST_TIMEOUT {
            return known;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn by_delivery(runs: &Value) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for run in runs.as_array().into_iter().flatten() {
        *count
            .entry(run["delivery"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    count
}

#[test]
fn f01_w19_kills_at_random_lose_nothing_and_double_nothing() {
    kill_and_compare(INCARNATIONS, None);
}

#[test]
fn i18_f01_w19_kills_at_random_lose_and_double_nothing_in_postgresql() {
    let server = PostgresServer::start();
    kill_and_compare(INCARNATIONS / 2, Some(&server.url()));
}

fn kill_and_compare(lives: u64, store: Option<&str>) {
    let lives = std::env::var("ORRERY_KILLS")
        .ok()
        .map_or(lives, |kills| kills.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let mut next = 1;
    for life in 0..lives {
        let mut runner = Runner::start(folder.path(), store);
        let address = runner.address.clone();
        let log = Arc::clone(&acknowledged);
        let before = log.lock().unwrap().len();
        let client = std::thread::spawn(move || {
            // Until it is gone; at most 60 a life, so that one page lists all.
            for number in next..next + 60 {
                match deliver(&address, number) {
                    Some((202, _)) => log.lock().unwrap().push(number),
                    Some((503, _)) => {}
                    Some((code, body)) => panic!("{code}: {body}"),
                    None => return number + 1,
                }
            }
            next + 60
        });
        // Once it acknowledges; at other points of a delivery each time, without a random number to
        // be remembered.
        let begun = Instant::now();
        while acknowledged.lock().unwrap().len() == before && begun.elapsed() < TEST_TIMEOUT {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        std::thread::park_timeout(Duration::from_millis(5 + life * 37 % 211));
        runner.kill();
        next = client.join().unwrap();
    }
    let acknowledged = acknowledged.lock().unwrap().clone();
    assert!(
        acknowledged.len() as u64 >= lives,
        "only {} were acknowledged",
        acknowledged.len()
    );
    let runner = Runner::start(folder.path(), store);
    let known = runs(&runner.address, acknowledged.len());
    for number in &acknowledged {
        assert_eq!(
            known.get(&format!("d-{number}")),
            Some(&1),
            "d-{number} was acknowledged"
        );
    }
    assert!(known.values().all(|count| *count == 1), "none twice");
    for number in 1..next {
        let again = deliver(&runner.address, number).unwrap();
        let expected: &[u16] = if acknowledged.contains(&number) {
            &[200]
        } else {
            &[200, 202]
        };
        assert!(expected.contains(&again.0), "d-{number}: {again:?}");
    }
    let known = runs(&runner.address, usize::try_from(next - 1).unwrap());
    assert_eq!(known.len() as u64, next - 1, "redelivered, each is there");
    assert!(known.values().all(|count| *count == 1), "once");
}
