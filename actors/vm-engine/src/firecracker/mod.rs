//! The Firecracker driver: KVM only, spoken to over its API socket.
//!
//! ```text
//! directory 0700: disk (a copy of the image), api.sock, agent.sock_5000
//! firecracker ◀── PUT /machine-config, /boot-source, /drives/root, /vsock, /actions ──┐
//!     guest ──vsock port 5000──▶ agent.sock_5000, where the driver listens ──hello──▶ machine
//! ```
//!
//! It needs a kernel with everything built in (`vm-manager image kernel`) and an image that is an
//! ext4 file system. There are no templates with this driver yet: every VM is booted.

mod api;
mod version;

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde_json::json;
use vm_core::guest::VERSION;
use vm_core::{DriverName, Isolation, TemplateKey};

pub use api::{Api, ApiError};
pub use version::{FirecrackerVersion, VersionError, check_version};

use crate::image::{DiskFormat, Image};
use crate::kernel::Kernel;
use crate::link::{FIRST, GuestLink, HelloFailure, await_hello};
use crate::machine::{MachineDirectory, NewMachine, VmMachine, on_disconnect};
use crate::process::{DriverProcess, FileLimit};
use crate::{Driver, DriverError, Machine, StartRequest, Template};

/// The guest connects to this port of the host.
const PORT: u32 = 5000;
const API: &str = "api.sock";
const AGENT: &str = "agent.sock";
/// The agent finds the word after `orrery.vsock=` on the kernel's command line.
const KERNEL_LINE: &str = "quiet loglevel=3 reboot=k panic=-1 pci=off orrery.vsock=5000";
/// How long clocks are compared until it is certain.
const CLOCK_TIMEOUT: Duration = Duration::from_secs(15);
const HINT: &str = "set the path of firecracker";

/// Runs VMs with Firecracker.
#[derive(Clone, Debug)]
pub struct FirecrackerDriver {
    program: PathBuf,
    kernel: Kernel,
    runtime: PathBuf,
}

impl FirecrackerDriver {
    /// With this program, whose version is asked for and must be one without known escapes.
    ///
    /// # Errors
    /// [`VersionError`] when it cannot be found out or is too old.
    pub fn new(program: PathBuf, kernel: Kernel, runtime: PathBuf) -> Result<Self, VersionError> {
        check_version(&program)?;
        Ok(Self {
            program,
            kernel,
            runtime,
        })
    }

    fn launch(&self, directory: &MachineDirectory) -> Result<DriverProcess, DriverError> {
        let mut command = Command::new(&self.program);
        command.env_clear().args(["--api-sock", API]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        DriverProcess::start(
            command,
            directory.path(),
            FileLimit::fixed(u64::MAX >> 1),
            HINT,
        )
    }
}

impl Driver for FirecrackerDriver {
    fn name(&self) -> DriverName {
        DriverName::Firecracker
    }

    fn isolation(&self) -> Isolation {
        Isolation::HardwareVm
    }

    fn overhead_mib(&self) -> u64 {
        8
    }

    fn start(&self, request: StartRequest) -> Result<Arc<dyn Machine>, DriverError> {
        let unsupported = |what: &str| DriverError::Unsupported {
            driver: DriverName::Firecracker,
            what: what.to_owned(),
        };
        if request.image.format != DiskFormat::Raw {
            return Err(unsupported("boot an image that is not an ext4 file system"));
        }
        let begun = Instant::now();
        let directory = MachineDirectory::new(self.runtime.join(request.id.as_str()))?;
        let failed = |what| {
            let path = directory.path().to_path_buf();
            move |source| DriverError::Files { what, path, source }
        };
        let disk = directory.file("disk");
        copy_disk(&request.image.disk, &disk, request.spec.disk_mib)
            .map_err(failed("copying the disk into"))?;
        let listener = listen(&directory).map_err(failed("listening in"))?;
        let process = Arc::new(self.launch(&directory)?);
        // From here on the process ends with the guard, unless a machine takes it over.
        let guard = Guard(Some(Arc::clone(&process)));
        let api = Api::wait_for(&directory.file(API), request.boot_deadline)
            .map_err(|error| detail("API", &error, &process))?;
        for (path, body) in self.configuration(&request, &disk) {
            api.put(path, &body, request.boot_deadline)
                .map_err(|error| detail(path, &error, &process))?;
        }
        let left = request.boot_deadline.saturating_sub(begun.elapsed());
        let deadline = || DriverError::Deadline {
            deadline: request.boot_deadline,
            detail: "its agent has not connected".to_owned(),
        };
        let socket = accept(&listener, left, &process)
            .map_err(failed("accepting in"))?
            .ok_or_else(|| match process.wait_for_end(Duration::ZERO) {
                Some(_) => DriverError::Died {
                    detail: process.obituary(),
                },
                None => deadline(),
            })?;
        let ending = Arc::new(AtomicBool::new(false));
        let on_disconnect =
            on_disconnect(Arc::clone(&process), Arc::clone(&ending), request.on_event);
        let (link, greeting) =
            GuestLink::new(socket, FIRST, on_disconnect).map_err(failed("starting threads for"))?;
        let keeps: Vec<Arc<dyn Send + Sync>> = vec![Arc::<Image>::clone(&request.image)];
        let parts = NewMachine {
            id: request.id,
            process: Arc::clone(&process),
            link: link.clone(),
            directory,
            monitor: None,
            paused: false,
            has_identity: false,
            ending,
            keeps,
        };
        let machine = VmMachine::new(parts);
        guard.release();
        match await_hello(
            &greeting,
            request.boot_deadline.saturating_sub(begun.elapsed()),
        ) {
            Ok(hello) if hello.version == VERSION => {}
            Ok(hello) => {
                return Err(DriverError::Version {
                    found: hello.version,
                    wanted: VERSION,
                });
            }
            Err(HelloFailure::Disconnected) => {
                return Err(DriverError::Died {
                    detail: process.obituary(),
                });
            }
            Err(HelloFailure::Deadline) => return Err(deadline()),
        }
        machine.wake(&request.identity, request.boot_deadline)?;
        link.check_rate(CLOCK_TIMEOUT)?;
        Ok(Arc::new(machine))
    }

