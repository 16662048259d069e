//! The drivers, from the configuration: with all that their VMs are made of.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use vm_actors::host_preparation::{LocalImages, PreparedHost};
use vm_core::{DriverName, ImageRef, Isolation, Network, VmSpec};
use vm_engine::bubblewrap::BubblewrapDriver;
use vm_engine::firecracker::FirecrackerDriver;
use vm_engine::image::kernel::KernelStore;
use vm_engine::image::{Image, ImageError, Recipe};
use vm_engine::qemu::{Accelerator, Canary, Kernel, QemuConfig, QemuDriver};
use vm_engine::{Driver, Identity, StartRequest};
use vmm_api_core::Kvm;

use super::data_directory::DataDirectory;
use crate::config::ManagerConfig;

/// The program of the namespace sandbox, found in `PATH`.
pub(super) const BUBBLEWRAP: &str = "bwrap";

/// How long Firecracker's canary may take.
const CANARY_TIMEOUT: Duration = Duration::from_secs(10);

type Progress<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// What a driver is made from.
pub(super) struct DriverSetup {
    pub(super) config: ManagerConfig,
    pub(super) directory: DataDirectory,
    pub(super) images: LocalImages,
    /// The static program that VMs run.
    pub(super) agent: PathBuf,
}

impl DriverSetup {
    /// The driver that was asked for, never another one; the error is for people.
    pub(super) fn prepare(&self, progress: Progress<'_>) -> Result<PreparedHost, String> {
        match self.config.driver {
            DriverName::Qemu => self.qemu(progress),
            DriverName::Firecracker => self.firecracker(progress),
            DriverName::Bubblewrap => Ok(self.bubblewrap()),
            DriverName::Scripted => Err("this driver is for tests alone".to_owned()),
        }
    }

    /// The image `default`; when it is missing it is fetched, or made where nobody has stored one.
    fn image(&self, progress: Progress<'_>) -> Result<Arc<Image>, String> {
        progress("looking for the image and the kernel");
        let default = ImageRef::default();
        let store = &self.images.store;
        let image = match store.resolve(&default) {
            Err(ImageError::Unknown(_)) => match self.fetched(&default, progress)? {
                Some(image) => Ok(image),
                None => store.build(&Recipe::default_image(), progress),
            },
            found => found,
        };
        image.map_err(|error| error.to_string())
    }

    /// The image from the storage, if there is one that has it. Where it cannot be asked nothing is
    /// made in place of it: that would be another image, which no name of the storage means.
    fn fetched(
        &self,
        image: &ImageRef,
        progress: Progress<'_>,
    ) -> Result<Option<Arc<Image>>, String> {
        let Some(fetcher) = &self.images.fetcher else {
            return Ok(None);
        };
        let tenths = AtomicU64::new(u64::MAX);
        let fetched = fetcher.fetch_now(image, &|at| {
            let now = at.done.saturating_mul(10) / at.total.max(1);
            if tenths.swap(now, Ordering::Relaxed) != now {
                let (done, total) = (at.done >> 20, at.total.div_ceil(1 << 20));
                progress(&format!(
                    "fetching the image {image}: {done} of {total} MiB"
                ));
            }
        });
        fetched.map_err(|error| error.to_string())
    }

    fn kernel(&self, progress: Progress<'_>) -> Result<Kernel, String> {
        let kernels = KernelStore::new(self.directory.kernels());
        let kernel = match kernels.best(&self.agent) {
            Ok(None) => kernels.debian(&self.agent, progress),
            Ok(Some(kernel)) => Ok(kernel),
            Err(error) => Err(error),
        };
        kernel.map_err(|error| error.to_string())
    }

    fn qemu(&self, progress: Progress<'_>) -> Result<PreparedHost, String> {
        // Asked first: without it nothing that is fetched is of use.
        let program = vm_engine::qemu::find(&self.config.qemu.program);
        let program = program.map_err(|error| error.to_string())?;
        let image = self.image(progress)?;
        let mut qemu = QemuConfig {
            program,
            kernel: self.kernel(progress)?,
            accelerator: Accelerator::Tcg,
            runtime: self.directory.runtime(),
            boot_deadline: self.config.settings.deadlines.boot,
            console: false,
            kernel_words: Vec::new(),
        };
        let kvm = if self.config.qemu.kvm == Some(false) {
            Kvm {
                device: Path::new("/dev/kvm").exists(),
                usable: false,
                reason: "the configuration says `kvm = \"never\"`".to_owned(),
            }
        } else {
            progress("trying whether KVM works here");
            let report = Canary::new(self.directory.canary()).report(&qemu, &image);
            Kvm {
                device: report.device,
                usable: report.usable,
                reason: report.reason,
            }
        };
        if kvm.usable {
            qemu.accelerator = Accelerator::Kvm;
        }
        Ok(PreparedHost {
            driver: Arc::new(QemuDriver::new(qemu)),
            kvm,
        })
    }

    /// Firecracker has no emulation: where its canary does not boot there are no VMs.
    fn firecracker(&self, progress: Progress<'_>) -> Result<PreparedHost, String> {
        let program = self.config.firecracker.program.clone();
        // Asked first: an old version is refused before anything is fetched for it.
        vm_engine::firecracker::check_version(&program).map_err(|error| error.to_string())?;
        let image = self.image(progress)?;
        let kernel = self.kernel(progress)?;
        let driver = FirecrackerDriver::new(program, kernel, self.directory.runtime())
            .map_err(|error| error.to_string())?;
        progress("trying whether a Firecracker VM boots here");
        let machine = driver
            .start(canary(image))
            .map_err(|error| format!("Firecracker's canary did not boot: {error}"))?;
        machine.kill().map_err(|error| error.to_string())?;
        let kvm = Kvm {
            device: true,
            usable: true,
            reason: "Firecracker's canary booted".to_owned(),
        };
        Ok(PreparedHost {
            driver: Arc::new(driver),
            kvm,
        })
    }

    /// No VM: whoever configured it by its name knows. Orders still have to ask for it.
    fn bubblewrap(&self) -> PreparedHost {
        let driver = BubblewrapDriver {
            program: BUBBLEWRAP.into(),
            agent: self.agent.clone(),
            runtime: self.directory.runtime(),
        };
        let kvm = Kvm {
            device: Path::new("/dev/kvm").exists(),
            usable: false,
            reason: "a namespace sandbox uses no virtualisation".to_owned(),
        };
        PreparedHost {
            driver: Arc::new(driver),
            kvm,
        }
    }
}

/// The smallest VM, which is killed as soon as it is there.
fn canary(image: Arc<Image>) -> StartRequest {
    let id = format!("vm-canary-{}", std::process::id());
    let owner = "canary".parse().expect("a word is a valid owner");
    StartRequest {
        id: id.parse().expect("digits are a valid id"),
        spec: VmSpec {
            image: ImageRef::default(),
            vcpus: 1,
            mem_mib: 256,
            disk_mib: 1024,
            network: Network::None,
            allow: None,
            services: None,
            services_for: Vec::new(),
            lease: CANARY_TIMEOUT,
            owner,
            isolation_min: Isolation::HardwareVm,
        },
        image,
        identity: Identity {
            // It draws nothing that anybody uses.
            seed: [0; 64],
            hostname: id,
        },
        boot_deadline: CANARY_TIMEOUT,
        on_event: Box::new(|_| {}),
    }
}
