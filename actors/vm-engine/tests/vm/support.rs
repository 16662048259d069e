//! What the tests with real VMs stand on: agent, kernel and image, made once and kept in the cache
//! folder (`ORRERY_CACHE`, else `~/.cache/orrery`).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tempfile::TempDir;
use vm_core::{ExecEnd, ExecProgram, ExecSpec, ImageRef, Network, OutputStream, VmSpec};
use vm_engine::image::kernel::KernelStore;
use vm_engine::image::{Image, ImageStore, Recipe};
use vm_engine::qemu::{Accelerator, QemuConfig, QemuDriver};
use vm_engine::{
    CloneRequest, Driver, ExecSink, ExecTicket, Identity, Machine, MachineEvent, OutputFlow,
    StartRequest, Template,
};

/// How long anything may take on a machine that does other things as well.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The cache folder for VMs.
pub(crate) fn cache() -> PathBuf {
    let base = std::env::var_os("ORRERY_CACHE")
        .map(PathBuf::from)
        .unwrap_or_else(|| {
            let home = std::env::var_os("HOME").expect("HOME or ORRERY_CACHE must be set");
            PathBuf::from(home).join(".cache/orrery")
        });
    let folder = base.join("vm");
    fs::create_dir_all(&folder)
        .unwrap_or_else(|error| panic!("making {}: {error}", folder.display()));
    folder
}

/// One process at a time makes what is missing; the lock ends with the value.
fn locked() -> File {
    let file = File::create(cache().join("lock")).unwrap();
    file.lock().unwrap();
    file
}

