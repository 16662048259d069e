//! What a run of a workflow needs: a repository over HTTP, the real VM manager, a scripted forge,
//! the real runner.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use scripted_peers::ScriptedForge;
use serde_json::{Value, json};
use tempfile::TempDir;

const SECRET: &str = "the webhook's secret";
/// VMs are emulated, and the machine does other things as well.
pub(crate) const RUN_TIMEOUT: Duration = Duration::from_secs(240);

/// A program of the workspace, and the address it says it listens at.
pub(crate) struct Program {
    child: Child,
    address: String,
}

impl Program {
    pub(crate) fn start(
        name: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
        ready: &str,
    ) -> Self {
        let own = std::env::current_exe().expect("this test has a path");
        let folder = own
            .parent()
            .and_then(Path::parent)
            .expect("deps is in the target folder");
        let mut command = Command::new(folder.join(name));
        command
            .args(arguments)
            .envs(variables.iter().copied())
            .env("LOG_LEVEL", "info");
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cargo build --workspace --bins built it");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let (mut address, mut is_ready, mut said) = (None, ready.is_empty(), String::new());
        for line in lines.by_ref().map_while(Result::ok) {
            if line.contains("server.listening") {
                let (_, rest) = line.split_once("http://").expect("it says where");
                address = rest.split('/').next().map(str::to_owned);
            }
            is_ready |= !ready.is_empty() && line.contains(ready);
            said.push_str(&line);
            said.push('\n');
            if address.is_some() && is_ready {
                break;
            }
        }
        // The rest is read away, so that the program never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        let address = address.unwrap_or_else(|| panic!("{name} does not listen:\n{said}"));
        Self { child, address }
    }

    /// One request; `HTTP/1.0`, so that the answer ends with the connection.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream
            .set_read_timeout(Some(RUN_TIMEOUT))
            .expect("a socket has one");
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream
            .write_all(request.as_bytes())
            .expect("it takes the request");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .expect("it answers in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let code = head
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .expect("a status");
        (code, body.to_owned())
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
        self.kill();
    }
}

fn cache() -> PathBuf {
    let base = std::env::var_os("ORRERY_CACHE").map(PathBuf::from);
    let base = base.unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").expect("HOME or ORRERY_CACHE")).join(".cache/orrery")
    });
    base.join("vm")
}

