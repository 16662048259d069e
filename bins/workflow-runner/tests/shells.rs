//! i17: a shell into a failed job, on a pseudo-terminal as a person has one: the real runner, the
//! real VM manager, a VM of QEMU and a namespace sandbox.
#![allow(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "a test that fails here should say where, and one VM answers many questions"
)]

#[allow(dead_code, reason = "shared with the tests of other programs")]
#[path = "../../terminal/tests/pty/mod.rs"]
mod pty;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pty::Pty;
use scripted_peers::{GitForge, GitRepository};
use serde_json::{Value, json};
use tempfile::TempDir;

const SECRET: &str = "the webhook's secret";
const TOKEN: &str = "an-api-token-0123456789";
/// VMs are emulated, and the machine does other things as well.
const TEST_TIMEOUT: Duration = Duration::from_secs(240);

const WORKFLOW: &str = r#"
on: push
jobs:
  build:
    runs-on: x
    steps:
      - run: |
          echo made-by-step-one > "$HOME/file"
          echo "FROM_STEP=one" >> "$GITHUB_ENV"
      - run: |
          cd sub
          exit 3
        working-directory: sub
        env: {KEY: "${{ secrets.KEY }}", OPEN: "${{ github.repository }}"}
  fine:
    runs-on: x
    steps: [{run: "true"}]
"#;

/// A program that listens, and its address.
struct Program {
    child: Child,
    address: String,
}

