//! The bubblewrap driver: namespaces on the host's own kernel. Not a VM, and labelled so; it runs
//! only where somebody has asked for it by name.
//!
//! The job sees the host's `/usr` read-only, a few files of `/etc`, an empty `/tmp` and `/root`,
//! and its own `/workspace`; no network device, no other process, no image. Its memory, its
//! processes and its disk are not limited, and what leaves its process group is ended only with the
//! whole sandbox.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use vm_core::guest::VERSION;
use vm_core::{DriverName, Isolation, TemplateKey};

use crate::image::Image;
use crate::link::{FIRST, GuestLink, HelloFailure, await_hello};
use crate::machine::{MachineDirectory, NewMachine, VmMachine, on_disconnect};
use crate::process::{DriverProcess, FileLimit};
use crate::{Driver, DriverError, Machine, StartRequest, Template};

/// Parts of `/etc` that programs need and that tell nothing.
const ETC: [&str; 8] = [
    "ssl",
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "debian_version",
    "os-release",
    "mime.types",
];
/// Where merged systems have links.
const LINKS: [(&str, &str); 4] = [
    ("usr/bin", "/bin"),
    ("usr/sbin", "/sbin"),
    ("usr/lib", "/lib"),
    ("usr/lib64", "/lib64"),
];
/// Largest file a job can write.
const FILE_LIMIT: u64 = 16 << 30;

/// Runs jobs in namespaces.
#[derive(Clone, Debug)]
pub struct BubblewrapDriver {
    /// The program, usually `bwrap`.
    pub program: PathBuf,
    /// The static agent.
    pub agent: PathBuf,
    /// Where each sandbox gets its directory.
    pub runtime: PathBuf,
}

impl Driver for BubblewrapDriver {
    fn name(&self) -> DriverName {
        DriverName::Bubblewrap
    }

    fn isolation(&self) -> Isolation {
        Isolation::NamespaceSandbox
    }

    fn overhead_mib(&self) -> u64 {
        4
    }

    fn start(&self, request: StartRequest) -> Result<Arc<dyn Machine>, DriverError> {
        let directory = MachineDirectory::new(self.runtime.join(request.id.as_str()))?;
        let failed = |what| {
            let path = directory.path().to_path_buf();
            move |source| DriverError::Files { what, path, source }
        };
        let workspace = directory.file("workspace");
        std::fs::create_dir(&workspace).map_err(failed("making a workspace in"))?;
        let (agent, agent_inside) = UnixStream::pair().map_err(failed("making a socket for"))?;
        let mut command = self.command(&workspace, &request.identity.hostname);
        command
            .stdin(Stdio::from(OwnedFd::from(agent_inside)))
            .stdout(Stdio::null());
        let hint = "install Debian's bubblewrap, or set the path of bwrap";
        let process = Arc::new(DriverProcess::start(
            command,
            directory.path(),
            FileLimit::fixed(FILE_LIMIT),
            hint,
        )?);
        let ending = Arc::new(AtomicBool::new(false));
        let on_disconnect =
            on_disconnect(Arc::clone(&process), Arc::clone(&ending), request.on_event);
        let (link, greeting) =
            GuestLink::new(agent, FIRST, on_disconnect).map_err(failed("starting threads for"))?;
        let parts = NewMachine {
            id: request.id,
            process: Arc::clone(&process),
            link,
            directory,
            monitor: None,
            paused: false,
            // The clock and the randomness are the host's.
            has_identity: true,
            ending,
            keeps: vec![Arc::<Image>::clone(&request.image)],
        };
        // Dropped on every way out but the last, which ends the process and removes the directory.
        let machine = VmMachine::new(parts);
        match await_hello(&greeting, request.boot_deadline) {
            Ok(hello) if hello.version == VERSION => Ok(Arc::new(machine)),
            Ok(hello) => Err(DriverError::Version {
                found: hello.version,
                wanted: VERSION,
            }),
            Err(HelloFailure::Disconnected) => Err(DriverError::Died {
                detail: process.obituary(),
            }),
            Err(HelloFailure::Deadline) => {
                let detail = "its agent has not said hello".to_owned();
                Err(DriverError::Deadline {
                    deadline: request.boot_deadline,
                    detail,
                })
            }
        }
    }

    fn template(
        &self,
        _key: &TemplateKey,
        _image: &Arc<Image>,
    ) -> Result<Option<Arc<dyn Template>>, DriverError> {
        Ok(None)
    }
}

impl BubblewrapDriver {
    fn command(&self, workspace: &Path, hostname: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear();
        command.args([
            "--unshare-all",
            "--as-pid-1",
            "--new-session",
            "--clearenv",
            "--cap-drop",
            "ALL",
        ]);
        command.args(["--hostname", hostname, "--ro-bind", "/usr", "/usr"]);
        for (target, link) in LINKS {
            command.args(["--symlink", target, link]);
        }
        for name in ETC {
            let path = format!("/etc/{name}");
            command.args(["--ro-bind-try", &path, &path]);
        }
        command.args([
            "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/root", "--tmpfs",
            "/run",
        ]);
        command.arg("--bind").arg(workspace).arg("/workspace");
        command
            .arg("--ro-bind")
            .arg(&self.agent)
            .arg("/run/vm-guest");
        command.args(["--chdir", "/workspace", "--", "/run/vm-guest", "--sandbox"]);
        command
    }
}
