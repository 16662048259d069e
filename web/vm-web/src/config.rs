//! The configuration file `vm-manager.toml`, checked.
//!
//! All of it can be left out: an empty file is a manager with everything as it comes.

mod tables;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use config_core::{
    Choices, Diagnostic, Diagnostics, Environment, Input, Item, LOG_LEVELS, Layered, Setting,
    ValueError, choose,
};
use vm_actors::VmSettings;
use vm_core::DriverName;

/// Where the manager listens unless told.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:3100";

/// The drivers one can ask for.
const DRIVERS: &Choices<DriverName> = &[
    ("qemu", DriverName::Qemu),
    ("firecracker", DriverName::Firecracker),
    ("namespace-sandbox", DriverName::Bubblewrap),
];

/// What flags of the command line say.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--listen`.
    pub listen: Option<String>,
    /// `--data`.
    pub data: Option<String>,
    /// `--log-level`.
    pub log_level: Option<String>,
}

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
    /// Bounds and times of the actors.
    pub settings: VmSettings,
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

/// What a file alone says: `vm-manager.toml`, or a table of another file.
#[derive(Debug)]
pub struct FileValues {
    data: Option<PathBuf>,
    listen: Option<SocketAddr>,
    log_level: Option<&'static str>,
    hosts: Vec<String>,
    driver: DriverName,
    qemu: QemuTable,
    firecracker: FirecrackerTable,
    agent: Option<PathBuf>,
    settings: VmSettings,
}

impl ManagerConfig {
    /// The configuration in force: flags win over the environment, that over the file `name` with
    /// the content `text`. Relative paths of the file are meant from `base`.
    ///
    /// # Errors
    /// Every mistake at once.
    pub fn parse(
        name: &str,
        text: &[u8],
        base: &Path,
        flags: &Flags,
        environment: &Environment,
    ) -> Result<Self, Diagnostics> {
        let file = Input::toml(name, text, environment)
            .decode(|item| FileValues::read(item, base))?
            .value;
        Self::of(file, flags, environment)
    }

    /// The configuration in force, with what a file says read already.
    ///
    /// # Errors
    /// Every mistake of the flags and the environment at once.
    pub fn of(
        file: FileValues,
        flags: &Flags,
        environment: &Environment,
    ) -> Result<Self, Diagnostics> {
        let mut wrong = Diagnostics::default();
        let listen = Layered::default()
            .flag("--listen", flags.listen.as_deref())
            .variable("VM_MANAGER_LISTEN", environment)
            .file(file.listen)
            .resolve_or(default_listen(), address);
        let log_level = Layered::default()
            .flag("--log-level", flags.log_level.as_deref())
            .variable("LOG_LEVEL", environment)
            .file(file.log_level)
            .resolve_or("info", |text| choose("log level", text, LOG_LEVELS));
        let data = Layered::default()
            .flag("--data", flags.data.as_deref())
            .variable("VM_MANAGER_DATA", environment)
            .file(file.data)
            .resolve_or(environment.data_home().join("orrery/vm-manager"), |text| {
                Ok(PathBuf::from(text))
            });
        let data = kept(data, &mut wrong);
        let listen = kept(listen, &mut wrong);
        let log_level = kept(log_level, &mut wrong);
        let (Some(data), Some(listen), Some(log_level)) = (data, listen, log_level) else {
            return Err(wrong);
        };
        Ok(Self {
            data,
            listen,
            log_level,
            hosts: file.hosts,
            driver: file.driver,
            qemu: file.qemu,
            firecracker: file.firecracker,
            agent: file.agent,
            settings: file.settings,
        })
    }
}

fn kept<T>(found: Result<Setting<T>, Diagnostic>, wrong: &mut Diagnostics) -> Option<Setting<T>> {
    found.map_err(|diagnostic| wrong.push(diagnostic)).ok()
}

impl FileValues {
    /// Reads the manager's table; relative paths are meant from `base`. Mistakes are the item's.
    #[must_use]
    pub fn read(item: &Item<'_>, base: &Path) -> Option<Self> {
        table(item, base)
    }

    /// Whether it says where state is kept.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }

    /// Whether it says where to listen.
    #[must_use]
    pub fn has_listen(&self) -> bool {
        self.listen.is_some()
    }
}

fn table(item: &Item<'_>, base: &Path) -> Option<FileValues> {
    const KEYS: [&str; 15] = [
        "data_dir",
        "listen",
        "log_level",
        "hosts",
        "driver",
        "agent",
        "capacity",
        "limits",
        "lease",
        "deadlines",
        "network",
        "pool",
        "output",
        "qemu",
        "firecracker",
    ];
    item.fields("the manager's configuration", &KEYS, |fields| {
        let path = |item: &Item<'_>| item.string().map(|text| base.join(text));
        let data = fields.optional("data_dir", path);
        let listen = fields.optional("listen", |item| item.parsed(address));
        let log_level = fields.optional("log_level", |item| item.choice("log level", LOG_LEVELS));
        let hosts = fields.optional("hosts", |item| item.list(Item::string));
        let driver = fields.optional("driver", |item| item.choice("driver", DRIVERS));
        let agent = fields.optional("agent", path);
        let mut settings = VmSettings::default();
        fields.optional("capacity", |item| tables::capacity(item, &mut settings));
        fields.optional("limits", |item| tables::limits(item, &mut settings));
        fields.optional("lease", |item| tables::lease(item, &mut settings));
        fields.optional("deadlines", |item| tables::deadlines(item, &mut settings));
        fields.optional("network", |item| tables::network(item, &mut settings));
        fields.optional("output", |item| tables::output(item, &mut settings));
        // After the limits, which its VMs must keep.
        fields.optional("pool", |item| tables::pool(item, &mut settings));
        let beyond = tables::beyond_limits(&settings);
        if let Some(wrong) = beyond.or_else(|| tables::beyond_capacity(&settings)) {
            fields.error_at("pool", wrong);
        }
        let qemu = fields.optional("qemu", |item| tables::qemu(item, base));
        let firecracker = fields.optional("firecracker", |item| tables::firecracker(item, base));
        Some(FileValues {
            data,
            listen,
            log_level,
            hosts: hosts.unwrap_or_default(),
            driver: driver.unwrap_or(DriverName::Qemu),
            qemu: qemu.unwrap_or_default(),
            firecracker: firecracker.unwrap_or_default(),
            agent,
            settings,
        })
    })
}

fn default_listen() -> SocketAddr {
    DEFAULT_LISTEN.parse().expect("the default is an address")
}

fn address(text: &str) -> Result<SocketAddr, ValueError> {
    text.parse().map_err(|_| {
        ValueError::new(format!("`{text}` is not an address and a port"))
            .help(format!("for example `{DEFAULT_LISTEN}`"))
    })
}
