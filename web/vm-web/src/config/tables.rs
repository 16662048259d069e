//! The keys of the configuration file, one row each.

use std::net::SocketAddr;
use std::time::Duration;

use config_core::{
    ByteSize, Choices, FILE_PATH, LOG_LEVELS, OBJECTS, PROGRAM, TextKind, ValueError, choice,
    format_duration, from_str, integer, list, opt, parse_duration, set, size, table,
};
use vm_actors::VmSettings;
use vm_core::network::HostPattern;
use vm_core::{DriverName, ImageRef, TemplateKey};

use super::model::{DEFAULT_LISTEN, ManagerConfig};

const DRIVERS: &Choices<DriverName> = &[
    ("qemu", DriverName::Qemu),
    ("firecracker", DriverName::Firecracker),
    ("namespace-sandbox", DriverName::Bubblewrap),
];
const KVM: &Choices<Option<bool>> = &[("auto", None), ("never", Some(false))];

/// Longest that nothing may move on a connection.
const MAX_IDLE_TIMEOUT: Duration = Duration::from_secs(86_400);

const ADDRESS: TextKind<SocketAddr> = TextKind::new("address", address, SocketAddr::to_string);
const REACHABLE: TextKind<HostPattern> =
    TextKind::new("address", from_str, |place| String::from(place.clone()));
const IMAGE: TextKind<ImageRef> = TextKind::with_format("image");
const POSITIVE: TextKind<Duration> =
    TextKind::new("duration", positive, |time| format_duration(*time));
const MIB: TextKind<u32> = TextKind::new("size", mib32, |mib| format_bytes(u64::from(*mib) << 20));
const MANY_MIB: TextKind<u64> = TextKind::new("size", mib, |mib| format_bytes(*mib << 20));
const BUFFERS: TextKind<u64> = TextKind::new("size", buffers, |mib| format_bytes(*mib << 20));
const BYTES: TextKind<usize> = TextKind::new("size", bytes, |bytes| format_bytes(*bytes as u64));

