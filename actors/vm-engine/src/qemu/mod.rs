//! The QEMU driver: KVM where the canary boots on it, else software emulation.
//!
//! ```text
//! start ──▶ folder 0700: disk.qcow2 over the image ─▶ qemu ─hello─▶ machine
//! template ─▶ start with its memory in a file ─▶ warm ─▶ stop ─▶ state to a file ─▶ process ends
//! spawn ──▶ disk.qcow2 over the template's, memory file mapped copy-on-write, state loaded ─▶ paused
//! wake ───▶ cont, clock, randomness, host name
//! ```
//!
//! QEMU gets the agent's channel as its standard input and its monitor as its standard output: both
//! are socket pairs, so there is no path to guess, no race to accept, and nothing to remove.

mod canary;
mod command;
mod template;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use vm_core::guest::{Greeting, VERSION};
use vm_core::{DriverName, Isolation, TemplateKey, VmId};

pub use canary::{Canary, KvmReport};
pub use command::{Accelerator, Kernel, MachineKind};

use crate::image::Image;
use crate::link::{FIRST, FIRST_OF_CLONE, Failed, Link, await_hello};
use crate::machine::{Folder, Parts, VmMachine, on_gone};
use crate::process::Process;
use crate::qcow2::write_overlay;
use crate::qmp::Qmp;
use crate::{Driver, DriverError, Machine, OnMachineEvent, StartOrder, Template};

use command::{Memory, Shape};

/// The disk's file in a VM's folder.
const DISK: &str = "disk.qcow2";
const HINT: &str = "install Debian's qemu-system-x86, or set the path of qemu-system-x86_64";

/// The file of a QEMU that can be started: a path, or a name to be found in `PATH`. VMs do not get our environment, so the
/// configuration of a driver has to name the file.
///
/// # Errors
/// [`DriverError::Program`] when there is none, or it does not run.
pub fn find(program: &Path) -> Result<PathBuf, DriverError> {
    crate::program::usable(program, HINT)
}

/// How QEMU is run.
#[derive(Clone, Debug)]
pub struct QemuConfig {
    /// The program, usually `qemu-system-x86_64`; see [`find`].
    pub program: PathBuf,
    /// Kernel and initramfs; see [`crate::image::kernel`].
    pub kernel: Kernel,
    /// KVM or emulation; see [`Canary`].
    pub accelerator: Accelerator,
    /// Where each VM and template gets its folder. An absolute path of a folder that exists; on a
    /// disk, as templates keep their memory there.
    pub runtime: PathBuf,
    /// How long a template's boot may take.
    pub boot_deadline: Duration,
    /// Writes the guest's console to `console.log` in the VM's folder; slows the boot down.
    pub console: bool,
    /// Further words for the kernel.
    pub kernel_words: Vec<String>,
}

/// Runs VMs with QEMU.
#[derive(Debug)]
pub struct QemuDriver {
    config: Arc<QemuConfig>,
}

impl QemuDriver {
    /// A driver with this configuration. With the translator, this process gets no more huge pages from the kernel: QEMU
    /// inherits that (prctl(2), `PR_SET_THP_DISABLE`), and a clone, of which most has a few kilobytes in use in many places,
    /// is 2 to 4 MiB smaller by it. Guests of a real processor need theirs.
    pub fn new(config: QemuConfig) -> Self {
        if config.accelerator == Accelerator::Tcg {
            // A kernel that refuses takes more memory, and nothing else is different.
            let _ = rustix::thread::disable_transparent_huge_pages(true);
        }
        Self {
            config: Arc::new(config),
        }
    }
}

impl Driver for QemuDriver {
    fn name(&self) -> DriverName {
        DriverName::Qemu
    }

    fn isolation(&self) -> Isolation {
        match self.config.accelerator {
            Accelerator::Kvm => Isolation::HardwareVm,
            Accelerator::Tcg => Isolation::EmulatedVm,
        }
    }

    fn overhead_mib(&self) -> u64 {
        // QEMU itself, and the cache of translated code.
        match self.config.accelerator {
            Accelerator::Kvm => 48,
            Accelerator::Tcg => 112,
        }
    }

    fn start(&self, order: StartOrder) -> Result<Arc<dyn Machine>, DriverError> {
        let key = order.spec.template_key();
        let started = start(
            &self.config,
            order.id,
            &key,
            &order.image,
            order.boot_deadline,
            Memory::Private,
            order.on_event,
        )?;
        let link = started.parts.link.clone();
        // Dropped on every way out but the last, which ends the VM.
        let machine = VmMachine::new(started.parts);
        machine.wake(&order.identity, order.boot_deadline)?;
        link.check_rate(template::CLOCK)?;
        Ok(Arc::new(machine))
    }

