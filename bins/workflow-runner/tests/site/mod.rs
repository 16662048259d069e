//! A forge with a repository, the real VM manager and the real runner, each a process that can be
//! killed and started again.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use scripted_peers::{GitForge, GitRepository, Program, VmCache, VmManager, deliver, push_event};
use serde_json::{Value, json};
use tempfile::TempDir;

const SECRET: &str = "the webhook's secret";
pub(crate) const TOKEN: &str = "an-api-token-0123456789";
/// What the forge's repository wants where git pushes to it.
const FORGE_TOKEN: &str = "a-token-of-the-forge-0123456789";
/// VMs are emulated, and the machine does other things as well.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(900);

/// A runner, a manager, and a forge with a repository.
pub(crate) struct Site {
    pub(crate) runner: Program,
    pub(crate) manager: VmManager,
    forge: GitForge,
    pub(crate) repository: GitRepository,
    /// Where pushes say that the repository is reached by SSH.
    pub(crate) ssh_url: Option<String>,
    /// Where pushes say that people find the repository.
    pub(crate) html_url: Option<String>,
    deliveries: u32,
    folder: TempDir,
}

const ANY: &str = "127.0.0.1:0";

fn own() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_workflow-runner"))
}

fn start_runner(folder: &Path, forge: &GitForge, manager: &VmManager, listen: &str) -> Program {
    let mut command = Command::new(own());
    command
        .args(["--listen", listen, "--config"])
        .arg(folder.join("runner.toml"))
        .env("FORGE_WEBHOOK_SECRET", SECRET)
        .env("FORGE_URL", forge.url())
        .env("FORGE_TOKEN", FORGE_TOKEN)
        .env("WORKFLOW_RUNNER_API_TOKEN", TOKEN)
        .env("VMM_API_URL", manager.url())
        .env("VMM_AUTH_TOKEN", &manager.token);
    Program::start(command)
}

impl Site {
    /// With lines of the runner's table `[keep]`.
    pub(crate) fn new(driver: &str, keep: &str) -> Self {
        Self::with_machine(driver, keep, "isolation_min = \"namespace-sandbox\"\n")
    }

    /// With the services of jobs, and a repository that takes pushes; its VMs are emulated.
    pub(crate) fn with_services() -> Self {
        Self::with_services_on("")
    }

    /// The same with lines of the table of all machines.
    pub(crate) fn with_services_on(machine: &str) -> Self {
        Self::with_services_and(machine, "")
    }

    /// The same with lines of the manager's table `[network]`.
    pub(crate) fn with_services_and(machine: &str, network: &str) -> Self {
        let listener = TcpListener::bind(ANY).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        Self::make("qemu", "", machine, Some((&address, network)))
    }

    /// Has the forge answer as the registry at this address where images are asked for.
    pub(crate) fn serve_registry(&self, address: SocketAddr) {
        self.forge.serve_registry(address);
    }

    /// Paths that the forge was asked for, and whether with a token.
    pub(crate) fn asked(&self) -> Vec<(String, bool)> {
        self.forge.asked()
    }

    /// With lines of the runner's table `[keep]`, and of the one of all machines.
    pub(crate) fn with_machine(driver: &str, keep: &str, machine: &str) -> Self {
        Self::make(driver, keep, machine, None)
    }

    fn make(driver: &str, keep: &str, machine: &str, services: Option<(&str, &str)>) -> Self {
        let cache = VmCache::open();
        let folder = cache.folder_of("site-");
        let path = |name: &str| folder.path().join(name);
        cache.lend(&path("vms"), &["images", "kernels"]);
        let [led, listens] = services.map_or_else(Default::default, |(address, network)| {
            let led = format!("[network]\nservices = [\"{address}\"]\n{network}");
            [led, format!("services_listen = \"{address}\"\n")]
        });
        let runner = format!(
            "data_dir = {:?}\nallow_http = true\n{listens}[keep]\n{keep}\n[secrets]\nKEY = \"hunter2-hunter2\"\n[machines.default]\n{machine}",
            path("runs")
        );
        std::fs::write(path("runner.toml"), runner).unwrap();
        let manager = format!(
            "driver = \"{driver}\"\n[deadlines]\nboot = \"120s\"\nsilence = \"60s\"\n{led}"
        );
        let lock = cache.lock();
        let manager =
            VmManager::start(&own().with_file_name("vm-manager"), folder.path(), &manager);
        drop(lock);
        let forge = GitForge::start();
        let repository = match services {
            Some(_) => forge.smart_repository("acme/rocket", FORGE_TOKEN),
            None => forge.repository("acme/rocket", false),
        };
        let runner = start_runner(folder.path(), &forge, &manager, ANY);
        Self {
            runner,
            manager,
            forge,
            repository,
            ssh_url: None,
            html_url: None,
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
        let (folder, address) = (self.folder.path(), &self.runner.address);
        self.runner = start_runner(folder, &self.forge, &self.manager, address);
    }

    /// Kills the VM manager and starts it again where it was.
    pub(crate) fn kill_manager(&mut self) {
        self.manager.program.kill();
        self.manager.start_again();
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
        let mut body = push_event(&format!("{}/acme/rocket.git", self.forge.url()), &sha);
        body["repository"]["ssh_url"] = json!(self.ssh_url);
        if let Some(url) = &self.html_url {
            body["repository"]["html_url"] = json!(url);
        }
        let reply = deliver(
            &self.runner.address,
            SECRET,
            "push",
            &format!("d-{n}"),
            &body,
        );
        let reply = reply.unwrap();
        assert_eq!(reply.status, 202, "{reply:?}");
        reply.json()["run"].as_str().unwrap().to_owned()
    }

    fn ask(&self, path: &str) -> String {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("Authorization", &*bearer)];
        self.runner.ask(&format!("GET {path}"), &headers, "").body
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let body = self.ask(path);
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
        self.ask(&format!("/runs/{run}/log"))
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
        while self.manager.vms()[0]["paused"]
            .as_bool()
            .unwrap_or_default()
            != paused
        {
            assert!(begun.elapsed() < TEST_TIMEOUT, "{:#?}", self.manager.vms());
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }
}