table! {
    /// The VM manager.
    pub(super) static MANAGER: ManagerConfig = "the manager's configuration" {
        /// state, images, kernels, the folders of VMs
        "data_dir" (variable "VM_MANAGER_DATA", flag "--data", documented_default "~/.local/share/orrery/vm-manager") = set(FILE_PATH) => data;
        /// listen address
        "listen" (variable "VM_MANAGER_LISTEN", flag "--listen") = set(ADDRESS) => listen;
        /// how much is logged
        "log_level" (variable "LOG_LEVEL", flag "--log-level") = set(choice("log level", LOG_LEVELS)) => log_level;
        /// further names the manager answers for
        "hosts" = list(TextKind::STRING) => hosts;
        /// what runs VMs; `namespace-sandbox` is no VM, therefore only by this name
        "driver" = choice("driver", DRIVERS) => driver;
        /// the static program that VMs run; the flag `--agent` wins over it
        "agent" (documented_default "vm-guest beside vm-manager") = opt(FILE_PATH) => agent;
        /// what all VMs may have together
        "capacity" { CAPACITY } => settings;
        /// what one VM may have
        "limits" { LIMITS } => settings;
        /// how long VMs may be held
        "lease" { LEASE } => settings;
        /// when a VM counts as stuck
        "deadlines" { DEADLINES } => settings;
        /// what VMs that ask for a network may reach
        "network" { NETWORK } => settings;
        /// what waits, and how much of it
        "pool" { POOL } => settings;
        /// what is kept of what commands write
        "output" { OUTPUT } => settings;
        /// where images are that the managers of all hosts share
        /// ([OPERATIONS.md](OPERATIONS.md#images-in-object-storage)); the table's `local` is what
        /// the images may take that are fetched, but for those that are in use or configured
        "objects" { OBJECTS } => object_table;
        /// images that are fetched
        "images" { IMAGES };
        /// how QEMU is run
        "qemu" { QEMU };
        /// how Firecracker is run
        "firecracker" { FIRECRACKER };
    } then |fields, config| {
        let beyond = beyond_limits(&config.settings);
        if let Some(wrong) = beyond.or_else(|| beyond_capacity(&config.settings)) {
            fields.error_at("pool", wrong);
        }
    };

    static CAPACITY: VmSettings = "[capacity]" {
        /// memory of all VMs
        "memory" = MANY_MIB => capacity.mem_mib;
        /// processors of all VMs
        "vcpus" = integer(1..=4096) => capacity.vcpus;
        /// VMs at once
        "vms" = integer(1..=1000) => capacity.vms;
        /// requests that may wait for room; further ones are answered 503 with `Retry-After`
        "queue" = integer(0..=1000) => capacity.queue;
        /// how long a request waits for room
        "wait" = TextKind::DURATION => wait;
        /// what the manager itself may hold for all guests together: output, streams and files on
        /// their way; a stream beyond it is refused
        "buffers" = BUFFERS => buffers_mib;
    }

    static LIMITS: VmSettings = "[limits]" {
        /// most processors of one VM
        "vcpus" = integer(1..=64) => limits.max_vcpus;
        /// most memory of one VM
        "memory" = MIB => limits.max_mem_mib;
        /// largest disk of one VM
        "disk" = MIB => limits.max_disk_mib;
    }

    static LEASE: VmSettings = "[lease]" {
        /// the longest lease
        "longest" = POSITIVE => lease.longest;
        /// the longest time with all extensions
        "total" = POSITIVE => lease.total;
        /// when a VM is released after the end of its lease
        "grace" = TextKind::DURATION => lease_grace;
    } then |fields, settings| {
        settings.limits.max_lease = settings.lease.longest;
        if settings.lease.total < settings.lease.longest {
            fields.error_at("total", "`total` is shorter than `longest`");
        }
    };

    static DEADLINES: VmSettings = "[deadlines]" {
        /// the longest boot
        "boot" = POSITIVE => deadlines.boot;
        /// the longest silence of a VM's agent
        "silence" = POSITIVE => deadlines.silence;
        /// the longest time in which no byte of a transfer of files moves; one that moves may take
        /// as long as it takes
        "transfer" = POSITIVE => transfer_idle;
    }

    static NETWORK: VmSettings = "[network]" {
        /// what VMs may reach ([OPERATIONS.md](OPERATIONS.md#network-of-vms))
        "allow" = list(REACHABLE) => allow.0;
        /// where a workflow runner may give its VMs services, as `127.0.0.1:3002`
        "services" = list(REACHABLE) => services.0;
        /// connections of one VM at once
        "streams" = integer(1..=1024) => network.streams;
        /// how long nothing may move on a connection, a day at most
        "idle" = POSITIVE => network.idle;
    } then |fields, settings| {
        if settings.network.idle > MAX_IDLE_TIMEOUT {
            fields.error_at("idle", "must be a day at most");
        }
    };

    static OUTPUT: VmSettings = "[output]" {
        /// bytes kept of one command's output
        "kept" = BYTES => log_bytes;
        /// how long a reader that takes nothing holds a command back
        "patience" = TextKind::DURATION => patience;
    }

    static POOL: VmSettings = "[pool]" {
        /// clones that wait of each kind
        "clones" = integer(0..=100) => pool.clones;
        /// clones made at once
        "parallel" = integer(1..=100) => pool.parallel;
        /// templates kept
        "templates" = integer(0..=100) => pool.templates;
        /// how long unused templates and clones stay
        "idle" = TextKind::DURATION => pool.idle;
        /// the kinds of VMs that wait; all that wait must fit into `[capacity]`
        "warm" = list(&WARM_VM) => warm;
    }

    /// A kind of VM that waits; what is left out is as in a request.
    static WARM_VM: TemplateKey = "[[pool.warm]]" {
        /// the image
        "image" = IMAGE => image;
        /// processors
        "vcpus" = integer(1..=64) => vcpus;
        /// memory
        "memory" = MIB => mem_mib;
        /// disk
        "disk" = MIB => disk_mib;
    }

    static IMAGES: ManagerConfig = "[images]" {
        /// bytes that stay free on the disk of the images: an image that leaves less is not fetched
        "keep_free" = size::<0>() => images.keep_free;
    }

    static QEMU: ManagerConfig = "[qemu]" {
        /// a name in `PATH`, or a path
        "program" = PROGRAM => qemu.program;
        /// `auto`: where a canary VM boots on it
        "kvm" = choice("way to use KVM", KVM) => qemu.kvm;
    }

    static FIRECRACKER: ManagerConfig = "[firecracker]" {
        /// a name in `PATH`, or a path
        "program" = PROGRAM => firecracker.program;
    }
}