impl Program {
    fn start(command: &mut Command, ready: &str) -> Self {
        command.env("LOG_LEVEL", "info");
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("`cargo xtask test` has built it");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (mut address, mut is_ready, mut said) = (None, ready.is_empty(), String::new());
        for line in lines.by_ref().map_while(Result::ok) {
            if line.contains("server.listening") {
                let (_, rest) = line.split_once("http://").unwrap();
                address = rest.split('/').next().map(str::to_owned);
            }
            is_ready |= line.contains(ready);
            said += &line;
            said.push('\n');
            if address.is_some() && is_ready {
                break;
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        let address = address.unwrap_or_else(|| panic!("it does not listen:\n{said}"));
        Self { child, address }
    }

    fn ask(&self, request: &str, token: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let length = body.len();
        let request = format!(
            "{request} HTTP/1.0\r\nAuthorization: Bearer {token}\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        (code, body.to_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SIGTERM: a manager ends its VMs.
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").arg(&pid).status();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A runner, a manager, and a forge with a repository.
struct Site {
    runner: Program,
    manager: Program,
    vmm_token: String,
    forge: GitForge,
    repository: GitRepository,
    deliveries: u32,
    _folder: TempDir,
}

fn cache() -> PathBuf {
    let base = std::env::var_os("ORRERY_CACHE").map(PathBuf::from);
    base.unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").expect("HOME or ORRERY_CACHE")).join(".cache/orrery")
    })
    .join("vm")
}

impl Site {
    fn new(driver: &str, keep: &str) -> Self {
        std::fs::create_dir_all(cache()).unwrap();
        let folder = tempfile::Builder::new()
            .prefix("shells-")
            .tempdir_in(cache());
        let folder = folder.unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("vms")).unwrap();
        for name in ["images", "kernels"] {
            std::fs::create_dir_all(cache().join(name)).unwrap();
            std::os::unix::fs::symlink(cache().join(name), path("vms").join(name)).unwrap();
        }
        let agent = std::env::var("ORRERY_VM_GUEST")
            .expect("ORRERY_VM_GUEST names the agent: run the tests by `cargo xtask test`");
        let manager = format!(
            "data_dir = {:?}\nagent = {agent:?}\ndriver = \"{driver}\"\n[deadlines]\nboot = \"120s\"\nsilence = \"60s\"\n",
            path("vms")
        );
        std::fs::write(path("vm.toml"), manager).unwrap();
        let runner = format!(
            "data_dir = {:?}\nallow_http = true\n[keep]\n{keep}\n[secrets]\nKEY = \"hunter2-hunter2\"\n[machines.default]\nisolation_min = \"namespace-sandbox\"\n",
            path("runs")
        );
        std::fs::write(path("runner.toml"), runner).unwrap();
        let own = Path::new(env!("CARGO_BIN_EXE_workflow-runner"));
        let program = own.with_file_name("vm-manager");
        let manage = || {
            let mut command = Command::new(&program);
            command.arg("--config").arg(path("vm.toml"));
            command
        };
        // One process at a time makes the image and the kernel.
        let lock = std::fs::File::create(cache().join("lock")).unwrap();
        lock.lock().unwrap();
        let ready = if driver == "qemu" { "vm.prepared" } else { "" };
        let manager = Program::start(manage().args(["--listen", "127.0.0.1:0"]), ready);
        drop(lock);
        let token = manage().arg("token").output().unwrap();
        let vmm_token = String::from_utf8(token.stdout).unwrap().trim().to_owned();
        let forge = GitForge::start();
        let repository = forge.repository("acme/rocket", false);
        let mut command = Command::new(own);
        command
            .args(["--listen", "127.0.0.1:0", "--config"])
            .arg(path("runner.toml"))
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("FORGE_URL", forge.url())
            .env("WORKFLOW_RUNNER_API_TOKEN", TOKEN)
            .env("VMM_API_URL", format!("http://{}", manager.address))
            .env("VMM_AUTH_TOKEN", &vmm_token);
        Self {
            runner: Program::start(&mut command, ""),
            manager,
            vmm_token,
            forge,
            repository,
            deliveries: 0,
            _folder: folder,
        }
    }

    /// Pushes a workflow and waits for the end of its run; its id and its record.
    fn run(&mut self, workflow: &str) -> (String, Value) {
        self.deliveries += 1;
        let n = self.deliveries;
        self.repository.write(".github/workflows/ci.yml", workflow);
        self.repository.write("sub/sub/n.txt", &n.to_string());
        let sha = self.repository.commit("a commit");
        self.repository.git(&["update-server-info"]);
        let body = json!({"ref": "refs/heads/main", "before": "0".repeat(40), "after": sha, "created": true, "deleted": false, "commits": [],
            "head_commit": {"id": sha, "message": "a commit", "added": [], "modified": [], "removed": []}, "pusher": {"login": "ada"}, "sender": {"login": "ada"},
            "repository": {"full_name": "acme/rocket", "clone_url": format!("{}/acme/rocket.git", self.forge.url()), "default_branch": "main"}})
        .to_string();
        let signature = forge_core::sign(SECRET, body.as_bytes()).unwrap().hub();
        let headers = format!(
            "Content-Type: application/json\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: d-{n}\r\nX-Hub-Signature-256: {signature}\r\n"
        );
        let (code, answer) = self.runner.ask("POST /webhook", TOKEN, &headers, &body);
        assert_eq!(code, 202, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let run = answer["run"].as_str().unwrap().to_owned();
        let record = self.ended(&run);
        (run, record)
    }

    fn get(&self, path: &str) -> Value {
        let (_, body) = self.runner.ask(&format!("GET {path}"), TOKEN, "", "");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    fn ended(&self, run: &str) -> Value {
        let begun = Instant::now();
        loop {
            let record = self.get(&format!("/runs/{run}"));
            if !record["ended_at"].is_null() {
                return record;
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "{record:#}");
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    fn log(&self, run: &str) -> String {
        self.runner
            .ask(&format!("GET /runs/{run}/log"), TOKEN, "", "")
            .1
    }

    fn vms(&self) -> Vec<Value> {
        let (_, body) = self.manager.ask("GET /vms", &self.vmm_token, "", "");
        serde_json::from_str(&body).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command
            .args(arguments)
            .args(["--url", &format!("http://{}", self.runner.address)])
            .env("WORKFLOW_RUNNER_API_TOKEN", TOKEN);
        command
    }

    fn output(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.command(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        (output.status.code(), text)
    }

    /// Waits until the only kept VM is paused, or not.
    fn until_paused(&self, paused: bool) {
        let begun = Instant::now();
        while self.vms()[0]["paused"].as_bool().unwrap_or_default() != paused {
            assert!(begun.elapsed() < TEST_TIMEOUT, "{:#?}", self.vms());
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }
}

/// A shell in the failed job, from its opening to the end of its VM; whether its VM stands still
/// while nobody looks.
fn look_around(driver: &str, pauses: bool) {
    let mut site = Site::new(driver, "failed = true\nvms = 1");
    let (run, record) = site.run(WORKFLOW);
    assert_eq!(record["state"], "failed", "{record:#}\n{}", site.log(&run));
    let vms = site.vms();
    assert_eq!(vms.len(), 1, "the job that succeeded has none: {vms:#?}");
    site.until_paused(pauses);
    let log = site.log(&run);
    assert!(log.contains("is kept for 30m"), "{log}");
    let (code, text) = site.output(&["kept"]);
    assert!(
        code == Some(0) && text.contains(&run) && text.contains("30 min left  0 open"),
        "{text}"
    );

    // Wrong in several ways: said, with another code than a shell's.
    let (code, text) = site.output(&["shell", &run, "no-such-job"]);
    assert!(code == Some(255) && text.contains("404"), "{code:?} {text}");
    let mut wrong = site.command(&["shell", &run]);
    let wrong = wrong.env("WORKFLOW_RUNNER_API_TOKEN", "another-0123456789");
    let wrong = wrong.output().unwrap();
    assert_eq!(wrong.status.code(), Some(255));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("401"));

    // As a person has it.
    let mut shell = Pty::spawn(
        &site.command(&["shell", &run, "build", "--by", "grace"]),
        100,
        30,
    );
    shell.wait_for("a shell in the kept VM");
    shell
        .send("PS1='> '; clear; stty size; pwd; cat ~/file; echo $FROM_STEP-$OPEN-${KEY-hidden}\r");
    let shown = shell.wait_for("one-acme/rocket-hidden");
    for part in ["30 100", "/workspace/sub", "made-by-step-one"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("hunter2"), "{shown}");
    site.until_paused(false);
    assert_eq!(site.get("/runs/kept")[0]["shells"], 1);
    // Asked for before it changes: a line that is being typed is drawn anew at that moment.
    shell.send("until test \"$(stty size)\" = '40 120'; do sleep 0.1; done; echo re-\"sized\"\r");
    shell.wait_for("until test");
    shell.resize(120, 40);
    shell.wait_for("re-sized");
    shell.send("sleep 1000; echo never-\"said\"\r");
    shell.wait_for("sleep 1000");
    shell.send("\x03");
    shell.wait_for("^C");
    shell.send("echo it-was-$?\r");
    shell.wait_for("it-was-130");
    shell.send("echo left > ~/left; exit 9\r");
    assert_eq!(shell.wait(), 9);
    shell.assert_given_back();
    site.until_paused(pauses);
    let log = site.log(&run);
    for part in [
        "a shell was opened by grace from 127.0.0.1",
        "the shell of grace from 127.0.0.1 has ended",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }

    // Left by its escape, what runs in it ends with it; the VM is as it was left.
    let mut shell = Pty::spawn(&site.command(&["shell", &run]), 80, 24);
    shell.wait_for("a shell in the kept VM");
    shell.send("cat ~/left && sleep 1000\r");
    shell.wait_for("left");
    shell.send("\r~.");
    assert_eq!(shell.wait(), 0);
    shell.assert_given_back();
    site.until_paused(pauses);

    // Without a terminal: commands from a pipe.
    let mut piped = site.command(&["shell", &run]);
    let mut piped = piped
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = piped.stdin.take().unwrap();
    stdin.write_all(b"echo pi''ped; exit 5\n").unwrap();
    drop(stdin);
    let output = piped.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("piped"), "{text}");

    // The budget of one VM refuses another; released, it is gone at once.
    let (second, _) = site.run(WORKFLOW);
    let log = site.log(&second);
    assert!(
        log.contains("its VM is not kept: 1 VMs are kept already"),
        "{log}"
    );
    let (code, text) = site.output(&["release", &run, "build"]);
    assert!(code == Some(0) && text.contains("given back"), "{text}");
    assert_eq!(site.vms(), Vec::<Value>::new());
    let (code, text) = site.output(&["shell", &run]);
    assert!(code == Some(255) && text.contains("404"), "{text}");
}

#[test]
fn i17_a_shell_in_a_failed_job_of_a_vm() {
    look_around("qemu", true);
}

#[test]
fn i17_a_shell_in_a_failed_job_of_a_namespace_sandbox() {
    look_around("namespace-sandbox", false);
}
