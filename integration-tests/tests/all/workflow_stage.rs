//! What a run of a workflow needs: a repository over HTTP, the real VM manager, a scripted forge,
//! the real runner.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use scripted_peers::{
    GitForge, GitRepository, Program, ScriptedForge, VmCache, VmManager, push_event,
};
use serde_json::Value;
use tempfile::TempDir;

const SECRET: &str = "the webhook's secret";
/// VMs are emulated, and the machine does other things as well.
pub(crate) const RUN_TIMEOUT: Duration = Duration::from_secs(240);

/// A program of the workspace.
fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("this test has a path");
    let folder = own.parent().and_then(Path::parent);
    folder.expect("deps is in the target folder").join(name)
}

/// The whole: a repository, its web server, a VM manager, a forge; the runner is started by the
/// test.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) manager: VmManager,
    web: GitForge,
    repository: GitRepository,
    pub(crate) forge: ScriptedForge,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let cache = VmCache::open();
        let folder = cache.folder_of("runner-");
        cache.lend(&folder.path().join("vms"), &["images", "kernels"]);
        let lock = cache.lock();
        let settings = "[deadlines]\nboot = \"120s\"\nsilence = \"60s\"\n";
        let manager = VmManager::start(&program("vm-manager"), folder.path(), settings);
        drop(lock);
        let web = GitForge::start();
        Self {
            repository: web.repository("acme/rocket", false),
            forge: scripted_forge(),
            folder,
            manager,
            web,
        }
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
        self.manager.vms().is_empty() && files("runs/checkouts") == 0
    }

    /// Folders of machines.
    pub(crate) fn machine_folders(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("vms/vms")).map_or(0, Iterator::count)
    }

    /// A commit with this workflow, pushed; gives its id.
    pub(crate) fn commit(&self, workflow: &str) -> String {
        self.repository.write(".github/workflows/ci.yml", workflow);
        self.repository.write("hello.txt", "hello\n");
        let sha = self.repository.commit("a commit");
        self.forge.add_commit("acme/rocket", &sha);
        sha
    }

    pub(crate) fn runner(&self) -> Program {
        let settings = self.folder.path().join("runner.toml");
        let data = self.folder.path().join("runs");
        let text = format!(
            "data_dir = {data:?}\nallow_http = true\ncancel_previous = false\nallow_addresses = [\"127.0.0.1\"]\nforge_url = {:?}\n[machines.default]\n[machines.small]\ndisk = \"768MiB\"\n",
            self.forge.url()
        );
        std::fs::write(&settings, text).expect("it can be written");
        let mut command = Command::new(program("workflow-runner"));
        command
            .arg("--config")
            .arg(&settings)
            .args(["--listen", "127.0.0.1:0"])
            .env("FORGE_WEBHOOK_SECRET", SECRET)
            .env("FORGE_TOKEN", "forge-token")
            .env("VMM_API_URL", self.manager.url())
            .env("VMM_AUTH_TOKEN", &self.manager.token);
        Program::start(command)
    }

    pub(crate) fn push(&self, sha: &str) -> Value {
        push_event(&format!("{}/acme/rocket.git", self.web.url()), sha)
    }
}

/// A forge that knows the runner and the repository.
fn scripted_forge() -> ScriptedForge {
    let forge = ScriptedForge::start();
    forge.add_user("runner", "forge-token");
    forge.add_repo("acme/rocket");
    forge
}

pub(crate) fn deliver(runner: &Program, body: &Value, id: &str) -> (u16, Value) {
    let reply = scripted_peers::deliver(&runner.address, SECRET, "push", id, body);
    let reply = reply.expect("it answers");
    (reply.status, reply.json())
}

pub(crate) fn ended(runner: &Program, run: &str) -> Value {
    let begun = Instant::now();
    loop {
        let reply = runner.ask(&format!("GET /runs/{run}"), &[], "");
        assert_eq!(reply.status, 200, "{reply:?}");
        let record = reply.json();
        if record.get("ended_at").is_some() {
            return record;
        }
        assert!(begun.elapsed() < RUN_TIMEOUT, "it does not end: {record:#}");
        std::thread::park_timeout(Duration::from_millis(200));
    }
}

/// What a run has logged until now.
pub(crate) fn log(runner: &Program, run: &str) -> String {
    runner.ask(&format!("GET /runs/{run}/log"), &[], "").body
}