    fn template(
        &self,
        _key: &TemplateKey,
        _image: &Arc<Image>,
    ) -> Result<Option<Arc<dyn Template>>, DriverError> {
        Ok(None)
    }
}

impl FirecrackerDriver {
    /// What Firecracker is told, in this order.
    fn configuration(
        &self,
        request: &StartRequest,
        disk: &Path,
    ) -> Vec<(&'static str, serde_json::Value)> {
        vec![
            (
                "/machine-config",
                json!({ "vcpu_count": request.spec.vcpus, "mem_size_mib": request.spec.mem_mib, "smt": false }),
            ),
            (
                "/boot-source",
                json!({
                    "kernel_image_path": self.kernel.vmlinux, "initrd_path": self.kernel.initramfs, "boot_args": KERNEL_LINE,
                }),
            ),
            (
                "/drives/root",
                json!({
                    "drive_id": "root", "path_on_host": disk, "is_root_device": false, "is_read_only": false,
                }),
            ),
            ("/vsock", json!({ "guest_cid": 3, "uds_path": AGENT })),
            ("/actions", json!({ "action_type": "InstanceStart" })),
        ]
    }
}

/// Ends a process that no machine has taken over.
struct Guard(Option<Arc<DriverProcess>>);

impl Guard {
    fn release(mut self) {
        self.0.take();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(process) = self.0.take() {
            let _ = process.kill();
        }
    }
}

/// A copy that shares its blocks with the image where the host's file system can.
fn copy_disk(image: &Path, disk: &Path, disk_mib: u32) -> std::io::Result<()> {
    fs::copy(image, disk)?;
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(disk, fs::Permissions::from_mode(0o600))?;
    let file = fs::File::options().write(true).open(disk)?;
    let wanted = u64::from(disk_mib) << 20;
    if file.metadata()?.len() < wanted {
        file.set_len(wanted)
    } else {
        Ok(())
    }
}

/// Listens where Firecracker connects to for the guest. A socket's path may have 107 bytes, and the
/// directory's may be longer: it is named through the open directory.
fn listen(directory: &MachineDirectory) -> std::io::Result<UnixListener> {
    use std::os::fd::AsRawFd as _;
    let open = fs::File::open(directory.path())?;
    let listener =
        UnixListener::bind(format!("/proc/self/fd/{}/{AGENT}_{PORT}", open.as_raw_fd()))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The first connection, unless the process ends before or the deadline passes.
fn accept(
    listener: &UnixListener,
    deadline: Duration,
    process: &DriverProcess,
) -> std::io::Result<Option<std::os::unix::net::UnixStream>> {
    let begun = Instant::now();
    loop {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false)?;
                return Ok(Some(socket));
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if begun.elapsed() >= deadline || process.wait_for_end(Duration::ZERO).is_some() {
            return Ok(None);
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

fn detail(command: &str, error: &ApiError, process: &DriverProcess) -> DriverError {
    match process.wait_for_end(Duration::from_millis(20)) {
        Some(_) => DriverError::Died {
            detail: process.obituary(),
        },
        None => DriverError::Monitor {
            command: command.to_owned(),
            detail: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