fn address(text: &str) -> Result<SocketAddr, ValueError> {
    text.parse().map_err(|_| {
        ValueError::new(format!("`{text}` is not an address and a port"))
            .help(format!("for example `{DEFAULT_LISTEN}`"))
    })
}

fn positive(text: &str) -> Result<Duration, ValueError> {
    let duration = parse_duration(text)?;
    if duration.is_zero() {
        return Err(ValueError::new("must be longer than nothing"));
    }
    Ok(duration)
}

/// A whole number of MiB, written as a size.
fn mib(text: &str) -> Result<u64, ValueError> {
    const MIB: u64 = 1 << 20;
    let size = ByteSize::parse(text)?.bytes();
    if size < MIB || !size.is_multiple_of(MIB) {
        let message = "expected whole mebibytes, for example `512MiB`";
        return Err(ValueError::new(message));
    }
    Ok(size / MIB)
}

fn mib32(text: &str) -> Result<u32, ValueError> {
    u32::try_from(mib(text)?).map_err(|_| ValueError::new("this is more than any machine has"))
}

/// With less, a few streams would be refused on an idle machine.
fn buffers(text: &str) -> Result<u64, ValueError> {
    let mib = mib(text)?;
    if mib < 16 {
        return Err(ValueError::new("must be at least `16MiB`"));
    }
    Ok(mib)
}

fn bytes(text: &str) -> Result<usize, ValueError> {
    let size = ByteSize::parse(text)?.bytes();
    usize::try_from(size).map_err(|_| ValueError::new("this is more than any machine has"))
}

fn format_bytes(bytes: u64) -> String {
    ByteSize::new(bytes).to_string()
}

/// What is wrong with VMs in the pool that no request could ask for.
fn beyond_limits(settings: &VmSettings) -> Option<ValueError> {
    let limits = &settings.limits;
    let beyond = |key: &&TemplateKey| {
        key.vcpus > limits.max_vcpus
            || !(limits.min_mem_mib..=limits.max_mem_mib).contains(&key.mem_mib)
            || !(limits.min_disk_mib..=limits.max_disk_mib).contains(&key.disk_mib)
    };
    let key = settings.warm.iter().find(beyond)?;
    Some(ValueError::new(format!(
        "`warm` has a VM of {} MiB memory, {} processors and {} MiB disk, which is outside of [limits]",
        key.mem_mib, key.vcpus, key.disk_mib
    )))
}

/// What is wrong with a pool of more VMs than the capacity allows.
fn beyond_capacity(settings: &VmSettings) -> Option<ValueError> {
    let (capacity, warm) = (&settings.capacity, &settings.warm);
    let clones = settings.pool.clones as u64;
    let all = |of: fn(&TemplateKey) -> u64| warm.iter().map(of).sum::<u64>() * clones;
    let vms = all(|_| 1);
    let vcpus = all(|key| u64::from(key.vcpus));
    let memory = all(|key| u64::from(key.mem_mib));
    let (what, most) = if vms > u64::from(capacity.vms) {
        (
            format!("{vms} VMs"),
            format!("capacity.vms is {}", capacity.vms),
        )
    } else if vcpus > u64::from(capacity.vcpus) {
        let most = format!("capacity.vcpus is {}", capacity.vcpus);
        (format!("VMs with {vcpus} processors"), most)
    } else if memory > capacity.mem_mib {
        let most = format!("capacity.memory is {} MiB", capacity.mem_mib);
        (format!("VMs with {memory} MiB memory"), most)
    } else {
        return None;
    };
    let times = format!(
        "{} in pool.warm, each pool.clones = {clones} times",
        warm.len()
    );
    let error = ValueError::new(format!("{what} would wait ({times}), but {most}"));
    Some(error.help("make the pool smaller, or [capacity] larger"))
}
