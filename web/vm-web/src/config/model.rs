//! The checked configuration.

use std::net::SocketAddr;
use std::path::PathBuf;

use config_core::{ObjectSettings, ObjectTable, Setting, SettingOrigin};
use vm_actors::VmSettings;
use vm_core::DriverName;

pub(super) const DEFAULT_LISTEN: &str = "127.0.0.1:3100";

/// The checked configuration.
#[derive(Debug, Clone)]
pub struct ManagerConfig {
    /// Where state, images, kernels and the folders of VMs are.
    pub data: Setting<PathBuf>,
    /// Where it listens.
    pub listen: Setting<SocketAddr>,
    /// How much is logged.
    pub log_level: Setting<&'static str>,
    /// Further names it answers for.
    pub hosts: Vec<String>,
    /// What runs VMs.
    pub driver: DriverName,
    /// How QEMU is run.
    pub qemu: QemuTable,
    /// How Firecracker is run.
    pub firecracker: FirecrackerTable,
    /// The agent that VMs run; found beside the program unless given.
    pub agent: Option<PathBuf>,
    /// `[objects]` as the file has it.
    pub(super) object_table: ObjectTable,
    /// Where images are shared; checked.
    pub objects: Option<ObjectSettings>,
    /// `[images]`.
    pub images: ImagesTable,
    /// Bounds and times of the actors.
    pub settings: VmSettings,
}

/// `[images]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagesTable {
    /// Bytes that a fetch leaves free on the disk of the images.
    pub keep_free: u64,
}

/// `[qemu]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QemuTable {
    /// The program.
    pub program: PathBuf,
    /// KVM or not; `None`: the canary decides.
    pub kvm: Option<bool>,
}

/// `[firecracker]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirecrackerTable {
    /// The program.
    pub program: PathBuf,
}

impl Default for ManagerConfig {
    fn default() -> Self {
        let listen = DEFAULT_LISTEN.parse().expect("the default is an address");
        Self {
            data: unset(PathBuf::new()),
            listen: unset(listen),
            log_level: unset("info"),
            hosts: Vec::new(),
            driver: DriverName::Qemu,
            qemu: QemuTable {
                program: "qemu-system-x86_64".into(),
                kvm: None,
            },
            firecracker: FirecrackerTable {
                program: "firecracker".into(),
            },
            agent: None,
            object_table: ObjectTable::default(),
            objects: None,
            images: ImagesTable { keep_free: 1 << 30 },
            settings: VmSettings::default(),
        }
    }
}

const fn unset<T>(value: T) -> Setting<T> {
    let origin = SettingOrigin::Default;
    Setting { value, origin }
}