/// The static agent, built by cargo from this checkout.
/// `ORRERY_VM_GUEST` names one that is built already.
pub(crate) fn agent() -> PathBuf {
    if let Some(built) = std::env::var_os("ORRERY_VM_GUEST") {
        return built.into();
    }
    let workspace = std::path::absolute("../..").expect("a folder to work in");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(&workspace)
        .args([
            "build",
            "--package",
            "vm-guest",
            "--profile",
            "guest",
            "--target",
            "x86_64-unknown-linux-gnu",
            "--message-format",
            "json",
        ])
        // Its own flags: a target given by name keeps them from build scripts.
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static")
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let marker = "\"executable\":\"";
    let executable = text.lines().rev().find_map(|line| {
        let rest = &line[line.find(marker)? + marker.len()..];
        Some(PathBuf::from(&rest[..rest.find('"')?]))
    });
    executable.unwrap_or_else(|| {
        panic!(
            "vm-guest was not built: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// A driver with emulation, a runtime folder of its own, and the image `default`.
pub(crate) struct Lab {
    pub(crate) driver: QemuDriver,
    pub(crate) image: Arc<Image>,
    pub(crate) config: QemuConfig,
    runtime: TempDir,
}

/// Says which package a missing program is in, instead of passing.
pub(crate) fn need(program: &str, package: &str) {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    assert!(
        found,
        "{program} is missing: run `apt-get install -y --no-install-recommends {package}`"
    );
}

impl Lab {
    /// Debian's kernel, emulated: what every machine can run.
    pub(crate) fn new() -> Self {
        Self::with(None, None)
    }

    /// With the kernel `own` or `debian`, and the accelerator `kvm` or `tcg`.
    pub(crate) fn with(kernel: Option<&str>, accelerator: Option<&str>) -> Self {
        need("qemu-system-x86_64", "qemu-system-x86");
        need("mmdebstrap", "mmdebstrap");
        need("mke2fs", "e2fsprogs");
        let _lock = locked();
        let agent = agent();
        let say = |line: &str| eprintln!("{line}");
        let kernels = KernelStore::new(cache().join("kernels"));
        let kernel = match kernel {
            Some("own") => kernels.best(&agent).unwrap().expect("a kernel was built"),
            _ => kernels.debian(&agent, &say).unwrap(),
        };
        let images = ImageStore::open(&cache().join("images")).unwrap();
        let image = match images.resolve(&ImageRef::default()) {
            Ok(image) => image,
            Err(_) => images.build(&Recipe::default_image(), &say).unwrap(),
        };
        // On a disk, as in production: templates keep their memory there.
        let runtime = tempfile::Builder::new()
            .prefix("runtime-")
            .tempdir_in(cache())
            .unwrap();
        let config = QemuConfig {
            program: "qemu-system-x86_64".into(),
            kernel,
            accelerator: if accelerator == Some("kvm") {
                Accelerator::Kvm
            } else {
                Accelerator::Tcg
            },
            runtime: runtime.path().to_path_buf(),
            boot_deadline: TEST_TIMEOUT,
            console: std::env::var_os("ORRERY_VM_CONSOLE").is_some(),
            kernel_words: Vec::new(),
        };
        Self {
            driver: QemuDriver::new(config.clone()),
            image,
            config,
            runtime,
        }
    }

    pub(crate) fn spec() -> VmSpec {
        VmSpec {
            image: ImageRef::default(),
            vcpus: 1,
            mem_mib: 256,
            disk_mib: 1024,
            network: Network::None,
            allow: None,
            services: None,
            services_for: Vec::new(),
            lease: TEST_TIMEOUT,
            owner: "test".parse().unwrap(),
            isolation_min: Default::default(),
        }
    }

    pub(crate) fn start(&self, id: &str) -> Arc<dyn Machine> {
        self.start_telling(id).0
    }

    pub(crate) fn start_telling(&self, id: &str) -> (Arc<dyn Machine>, Receiver<MachineEvent>) {
        let (sender, events) = channel();
        let request = StartRequest {
            id: id.parse().unwrap(),
            spec: Self::spec(),
            image: Arc::clone(&self.image),
            identity: identity(id),
            boot_deadline: TEST_TIMEOUT,
            on_event: Box::new(move |event| drop(sender.send(event))),
        };
        let machine = self
            .driver
            .start(request)
            .unwrap_or_else(|error| panic!("{error}"));
        (machine, events)
    }

    pub(crate) fn template(&self) -> Arc<dyn Template> {
        let key = Self::spec().template_key();
        self.driver
            .template(&key, &self.image)
            .unwrap_or_else(|error| panic!("{error}"))
            .expect("QEMU has templates")
    }

    pub(crate) fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    /// Nothing of any VM is left: no folder, and no process that works in one.
    pub(crate) fn assert_nothing_left(&self) {
        let left: Vec<_> = fs::read_dir(self.runtime())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(left.is_empty(), "{left:?}");
        let runtime = self.runtime().canonicalize().unwrap();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            assert!(
                !cwd.starts_with(&runtime),
                "{} still works in {}",
                entry.path().display(),
                cwd.display()
            );
        }
    }
}

pub(crate) fn identity(hostname: &str) -> Identity {
    let mut seed = [0; 64];
    std::io::Read::read_exact(&mut File::open("/dev/urandom").unwrap(), &mut seed).unwrap();
    Identity {
        seed,
        hostname: hostname.to_owned(),
    }
}

pub(crate) fn clone_of(template: &Arc<dyn Template>, id: &str) -> Arc<dyn Machine> {
    let request = CloneRequest {
        id: id.parse().unwrap(),
        deadline: TEST_TIMEOUT,
        on_event: Box::new(|_| {}),
    };
    template
        .spawn(request)
        .unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn warm_clone_of(template: &Arc<dyn Template>, id: &str) -> Arc<dyn Machine> {
    let request = CloneRequest {
        id: id.parse().unwrap(),
        deadline: TEST_TIMEOUT,
        on_event: Box::new(|_| {}),
    };
    template
        .spawn_warm(request)
        .unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn script(text: &str) -> ExecSpec {
    ExecSpec {
        program: ExecProgram::Script {
            text: text.to_owned(),
            shell: ExecSpec::shell("bash").unwrap(),
        },
        cwd: ExecSpec::WORKSPACE.to_owned(),
        env: BTreeMap::new(),
        timeout: None,
        terminal: None,
    }
}

/// What a sink was told.
#[derive(Debug)]
pub(crate) enum CollectedOutput {
    Output(OutputStream, Vec<u8>),
    Ended(ExecEnd),
}

/// Passes on what it is told; holds when asked to.
pub(crate) struct Collect {
    pub(crate) sender: Sender<CollectedOutput>,
    pub(crate) flow: OutputFlow,
}

impl ExecSink for Collect {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) -> OutputFlow {
        let _ = self
            .sender
            .send(CollectedOutput::Output(stream, bytes.to_vec()));
        self.flow
    }

    fn ended(&mut self, end: ExecEnd) {
        let _ = self.sender.send(CollectedOutput::Ended(end));
    }
}

/// Something that runs, and its news.
pub(crate) struct Running {
    pub(crate) ticket: ExecTicket,
    pub(crate) news: Receiver<CollectedOutput>,
}

pub(crate) fn begin(machine: &dyn Machine, spec: ExecSpec) -> Running {
    let (sender, news) = channel();
    let ticket = machine
        .exec(
            spec,
            Box::new(Collect {
                sender,
                flow: OutputFlow::Continue,
            }),
        )
        .unwrap();
    Running { ticket, news }
}

/// How it ended, and what it wrote.
#[derive(Debug)]
pub(crate) struct ExecResult {
    pub(crate) end: ExecEnd,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) bytes: usize,
}

impl Running {
    pub(crate) fn outcome(self) -> ExecResult {
        let (mut stdout, mut stderr, mut bytes) = (Vec::new(), Vec::new(), 0);
        loop {
            match self
                .news
                .recv_timeout(TEST_TIMEOUT)
                .expect("it ends in time")
            {
                CollectedOutput::Output(stream, piece) => {
                    bytes += piece.len();
                    let text = if stream == OutputStream::Stdout {
                        &mut stdout
                    } else {
                        &mut stderr
                    };
                    if text.len() < 1 << 20 {
                        text.extend_from_slice(&piece);
                    }
                }
                CollectedOutput::Ended(end) => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    return ExecResult {
                        end,
                        stdout: text(&stdout),
                        stderr: text(&stderr),
                        bytes,
                    };
                }
            }
        }
    }
}

pub(crate) fn run(machine: &dyn Machine, text: &str) -> ExecResult {
    begin(machine, script(text)).outcome()
}
