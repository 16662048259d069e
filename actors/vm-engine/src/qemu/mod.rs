//! The QEMU driver: KVM where the canary boots on it, else software emulation.
//!
//! ```text
//! start ──▶ directory 0700: disk.qcow2 over the image ─▶ qemu ─hello─▶ machine
//! template ─▶ start with its memory in a file ─▶ warm ─▶ stop ─▶ state to a file ─▶ process ends
//! spawn ──▶ disk.qcow2 over the template's, memory file mapped copy-on-write, state loaded ─▶ paused
//! wake ───▶ cont, clock, randomness, host name
//! ```
//!
//! QEMU gets the agent's channel as its standard input and its monitor as its standard output: both
//! are socket pairs, so there is no path to guess, no race to accept, and nothing to remove.

mod canary;
mod command;
mod config;
mod launch;
mod monitor;
mod template;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vm_core::{DriverName, Isolation, TemplateKey};

pub use crate::kernel::{Kernel, MachineKind};
pub use canary::{Canary, KvmReport};
pub use config::{Accelerator, QemuConfig};

use crate::driver::{Driver, Machine, StartRequest, Template};
use crate::error::{DriverError, MachineError};
use crate::image::Image;
use crate::machine::{NewMachine, PauseControl, VmMachine};
use command::GuestMemory;
use config::HINT;
use monitor::QemuMonitor;

/// The file of a QEMU that can be started: a path, or a name to be found in `PATH`. VMs do not get
/// our environment, so the configuration of a driver has to name the file.
///
/// # Errors
/// [`DriverError::Program`] when there is none, or it does not run.
pub fn find(program: &Path) -> Result<PathBuf, DriverError> {
    crate::program::usable(program, HINT)
}

/// Runs VMs with QEMU.
#[derive(Debug)]
pub struct QemuDriver {
    config: Arc<QemuConfig>,
}

impl QemuDriver {
    /// Boots a VM. One whose clock does not go as the host's does is ended, and may be booted
    /// again: a processor is calibrated anew at each boot.
    fn start_once(&self, request: StartRequest) -> Result<Arc<dyn Machine>, DriverError> {
        let key = request.spec.template_key();
        let started = launch::start(
            &self.config,
            request.id,
            &key,
            &request.image,
            request.boot_deadline,
            GuestMemory::Private,
            request.on_event,
        )?;
        let link = started.machine.link.clone();
        let monitor: Arc<dyn PauseControl> = Arc::new(QemuMonitor::new(
            started.qmp,
            &started.machine.process,
            key.mem_mib,
        ));
        // Dropped on every way out but the last, which ends the VM.
        let machine = VmMachine::new(NewMachine {
            monitor: Some(monitor),
            ..started.machine
        });
        machine.wake(&request.identity, request.boot_deadline)?;
        link.check_rate(template::CLOCK_TIMEOUT)?;
        Ok(Arc::new(machine))
    }

    /// A driver with this configuration. With the translator, this process gets no more huge pages
    /// from the kernel: QEMU inherits that (prctl(2), `PR_SET_THP_DISABLE`), and a clone, of which
    /// most has a few kilobytes in use in many places, is 2 to 4 MiB smaller by it. Guests of a
    /// real processor need theirs.
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

    fn start(&self, request: StartRequest) -> Result<Arc<dyn Machine>, DriverError> {
        let on_event = Arc::new(request.on_event);
        let mut attempt = 1;
        loop {
            let order = StartRequest {
                id: request.id.clone(),
                spec: request.spec.clone(),
                image: Arc::clone(&request.image),
                identity: request.identity.clone(),
                boot_deadline: request.boot_deadline,
                on_event: {
                    let on_event = Arc::clone(&on_event);
                    Box::new(move |event| on_event(event))
                },
            };
            match self.start_once(order) {
                Err(DriverError::Machine(MachineError::Clock(_)))
                    if attempt < template::ATTEMPTS =>
                {
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    fn template(
        &self,
        key: &TemplateKey,
        image: &Arc<Image>,
    ) -> Result<Option<Arc<dyn Template>>, DriverError> {
        template::make(&self.config, key, image).map(Some)
    }
}
