//! The workspace's VM manager as a process, with the images and kernels that all tests of a machine
//! share.
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that fails here should say where"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::Program;
use crate::wire::Reply;

/// It ends its VMs before it ends.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// Where tests keep what VMs are made of.
pub struct VmCache(PathBuf);

impl VmCache {
    /// Of this machine: in `ORRERY_CACHE`, else `~/.cache/orrery`.
    #[must_use]
    pub fn open() -> Self {
        let cache = std::env::var_os("ORRERY_CACHE").map(PathBuf::from);
        let cache = cache.unwrap_or_else(|| {
            let home = std::env::var_os("HOME").expect("HOME or ORRERY_CACHE");
            PathBuf::from(home).join(".cache/orrery")
        });
        let folder = cache.join("vm");
        std::fs::create_dir_all(&folder).expect("the cache can be written");
        Self(folder)
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// A folder beside it: on a disk, as in production.
    #[must_use]
    pub fn folder_of(&self, prefix: &str) -> TempDir {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(&self.0);
        folder.expect("the cache can be written")
    }

    /// Makes the data folder of a manager, which uses the cache's `images` and `kernels`.
    pub fn lend(&self, data: &Path, names: &[&str]) {
        std::fs::create_dir_all(data).unwrap();
        for name in names {
            std::fs::create_dir_all(self.0.join(name)).unwrap();
            std::os::unix::fs::symlink(self.0.join(name), data.join(name)).unwrap();
        }
    }

    /// One process at a time makes what is missing: the one that holds this.
    #[must_use]
    pub fn lock(&self) -> File {
        let lock = File::create(self.0.join("lock")).unwrap();
        lock.lock().unwrap();
        lock
    }
}

/// A manager; dropped, it ends its VMs and itself.
pub struct VmManager {
    /// The process.
    pub program: Program,
    /// What its callers show.
    pub token: String,
    command: Box<dyn Fn() -> Command>,
}

impl VmManager {
    /// The program in a folder of its own, with its data in `vms` there, once VMs can be had.
    #[must_use]
    pub fn start(program: &Path, folder: &Path, settings: &str) -> Self {
        let agent = std::env::var("ORRERY_VM_GUEST")
            .expect("ORRERY_VM_GUEST names the agent: run the tests by `cargo xtask test`");
        let (program, config) = (program.to_owned(), folder.join("vm.toml"));
        let text = format!(
            "data_dir = {:?}\nagent = {agent:?}\n{settings}",
            folder.join("vms")
        );
        std::fs::write(&config, text).unwrap();
        let command = move || {
            let mut command = Command::new(&program);
            command.arg("--config").arg(&config);
            command
        };
        let program = Program::start(command().args(["--listen", "127.0.0.1:0"]));
        program.wait_for("vm.prepared");
        let token = command().arg("token").output().unwrap().stdout;
        Self {
            program,
            token: String::from_utf8(token).unwrap().trim().to_owned(),
            command: Box::new(command),
        }
    }

    /// Where it answers.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.program.address)
    }

    /// Starts it again where it was, after it was killed.
    pub fn start_again(&mut self) {
        self.program = Program::start((self.command)().args(["--listen", &self.program.address]));
    }

    /// A request of somebody with the token.
    #[must_use]
    pub fn ask(&self, request: &str, body: &str) -> Reply {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("Authorization", &*bearer),
            ("Content-Type", "application/json"),
        ];
        self.program.ask(request, &headers, body)
    }

    /// Its VMs.
    #[must_use]
    pub fn vms(&self) -> Vec<Value> {
        let reply = self.ask("GET /vms", "");
        serde_json::from_str(&reply.body).unwrap_or_else(|_| panic!("{reply:?}"))
    }
}

impl Drop for VmManager {
    fn drop(&mut self) {
        self.program.end_within(END_TIMEOUT);
    }
}
