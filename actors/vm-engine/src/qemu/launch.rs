//! Starting QEMU: its process, its two connections, and the agent's hello.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use vm_core::guest::{Greeting, VERSION};
use vm_core::{MAX_SNAPSHOTS, TemplateKey, VmId};

use super::command::{GuestMemory, MachineShape};
use super::config::{DISK, HINT, QemuConfig};
use super::monitor::snapshot_bytes;
use crate::error::DriverError;
use crate::event::OnMachineEvent;
use crate::image::Image;
use crate::link::{FIRST, FIRST_OF_CLONE, GuestLink, HelloFailure, await_hello};
use crate::machine::{MachineDirectory, NewMachine, on_disconnect};
use crate::process::{DriverProcess, FileLimit};
use crate::qcow2::write_overlay;
use crate::qmp::Qmp;

/// A VM whose agent has said hello.
pub(super) struct StartedVm {
    pub(super) machine: NewMachine,
    pub(super) qmp: Qmp,
}

/// Boots until the agent is ready.
pub(super) fn start(
    config: &QemuConfig,
    id: VmId,
    key: &TemplateKey,
    image: &Arc<Image>,
    deadline: Duration,
    memory: GuestMemory,
    on_event: OnMachineEvent,
) -> Result<StartedVm, DriverError> {
    let directory = MachineDirectory::new(config.runtime.join(id.as_str()))?;
    let disk = directory.file(DISK);
    let bytes = disk_bytes(key, image);
    write_overlay(&disk, &image.disk, image.format, bytes).map_err(|source| {
        DriverError::Files {
            what: "making",
            path: disk,
            source,
        }
    })?;
    let shape = MachineShape {
        vcpus: key.vcpus,
        mem_mib: key.mem_mib,
        memory,
        incoming: false,
    };
    let launched = launch(config, &directory, &shape, bytes, on_event)?;
    match await_hello(&launched.greeting, deadline) {
        Ok(greeting) if greeting.version == VERSION => {}
        Ok(greeting) => {
            launched.abort();
            return Err(DriverError::Version {
                found: greeting.version,
                wanted: VERSION,
            });
        }
        Err(failure) => return Err(launched.no_hello(failure, deadline)),
    }
    let LaunchedQemu {
        process,
        link,
        ending,
        qmp,
        ..
    } = launched;
    let keeps: Vec<Arc<dyn Send + Sync>> = vec![Arc::<Image>::clone(image)];
    Ok(StartedVm {
        machine: NewMachine {
            id,
            process,
            link,
            directory,
            monitor: None,
            paused: false,
            has_identity: false,
            ending,
            keeps,
        },
        qmp,
    })
}

/// What the guest sees as its disk's size: what was asked for, but never less than the image.
pub(super) fn disk_bytes(key: &TemplateKey, image: &Image) -> u64 {
    image.virtual_bytes.max(u64::from(key.disk_mib) << 20)
}

/// A process with its two connections.
pub(super) struct LaunchedQemu {
    pub(super) process: Arc<DriverProcess>,
    pub(super) link: GuestLink,
    pub(super) greeting: Receiver<Greeting>,
    pub(super) qmp: Qmp,
    pub(super) ending: Arc<AtomicBool>,
}

impl LaunchedQemu {
    pub(super) fn abort(&self) {
        self.ending.store(true, std::sync::atomic::Ordering::SeqCst);
        let _ = self.process.kill();
        self.link.close("it did not become ready");
    }

    fn no_hello(&self, failure: HelloFailure, deadline: Duration) -> DriverError {
        let error = match failure {
            HelloFailure::Disconnected => DriverError::Died {
                detail: self.process.obituary(),
            },
            HelloFailure::Deadline => DriverError::Deadline {
                deadline,
                detail: "its agent has not said hello".to_owned(),
            },
        };
        self.abort();
        error
    }
}

/// Starts the process.
pub(super) fn launch(
    config: &QemuConfig,
    directory: &MachineDirectory,
    shape: &MachineShape,
    disk_bytes: u64,
    on_event: OnMachineEvent,
) -> Result<LaunchedQemu, DriverError> {
    let pair = || {
        UnixStream::pair().map_err(|source| DriverError::Files {
            what: "making a socket for",
            path: directory.path().to_path_buf(),
            source,
        })
    };
    let (agent, agent_of_qemu) = pair()?;
    let (monitor, monitor_of_qemu) = pair()?;
    let mut command = super::command::command(config, shape);
    command.stdin(Stdio::from(OwnedFd::from(agent_of_qemu)));
    command.stdout(Stdio::from(OwnedFd::from(monitor_of_qemu)));
    // The disk can grow to its size and what qcow2 adds; the memory file to the memory.
    let memory = u64::from(shape.mem_mib) << 20;
    let usual = disk_bytes + disk_bytes / 8 + memory + (64 << 20);
    let limit = FileLimit {
        usual,
        most: usual + MAX_SNAPSHOTS as u64 * snapshot_bytes(shape.mem_mib),
    };
    let process = Arc::new(DriverProcess::start(
        command,
        directory.path(),
        limit,
        HINT,
    )?);
    let ending = Arc::new(AtomicBool::new(false));
    let on_disconnect = on_disconnect(Arc::clone(&process), Arc::clone(&ending), on_event);
    let first = if shape.incoming {
        FIRST_OF_CLONE
    } else {
        FIRST
    };
    let (link, greeting) = match GuestLink::new(agent, first, on_disconnect) {
        Ok(link) => link,
        Err(source) => {
            process.kill()?;
            return Err(DriverError::Files {
                what: "starting threads for",
                path: directory.path().to_path_buf(),
                source,
            });
        }
    };
    Ok(LaunchedQemu {
        process,
        link,
        greeting,
        qmp: Qmp::new(monitor),
        ending,
    })
}
