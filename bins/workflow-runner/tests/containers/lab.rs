//! A runner with a store of images and real VMs, and an image that its containers are made of.

use std::fs::Permissions;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use scripted_peers::{VmCache, git};
use tempfile::TempDir;
use vm_engine::image::{ImageStore, Recipe, build_container};

use crate::stage::text;

/// A database, a store of keys, a registry and what their clients need, in one image that is made
/// once.
const SERVICES: &str = r#"
name = "services"
packages = ["docker-registry", "postgresql", "python3-docker", "python3-psycopg2", "redis-server"]
[container]
cmd = ["redis-server", "--bind", "0.0.0.0", "--protected-mode", "no"]
env.PATH = "/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin"
"#;

/// The layout of that image in the cache.
const LAYOUT: &str = "container-services-2";

/// A runner with a store of images, and a manager with real VMs.
pub(crate) struct Lab {
    folder: TempDir,
    pub(crate) registry: Option<Server>,
}

/// A program that serves until this is dropped.
pub(crate) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts it, and waits until it takes connections.
    pub(crate) fn start(program: &str, command: &mut Command, address: SocketAddr) -> Self {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = quiet.spawn();
        let child =
            child.unwrap_or_else(|_| panic!("{program} is installed (Debian package {program})"));
        let mut server = Self(child);
        while TcpStream::connect(address).is_err() {
            let ended = server.0.try_wait().unwrap();
            assert!(ended.is_none(), "{program} ended with {ended:?}");
            std::thread::yield_now();
        }
        server
    }
}

/// An address of this machine that nobody has.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

impl Lab {
    pub(crate) fn new() -> Self {
        let cache = VmCache::open();
        let folder = cache.folder_of("containers-");
        let at = |name: &str| folder.path().join(name);
        cache.lend(&at("vms"), &["images", "kernels"]);
        let agent = std::env::var("ORRERY_VM_GUEST")
            .expect("ORRERY_VM_GUEST names the agent: run the tests by `cargo xtask test`");
        let manager = format!("data_dir = {:?}\nagent = {agent:?}\n", at("vms"));
        std::fs::write(at("vm.toml"), manager).unwrap();
        let lab = Self {
            folder,
            registry: None,
        };
        lab.settings("");
        lab
    }

    pub(crate) fn settings(&self, lines: &str) {
        let data = self.path("runner");
        let machine = "[machines.default]\nimage = \"full\"\nmemory = \"1GiB\"\ndisk = \"8GiB\"\n";
        let text = format!("data_dir = {data:?}\n{lines}{machine}");
        std::fs::write(self.path("runner.toml"), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workflow-runner"));
        command.current_dir(self.folder.path()).args(arguments);
        command.args(["--config", "runner.toml"]);
        command.env("VM_MANAGER_CONFIG", self.path("vm.toml"));
        command.env_remove("VMM_API_URL");
        let output = command.output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code(), said)
    }

    /// Runs the workflow of a working tree with these files.
    pub(crate) fn exec(&self, files: &[(&str, &str)]) -> (Option<i32>, String) {
        let tree = self.path("tree");
        std::fs::create_dir_all(&tree).unwrap();
        git(&tree, &["init", "--quiet", "."]);
        for (path, text) in files {
            let path = tree.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            if text.starts_with("#!") {
                std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
            }
        }
        self.run(&["exec", "tree"])
    }

    /// Adds an image of the container that [`prepare`] made, under these names.
    pub(crate) fn add_images(&self, names: &[&str]) {
        for name in names {
            let from = VmCache::open().folder().join(LAYOUT);
            let (code, said) = self.run(&["images", "add", name, "--from", from.to_str().unwrap()]);
            assert_eq!(code, Some(0), "{said}");
        }
    }
}

/// Makes what is missing in the cache; one process at a time does.
pub(crate) fn prepare() -> PathBuf {
    let cache = VmCache::open();
    let _lock = cache.lock();
    let say = |_: &str| {};
    let images = ImageStore::open(&cache.folder().join("images")).unwrap();
    // The manager makes its own default image where there is none.
    for recipe in [Recipe::default_image(), Recipe::find("full").unwrap()] {
        if images.resolve(&recipe.name).is_err() {
            images.build(&recipe, &say).unwrap();
        }
    }
    let services = cache.folder().join(LAYOUT);
    if !services.is_dir() {
        let recipe = Recipe::parse(Path::new("services.toml"), SERVICES).unwrap();
        build_container(&recipe, &services, &say).unwrap();
    }
    services
}

/// What a job has in the log.
pub(crate) fn of_job(said: &str, job: &str) -> String {
    let mark = format!("[{job}] ");
    let lines = said.lines().filter(|line| line.starts_with(&mark));
    lines.collect::<Vec<_>>().join("\n")
}

/// Debian's registry of images, with an empty folder; it serves at the address.
pub(crate) fn registry(folder: &Path) -> (Server, SocketAddr) {
    std::fs::create_dir_all(folder).unwrap();
    let config = folder.join("registry.yml");
    let address = free_address();
    let root = folder.join("images");
    // Addresses in its answers are of the host that it was asked as.
    let text = format!(
        "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {root:?}}}}}\nhttp: {{addr: \"{address}\", relativeurls: true}}\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut registry = Command::new("docker-registry");
    registry.arg("serve").arg(&config);
    let server = Server::start("docker-registry", &mut registry, address);
    (server, address)
}
