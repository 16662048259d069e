//! Whether KVM works here: a canary VM says so, nothing else does.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use vm_core::{TemplateKey, VmLimits};

use super::command::GuestMemory;
use super::config::{Accelerator, QemuConfig};
use super::launch;
use crate::error::DriverError;
use crate::image::Image;
use std::sync::Arc;

/// What was found out about hardware virtualisation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KvmReport {
    /// Whether `/dev/kvm` exists.
    pub device: bool,
    /// Whether a VM booted on it in time.
    pub usable: bool,
    /// Why, in words.
    pub reason: String,
    /// The boot of the host that this holds for.
    pub boot_id: String,
    /// The kernel and program that were tried.
    pub tried: String,
}

/// Boots one VM on KVM and remembers what became of it until the host boots again. What kept it
/// from being tried is not remembered: a missing program or permission can be had at any time, and
/// looking for it costs nothing.
#[derive(Clone, Debug)]
pub struct Canary {
    /// Where the outcome is kept.
    pub cache: PathBuf,
    /// How long the canary may take. A real processor needs a fraction of it.
    pub deadline: Duration,
    /// The device; `/dev/kvm`.
    pub device: PathBuf,
}

impl Canary {
    /// With a deadline of five seconds.
    pub fn new(cache: PathBuf) -> Self {
        Self {
            cache,
            deadline: Duration::from_secs(5),
            device: "/dev/kvm".into(),
        }
    }

    /// The outcome, from the cache when it is of this boot of the host.
    pub fn report(&self, config: &QemuConfig, image: &Arc<Image>) -> KvmReport {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .unwrap_or_default()
            .trim()
            .to_owned();
        let tried = format!("{} {}", config.program.display(), config.kernel.release);
        if let Some(report) = self.cached(&boot_id, &tried) {
            return report;
        }
        let CanaryReport {
            device,
            tried: was_tried,
            outcome,
        } = self.try_it(config, image);
        let (usable, reason) = match outcome {
            Ok(reason) => (true, reason),
            Err(reason) => (false, reason),
        };
        let report = KvmReport {
            device,
            usable,
            reason,
            boot_id,
            tried,
        };
        if was_tried {
            // Without a cache the canary is tried again at the next start: slower, not wrong.
            let _ = self.keep(&report);
        }
        report
    }

    fn cached(&self, boot_id: &str, tried: &str) -> Option<KvmReport> {
        let report: KvmReport = serde_json::from_slice(&fs::read(&self.cache).ok()?).ok()?;
        let same = report.boot_id == boot_id
            && report.tried == tried
            && report.device == self.device.exists();
        (same && !boot_id.is_empty()).then_some(report)
    }

    fn keep(&self, report: &KvmReport) -> io::Result<()> {
        let temporary = self.cache.with_extension("new");
        fs::write(
            &temporary,
            serde_json::to_vec(report).map_err(io::Error::other)?,
        )?;
        fs::rename(temporary, &self.cache)
    }

    fn try_it(&self, config: &QemuConfig, image: &Arc<Image>) -> CanaryReport {
        let device = self.device.display();
        if !self.device.exists() {
            return CanaryReport::untried(false, format!("{device} does not exist"));
        }
        if let Err(error) = openable(&self.device) {
            return CanaryReport::untried(true, format!("{device} cannot be opened: {error}"));
        }
        let config = QemuConfig {
            accelerator: Accelerator::Kvm,
            ..config.clone()
        };
        let key = TemplateKey {
            image: Default::default(),
            vcpus: 1,
            mem_mib: VmLimits::default().min_mem_mib,
            disk_mib: VmLimits::default().min_disk_mib,
        };
        let id = format!("vm-canary-{}", std::process::id())
            .parse()
            .expect("digits are a valid id");
        let begin = Instant::now();
        let outcome = launch::start(
            &config,
            id,
            &key,
            image,
            self.deadline,
            GuestMemory::Private,
            Box::new(|_| {}),
        );
        let outcome = match outcome {
            Ok(started) => {
                let took = begin.elapsed().as_millis();
                drop(crate::machine::VmMachine::new(started.machine));
                Ok(format!("a canary VM booted in {took} ms"))
            }
            Err(error @ (DriverError::Program { .. } | DriverError::Files { .. })) => {
                return CanaryReport::untried(
                    true,
                    format!("no canary VM could be started: {error}"),
                );
            }
            Err(error) => Err(format!("the canary VM did not boot: {error}")),
        };
        CanaryReport {
            device: true,
            tried: true,
            outcome,
        }
    }
}

/// What became of the canary.
struct CanaryReport {
    /// Whether there is a device.
    device: bool,
    /// Whether a VM was started.
    tried: bool,
    /// In words.
    outcome: Result<String, String>,
}

impl CanaryReport {
    fn untried(device: bool, reason: String) -> Self {
        Self {
            device,
            tried: false,
            outcome: Err(reason),
        }
    }
}

fn openable(device: &Path) -> io::Result<()> {
    fs::File::options()
        .read(true)
        .write(true)
        .open(device)
        .map(drop)
}