    fn template(
        &self,
        key: &TemplateKey,
        image: &Arc<Image>,
    ) -> Result<Option<Arc<dyn Template>>, DriverError> {
        template::make(&self.config, key, image).map(Some)
    }
}

/// A VM whose agent has said hello.
struct Started {
    parts: Parts,
    qmp: Qmp,
}

/// Boots until the agent is ready.
fn start(
    config: &QemuConfig,
    id: VmId,
    key: &TemplateKey,
    image: &Arc<Image>,
    deadline: Duration,
    memory: Memory,
    on_event: OnMachineEvent,
) -> Result<Started, DriverError> {
    let folder = Folder::new(config.runtime.join(id.as_str()))?;
    let disk = folder.file(DISK);
    let bytes = disk_bytes(key, image);
    write_overlay(&disk, &image.disk, image.format, bytes).map_err(|source| {
        DriverError::Files {
            what: "making",
            path: disk,
            source,
        }
    })?;
    let shape = Shape {
        vcpus: key.vcpus,
        mem_mib: key.mem_mib,
        memory,
        incoming: false,
    };
    let launched = launch(config, &folder, &shape, bytes, on_event)?;
    match await_hello(&launched.greeting, deadline) {
        Ok(greeting) if greeting.version == VERSION => {}
        Ok(greeting) => {
            launched.give_up();
            return Err(DriverError::Version {
                found: greeting.version,
                wanted: VERSION,
            });
        }
        Err(failed) => return Err(launched.no_hello(failed, deadline)),
    }
    let Launched {
        process,
        link,
        ending,
        qmp,
        ..
    } = launched;
    let keeps: Vec<Arc<dyn Send + Sync>> = vec![Arc::<Image>::clone(image)];
    Ok(Started {
        parts: Parts {
            id,
            process,
            link,
            folder,
            resume: None,
            has_identity: false,
            ending,
            keeps,
        },
        qmp,
    })
}

/// What the guest sees as its disk's size: what was asked for, but never less than the image.
fn disk_bytes(key: &TemplateKey, image: &Image) -> u64 {
    image.virtual_bytes.max(u64::from(key.disk_mib) << 20)
}

/// A process with its two connections.
struct Launched {
    process: Arc<Process>,
    link: Link,
    greeting: Receiver<Greeting>,
    qmp: Qmp,
    ending: Arc<AtomicBool>,
}

impl Launched {
    fn give_up(&self) {
        self.ending.store(true, std::sync::atomic::Ordering::SeqCst);
        let _ = self.process.kill();
        self.link.close("it did not become ready");
    }

    fn no_hello(&self, failed: Failed, deadline: Duration) -> DriverError {
        let error = match failed {
            Failed::Gone => DriverError::Died {
                detail: self.process.obituary(),
            },
            Failed::Deadline => DriverError::Deadline {
                deadline,
                detail: "its agent has not said hello".to_owned(),
            },
        };
        self.give_up();
        error
    }
}

/// Starts the process.
fn launch(
    config: &QemuConfig,
    folder: &Folder,
    shape: &Shape,
    disk_bytes: u64,
    on_event: OnMachineEvent,
) -> Result<Launched, DriverError> {
    let pair = || {
        UnixStream::pair().map_err(|source| DriverError::Files {
            what: "making a socket for",
            path: folder.path().to_path_buf(),
            source,
        })
    };
    let (agent, agent_of_qemu) = pair()?;
    let (monitor, monitor_of_qemu) = pair()?;
    let mut command = command::command(config, shape);
    command.stdin(Stdio::from(OwnedFd::from(agent_of_qemu)));
    command.stdout(Stdio::from(OwnedFd::from(monitor_of_qemu)));
    // The disk can grow to its size and what qcow2 adds; the memory file to the memory.
    let limit = disk_bytes + disk_bytes / 8 + (u64::from(shape.mem_mib) << 20) + (64 << 20);
    let process = Arc::new(Process::start(command, folder.path(), limit, HINT)?);
    let ending = Arc::new(AtomicBool::new(false));
    let gone = on_gone(Arc::clone(&process), Arc::clone(&ending), on_event);
    let first = if shape.incoming {
        FIRST_OF_CLONE
    } else {
        FIRST
    };
    let (link, greeting) = match Link::new(agent, first, gone) {
        Ok(link) => link,
        Err(source) => {
            process.kill()?;
            return Err(DriverError::Files {
                what: "starting threads for",
                path: folder.path().to_path_buf(),
                source,
            });
        }
    };
    Ok(Launched {
        process,
        link,
        greeting,
        qmp: Qmp::new(monitor),
        ending,
    })
}
