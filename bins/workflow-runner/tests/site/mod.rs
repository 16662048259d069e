//! A forge with a repository, the real VM manager and the real runner, each a process that can be
//! killed and started again.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use scripted_peers::{GitForge, GitRepository};
use serde_json::{Value, json};
use tempfile::TempDir;

const SECRET: &str = "the webhook's secret";
pub(crate) const TOKEN: &str = "an-api-token-0123456789";
/// What the forge's repository wants where git pushes to it.
const FORGE_TOKEN: &str = "a-token-of-the-forge-0123456789";
/// VMs are emulated, and the machine does other things as well.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(240);

/// A program that listens, and its address.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: String,
}

impl Program {
    pub(crate) fn start(command: &mut Command, ready: &str) -> Self {
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

    pub(crate) fn ask(
        &self,
        request: &str,
        token: &str,
        headers: &str,
        body: &str,
    ) -> (u16, String) {
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

impl Program {
    /// Ends it without a chance to do anything.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
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
pub(crate) struct Site {
    pub(crate) runner: Program,
    pub(crate) manager: Program,
    pub(crate) vmm_token: String,
    forge: GitForge,
    pub(crate) repository: GitRepository,
    /// Where pushes say that the repository is reached by SSH.
    pub(crate) ssh_url: Option<String>,
    deliveries: u32,
    folder: TempDir,
}

const ANY: &str = "127.0.0.1:0";

fn own() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_workflow-runner"))
}

fn manage(folder: &Path) -> Command {
    let mut command = Command::new(own().with_file_name("vm-manager"));
    command.arg("--config").arg(folder.join("vm.toml"));
    command
}

fn start_runner(
    folder: &Path,
    forge: &GitForge,
    (vmm, token): (&str, &str),
    listen: &str,
) -> Program {
    let mut command = Command::new(own());
    command
        .args(["--listen", listen, "--config"])
        .arg(folder.join("runner.toml"))
        .env("FORGE_WEBHOOK_SECRET", SECRET)
        .env("FORGE_URL", forge.url())
        .env("FORGE_TOKEN", FORGE_TOKEN)
        .env("WORKFLOW_RUNNER_API_TOKEN", TOKEN)
        .env("VMM_API_URL", format!("http://{vmm}"))
        .env("VMM_AUTH_TOKEN", token);
    Program::start(&mut command, "")
}

fn cache() -> PathBuf {
    let base = std::env::var_os("ORRERY_CACHE").map(PathBuf::from);
    base.unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").expect("HOME or ORRERY_CACHE")).join(".cache/orrery")
    })
    .join("vm")
}

impl Site {
    /// With lines of the runner's table `[keep]`.
    pub(crate) fn new(driver: &str, keep: &str) -> Self {
        Self::with_machine(driver, keep, "isolation_min = \"namespace-sandbox\"\n")
    }

    /// With the services of jobs, and a repository that takes pushes; its VMs are emulated.
    pub(crate) fn with_services() -> Self {
        let listener = TcpListener::bind(ANY).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        Self::make("qemu", "", "", Some(&address))
    }

    /// With lines of the runner's table `[keep]`, and of the one of all machines.
    pub(crate) fn with_machine(driver: &str, keep: &str, machine: &str) -> Self {
        Self::make(driver, keep, machine, None)
    }

    fn make(driver: &str, keep: &str, machine: &str, services: Option<&str>) -> Self {
        std::fs::create_dir_all(cache()).unwrap();
        let folder = tempfile::Builder::new().prefix("site-").tempdir_in(cache());
        let folder = folder.unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("vms")).unwrap();
        for name in ["images", "kernels"] {
            std::fs::create_dir_all(cache().join(name)).unwrap();
            std::os::unix::fs::symlink(cache().join(name), path("vms").join(name)).unwrap();
        }
        let agent = std::env::var("ORRERY_VM_GUEST")
            .expect("ORRERY_VM_GUEST names the agent: run the tests by `cargo xtask test`");
        let [led, listens] = services.map_or_else(Default::default, |address| {
            let led = format!("[network]\nservices = [\"{address}\"]\n");
            [led, format!("services_listen = \"{address}\"\n")]
        });
        let manager = format!(
            "data_dir = {:?}\nagent = {agent:?}\ndriver = \"{driver}\"\n[deadlines]\nboot = \"120s\"\nsilence = \"60s\"\n{led}",
            path("vms")
        );
        std::fs::write(path("vm.toml"), manager).unwrap();
        let runner = format!(
            "data_dir = {:?}\nallow_http = true\n{listens}[keep]\n{keep}\n[secrets]\nKEY = \"hunter2-hunter2\"\n[machines.default]\n{machine}",
            path("runs")
        );
        std::fs::write(path("runner.toml"), runner).unwrap();
        // One process at a time makes the image and the kernel.
        let lock = std::fs::File::create(cache().join("lock")).unwrap();
        lock.lock().unwrap();
        let ready = if driver == "qemu" { "vm.prepared" } else { "" };
        let mut manage = manage(folder.path());
        let manager = Program::start(manage.args(["--listen", ANY]), ready);
        drop(lock);
        let token = self::manage(folder.path()).arg("token").output().unwrap();
        let vmm_token = String::from_utf8(token.stdout).unwrap().trim().to_owned();
        let forge = GitForge::start();
        let repository = match services {
            Some(_) => forge.smart_repository("acme/rocket", FORGE_TOKEN),
            None => forge.repository("acme/rocket", false),
        };
        let address = &manager.address;
        let runner = start_runner(folder.path(), &forge, (address, &vmm_token), ANY);
        Self {
            runner,
            manager,
            vmm_token,
            forge,
            repository,
            ssh_url: None,
            deliveries: 0,
            folder,
        }
    }