/// The whole: a repository, its web server, a VM manager, a forge; the runner is started by the
/// test.
pub(crate) struct Stage {
    folder: TempDir,
    manager: Program,
    config: String,
    token: String,
    web: Child,
    clone_url: String,
    pub(crate) forge: ScriptedForge,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        std::fs::create_dir_all(cache()).expect("the cache can be written");
        let folder = tempfile::Builder::new()
            .prefix("runner-")
            .tempdir_in(cache())
            .expect("the cache can be written");
        let data = folder.path().join("vms");
        std::fs::create_dir(&data).expect("it is new");
        for name in ["images", "kernels"] {
            std::fs::create_dir_all(cache().join(name)).expect("the cache can be written");
            std::os::unix::fs::symlink(cache().join(name), data.join(name)).expect("it is new");
        }
        let settings = folder.path().join("vm.toml");
        std::fs::write(
            &settings,
            format!("data_dir = {data:?}\n[deadlines]\nboot = \"120s\"\nsilence = \"60s\"\n"),
        )
        .expect("it can be written");
        let agent = std::env::var("ORRERY_VM_GUEST")
            .expect("ORRERY_VM_GUEST names the agent: run the tests by `cargo xtask test`");
        let config = settings.to_str().expect("a plain path");
        // One process at a time makes the image and the kernel.
        let lock = std::fs::File::create(cache().join("lock")).expect("the cache can be written");
        lock.lock().expect("it can be locked");
        let manager = manager(&agent, config, "127.0.0.1:0");
        drop(lock);
        let own = std::env::current_exe().expect("this test has a path");
        let program = own
            .parent()
            .and_then(Path::parent)
            .expect("deps is in the target folder")
            .join("vm-manager");
        let token = Command::new(program)
            .args(["--config", config, "token"])
            .output()
            .expect("it starts");
        let token = String::from_utf8(token.stdout)
            .expect("a token is text")
            .trim()
            .to_owned();
        let (web, port) = serve_files(folder.path());
        Self {
            clone_url: format!("http://127.0.0.1:{port}/rocket.git"),
            forge: scripted_forge(),
            config: config.to_owned(),
            folder,
            manager,
            token,
            web,
        }
    }

    /// The manager ends at once, with nothing tidied up.
    pub(crate) fn kill_manager(&mut self) {
        self.manager.kill();
    }

    /// A manager in place of the one that was killed, at its address.
    pub(crate) fn restart_manager(&mut self) {
        let address = self.manager.address.clone();
        let agent = std::env::var("ORRERY_VM_GUEST").expect("it was there before");
        self.manager = manager(&agent, &self.config, &address);
    }

    /// Processes of VMs of this stage.
    pub(crate) fn machines(&self) -> Vec<u32> {
        let folder = self.folder.path().as_os_str().as_encoded_bytes();
        let processes = std::fs::read_dir("/proc").expect("there are processes");
        let pids = processes
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.windows(12)
                .take(64)
                .any(|part| part == b"qemu-system-")
                && line.windows(folder.len()).any(|part| part == folder)
        })
        .collect()
    }

    /// The machines of this stage that hold a job are gone, with what they had on the disk; what
    /// waits in the pool may stay.
    pub(crate) fn nothing_is_left(&self) -> bool {
        let files = |path: &str| {
            std::fs::read_dir(self.folder.path().join(path)).map_or(0, Iterator::count)
        };
        self.vms() == json!([]) && files("runs/checkouts") == 0
    }

    /// WatchedDirectories of machines.
    pub(crate) fn machine_folders(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("vms/vms")).map_or(0, Iterator::count)
    }

    /// A commit with this workflow, pushed; gives its id.
    pub(crate) fn commit(&self, workflow: &str) -> String {
        let work = self.folder.path().join("work");
        let git = |arguments: &[&str]| {
            let output = Command::new("git")
                .current_dir(&work)
                .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
                .args(arguments)
                .output()
                .expect("git");
            assert!(
                output.status.success(),
                "{arguments:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        if !work.exists() {
            std::fs::create_dir(&work).expect("it is new");
            git(&["init", "--quiet", "--initial-branch=main", "."]);
            git(&["init", "--quiet", "--bare", "../rocket.git"]);
        }
        std::fs::create_dir_all(work.join(".github/workflows")).expect("it can be made");
        std::fs::write(work.join(".github/workflows/ci.yml"), workflow).expect("it can be written");
        std::fs::write(work.join("hello.txt"), "hello\n").expect("it can be written");
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "-m", "a commit"]);
        git(&["push", "--quiet", "../rocket.git", "HEAD:refs/heads/main"]);
        git(&["--git-dir=../rocket.git", "update-server-info"]);
        let sha = git(&["rev-parse", "HEAD"]);
        self.forge.add_commit("acme/rocket", &sha);
        sha
    }

    pub(crate) fn runner(&self) -> Program {
        let settings = self.folder.path().join("runner.toml");
        let data = self.folder.path().join("runs");
        let text = format!(
            "data_dir = {data:?}\nallow_http = true\nallow_addresses = [\"127.0.0.1\"]\nforge_url = {:?}\n[machines.default]\n[machines.small]\ndisk = \"768MiB\"\n",
            self.forge.url()
        );
        std::fs::write(&settings, text).expect("it can be written");
        let vmm = format!("http://{}", self.manager.address);
        let variables = [
            ("FORGE_WEBHOOK_SECRET", SECRET),
            ("FORGE_TOKEN", "forge-token"),
            ("VMM_API_URL", vmm.as_str()),
            ("VMM_AUTH_TOKEN", self.token.as_str()),
        ];
        let arguments = [
            "--config",
            settings.to_str().expect("a plain path"),
            "--listen",
            "127.0.0.1:0",
        ];
        Program::start("workflow-runner", &arguments, &variables, "")
    }

    pub(crate) fn push(&self, sha: &str) -> String {
        json!({"ref": "refs/heads/main", "before": "0".repeat(40), "after": sha, "created": true, "deleted": false, "commits": [],
            "head_commit": {"id": sha, "message": "a commit", "added": [], "modified": [], "removed": []}, "pusher": {"login": "ada"}, "sender": {"login": "ada"},
            "repository": {"full_name": "acme/rocket", "clone_url": self.clone_url, "html_url": "http://forge.example/acme/rocket", "default_branch": "main"}})
        .to_string()
    }

    pub(crate) fn vms(&self) -> Value {
        let (code, body) = self.manager.ask(
            "GET",
            "/vms",
            &[("Authorization", &format!("Bearer {}", self.token))],
            "",
        );
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).expect("JSON")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.web.kill();
        let _ = self.web.wait();
    }
}

/// The real manager, once it can make VMs.
fn manager(agent: &str, config: &str, address: &str) -> Program {
    let arguments = ["--agent", agent, "--config", config, "--listen", address];
    Program::start("vm-manager", &arguments, &[], "vm.prepared")
}

/// A forge that knows the runner and the repository.
fn scripted_forge() -> ScriptedForge {
    let forge = ScriptedForge::start();
    forge.add_user("runner", "forge-token");
    forge.add_repo("acme/rocket");
    forge
}

fn serve_files(folder: &Path) -> (Child, u16) {
    let mut command = Command::new("python3");
    command
        .args([
            "-u",
            "-m",
            "http.server",
            "0",
            "--bind",
            "127.0.0.1",
            "--directory",
        ])
        .arg(folder);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("python3 is installed");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it says its port");
    let port = line
        .split("port ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .and_then(|port| port.parse().ok());
    (child, port.unwrap_or_else(|| panic!("no port in {line}")))
}

pub(crate) fn deliver(runner: &Program, body: &str, id: &str) -> (u16, Value) {
    let signature = forge_core::sign(SECRET, body.as_bytes())
        .expect("the secret is not empty")
        .hub();
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Hub-Signature-256", signature.as_str()),
        ("X-GitHub-Event", "push"),
        ("X-GitHub-Delivery", id),
    ];
    let (code, answer) = runner.ask("POST", "/webhook", &headers, body);
    (code, serde_json::from_str(&answer).unwrap_or(Value::Null))
}

pub(crate) fn ended(runner: &Program, run: &str) -> Value {
    let begun = Instant::now();
    loop {
        let (code, body) = runner.ask("GET", &format!("/runs/{run}"), &[], "");
        assert_eq!(code, 200, "{body}");
        let record: Value = serde_json::from_str(&body).expect("JSON");
        if record.get("ended_at").is_some() {
            return record;
        }
        assert!(begun.elapsed() < RUN_TIMEOUT, "it does not end: {record:#}");
        std::thread::park_timeout(Duration::from_millis(200));
    }
}