    /// Adds an image of containers to the runner's store.
    pub(crate) fn add_image(&self, name: &str, layout: &Path) {
        let mut add = Command::new(own());
        add.args(["images", "add", name, "--from"]).arg(layout);
        add.arg("--config")
            .arg(self.folder.path().join("runner.toml"));
        let output = add.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
    }

    /// Kills the runner and starts it again where it was.
    pub(crate) fn kill_runner(&mut self) {
        self.runner.kill();
        let vmm = (self.manager.address.as_str(), self.vmm_token.as_str());
        self.runner = start_runner(self.folder.path(), &self.forge, vmm, &self.runner.address);
    }

    /// Kills the VM manager and starts it again where it was.
    pub(crate) fn kill_manager(&mut self) {
        self.manager.kill();
        let mut manage = manage(self.folder.path());
        manage.args(["--listen", &self.manager.address]);
        self.manager = Program::start(&mut manage, "");
    }

    /// Pushes a workflow and waits for the end of its run; its id and its record.
    pub(crate) fn run(&mut self, workflow: &str) -> (String, Value) {
        let run = self.push(workflow);
        let record = self.ended(&run);
        (run, record)
    }

    /// Pushes a workflow; gives the id of its run.
    pub(crate) fn push(&mut self, workflow: &str) -> String {
        self.deliveries += 1;
        let n = self.deliveries;
        self.repository.write(".github/workflows/ci.yml", workflow);
        self.repository.write("sub/sub/n.txt", &n.to_string());
        let sha = self.repository.commit("a commit");
        self.repository.git(&["update-server-info"]);
        let body = json!({"ref": "refs/heads/main", "before": "0".repeat(40), "after": sha, "created": true, "deleted": false, "commits": [],
            "head_commit": {"id": sha, "message": "a commit", "added": [], "modified": [], "removed": []}, "pusher": {"login": "ada"}, "sender": {"login": "ada"},
            "repository": {"full_name": "acme/rocket", "clone_url": format!("{}/acme/rocket.git", self.forge.url()), "ssh_url": self.ssh_url, "default_branch": "main"}})
        .to_string();
        let signature = forge_core::sign(SECRET, body.as_bytes()).unwrap().hub();
        let headers = format!(
            "Content-Type: application/json\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: d-{n}\r\nX-Hub-Signature-256: {signature}\r\n"
        );
        let (code, answer) = self.runner.ask("POST /webhook", TOKEN, &headers, &body);
        assert_eq!(code, 202, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["run"].as_str().unwrap().to_owned()
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (_, body) = self.runner.ask(&format!("GET {path}"), TOKEN, "", "");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
    }

    pub(crate) fn ended(&self, run: &str) -> Value {
        self.reached(run, |record| !record["ended_at"].is_null())
    }

    /// The record of a run once something holds of it.
    pub(crate) fn reached(&self, run: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let record = self.get(&format!("/runs/{run}"));
            if holds(&record) {
                return record;
            }
            assert!(begun.elapsed() < TEST_TIMEOUT, "{record:#}");
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    pub(crate) fn log(&self, run: &str) -> String {
        self.runner
            .ask(&format!("GET /runs/{run}/log"), TOKEN, "", "")
            .1
    }

    pub(crate) fn vms(&self) -> Vec<Value> {
        let (_, body) = self.manager.ask("GET /vms", &self.vmm_token, "", "");
        serde_json::from_str(&body).unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command
            .args(arguments)
            .args(["--url", &format!("http://{}", self.runner.address)])
            .env("WORKFLOW_RUNNER_API_TOKEN", TOKEN);
        command
    }

    /// What commands print in a shell of a kept VM, which ends with an exit code.
    pub(crate) fn in_shell(&self, arguments: &[&str], code: i32, commands: &str) -> String {
        let mut shell = self.command(arguments);
        let shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        stdin.write_all(commands.as_bytes()).unwrap();
        drop(stdin);
        let output = shell.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert_eq!(output.status.code(), Some(code), "{text}");
        text
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.command(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        (output.status.code(), text)
    }

    /// Waits until the only kept VM is paused, or not.
    pub(crate) fn until_paused(&self, paused: bool) {
        let begun = Instant::now();
        while self.vms()[0]["paused"].as_bool().unwrap_or_default() != paused {
            assert!(begun.elapsed() < TEST_TIMEOUT, "{:#?}", self.vms());
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }
}
