//! The tables of the configuration file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::{Item, ValueError};
use vm_actors::VmSettings;
use vm_core::network::{AllowList, Place};
use vm_core::{ImageRef, TemplateKey};

use super::{FirecrackerTable, QemuTable};

impl Default for QemuTable {
    fn default() -> Self {
        Self {
            program: "qemu-system-x86_64".into(),
            kvm: None,
        }
    }
}

impl Default for FirecrackerTable {
    fn default() -> Self {
        Self {
            program: "firecracker".into(),
        }
    }
}

/// A whole number of MiB, written as a size.
fn mib(item: &Item<'_>) -> Option<u64> {
    const MIB: u64 = 1 << 20;
    let size = item.byte_size()?.bytes();
    if size < MIB || !size.is_multiple_of(MIB) {
        item.error(ValueError::new(
            "expected whole mebibytes, for example `512MiB`",
        ));
        return None;
    }
    Some(size / MIB)
}

fn mib32(item: &Item<'_>) -> Option<u32> {
    let mib = mib(item)?;
    u32::try_from(mib)
        .map_err(|_| item.error(ValueError::new("this is more than any machine has")))
        .ok()
}

fn count(item: &Item<'_>, least: i64, most: i64) -> Option<u32> {
    item.integer(least..=most)
        .and_then(|number| u32::try_from(number).ok())
}

fn positive(item: &Item<'_>) -> Option<Duration> {
    let duration = item.duration()?;
    if duration.is_zero() {
        item.error(ValueError::new("must be longer than nothing"));
        return None;
    }
    Some(duration)
}

fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

/// What all VMs may have together.
pub(super) fn capacity(item: &Item<'_>, settings: &mut VmSettings) -> Option<()> {
    item.fields(
        "[capacity]",
        &["memory", "vcpus", "vms", "queue", "wait"],
        |fields| {
            let capacity = &mut settings.capacity;
            set(&mut capacity.mem_mib, fields.optional("memory", mib));
            set(
                &mut capacity.vcpus,
                fields.optional("vcpus", |item| count(item, 1, 4096)),
            );
            set(
                &mut capacity.vms,
                fields.optional("vms", |item| count(item, 1, 1000)),
            );
            let queue = fields.optional("queue", |item| count(item, 0, 1000));
            set(&mut capacity.queue, queue.map(|queue| queue as usize));
            set(&mut settings.wait, fields.optional("wait", Item::duration));
            Some(())
        },
    )
}

/// What one VM may have.
pub(super) fn limits(item: &Item<'_>, settings: &mut VmSettings) -> Option<()> {
    item.fields("[limits]", &["vcpus", "memory", "disk"], |fields| {
        let limits = &mut settings.limits;
        let vcpus = fields.optional("vcpus", |item| count(item, 1, 64));
        set(
            &mut limits.max_vcpus,
            vcpus.and_then(|vcpus| u8::try_from(vcpus).ok()),
        );
        set(&mut limits.max_mem_mib, fields.optional("memory", mib32));
        set(&mut limits.max_disk_mib, fields.optional("disk", mib32));
        Some(())
    })
}

/// How long VMs may be held.
pub(super) fn lease(item: &Item<'_>, settings: &mut VmSettings) -> Option<()> {
    item.fields("[lease]", &["longest", "total", "grace"], |fields| {
        let lease = &mut settings.lease;
        set(&mut lease.longest, fields.optional("longest", positive));
        set(&mut lease.total, fields.optional("total", positive));
        set(
            &mut settings.lease_grace,
            fields.optional("grace", Item::duration),
        );
        settings.limits.max_lease = settings.lease.longest;
        if settings.lease.total < settings.lease.longest {
            let error = ValueError::new("`total` is shorter than `longest`");
            fields.error_at("total", error);
            return None;
        }
        Some(())
    })
}

/// When a VM counts as stuck.
pub(super) fn deadlines(item: &Item<'_>, settings: &mut VmSettings) -> Option<()> {
    item.fields("[deadlines]", &["boot", "silence", "transfer"], |fields| {
        set(
            &mut settings.deadlines.boot,
            fields.optional("boot", positive),
        );
        set(
            &mut settings.deadlines.silence,
            fields.optional("silence", positive),
        );
        set(
            &mut settings.tar_deadline,
            fields.optional("transfer", positive),
        );
        Some(())
    })
}

/// Longest that nothing may move on a connection.
const LONGEST_IDLE: Duration = Duration::from_secs(86_400);

/// What VMs that ask for a network may reach.
pub(super) fn network(item: &Item<'_>, settings: &mut VmSettings) -> Option<()> {
    item.fields("[network]", &["allow", "streams", "idle"], |fields| {
        let place = |item: &Item<'_>| {
            item.parsed(|text| {
                text.parse::<Place>()
                    .map_err(|error| ValueError::new(error.to_string()))
            })
        };
        let allow = fields.optional("allow", |item| item.list(place));
        set(&mut settings.allow, allow.map(AllowList));
        let network = &mut settings.network;
        let streams = fields.optional("streams", |item| count(item, 1, 1024));
        set(
            &mut network.streams,
            streams.and_then(|streams| u16::try_from(streams).ok()),
        );
        let idle = fields.optional("idle", positive);
        set(&mut network.idle, idle);
        if network.idle > LONGEST_IDLE {
            fields.error_at("idle", ValueError::new("must be a day at most"));
        }
        Some(())
    })
}

/// What is kept of what commands write.
pub(super) fn output(item: &Item<'_>, settings: &mut VmSettings) -> Option<()> {
    item.fields("[output]", &["kept", "patience"], |fields| {
        let kept = fields.optional("kept", Item::byte_size);
        let kept = kept.and_then(|kept| usize::try_from(kept.bytes()).ok());
        set(&mut settings.log_bytes, kept);
        set(
            &mut settings.patience,
            fields.optional("patience", Item::duration),
        );
        Some(())
    })
}

/// What waits, and how much of it.
pub(super) fn pool(item: &Item<'_>, settings: &mut VmSettings) -> Option<()> {
    item.fields(
        "[pool]",
        &["clones", "parallel", "templates", "idle", "warm"],
        |fields| {
            let size =
                |item: &Item<'_>, least| count(item, least, 100).map(|number| number as usize);
            let pool = &mut settings.pool;
            set(
                &mut pool.clones,
                fields.optional("clones", |item| size(item, 0)),
            );
            set(
                &mut pool.parallel,
                fields.optional("parallel", |item| size(item, 1)),
            );
            set(
                &mut pool.templates,
                fields.optional("templates", |item| size(item, 0)),
            );
            set(&mut pool.idle, fields.optional("idle", Item::duration));
            let warm = fields.optional("warm", |item| item.list(warm));
            set(&mut settings.warm, warm);
            Some(())
        },
    )
}

/// What is wrong with VMs that wait but that nobody could order.
pub(super) fn beyond_limits(settings: &VmSettings) -> Option<ValueError> {
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

/// What is wrong with more VMs that wait than there may be at once.
pub(super) fn beyond_capacity(settings: &VmSettings) -> Option<ValueError> {
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

/// One kind of VM that waits; what is left out is as in an order.
fn warm(item: &Item<'_>) -> Option<TemplateKey> {
    item.fields(
        "[[pool.warm]]",
        &["image", "vcpus", "memory", "disk"],
        |fields| {
            let image = fields.optional("image", |item| {
                item.parsed(|text| {
                    text.parse::<ImageRef>()
                        .map_err(|error| ValueError::new(error.to_string()))
                })
            });
            let vcpus = fields.optional("vcpus", |item| count(item, 1, 64));
            let memory = fields.optional("memory", mib32);
            let disk = fields.optional("disk", mib32);
            Some(TemplateKey {
                image: image.unwrap_or_default(),
                vcpus: vcpus
                    .and_then(|vcpus| u8::try_from(vcpus).ok())
                    .unwrap_or(1),
                mem_mib: memory.unwrap_or(256),
                disk_mib: disk.unwrap_or(2048),
            })
        },
    )
}

/// A program: a name is looked for in `PATH`, a path is meant from the file's folder.
fn program(item: &Item<'_>, base: &Path) -> Option<PathBuf> {
    let text = item.string()?;
    Some(if text.contains('/') {
        base.join(text)
    } else {
        text.into()
    })
}

pub(super) fn qemu(item: &Item<'_>, base: &Path) -> Option<QemuTable> {
    item.fields("[qemu]", &["program", "kvm"], |fields| {
        let found = fields.optional("program", |item| program(item, base));
        let kvm = fields.optional("kvm", |item| {
            item.choice("way to use KVM", &[("auto", None), ("never", Some(false))])
        });
        Some(QemuTable {
            program: found.unwrap_or_else(|| QemuTable::default().program),
            kvm: kvm.flatten(),
        })
    })
}

pub(super) fn firecracker(item: &Item<'_>, base: &Path) -> Option<FirecrackerTable> {
    item.fields("[firecracker]", &["program"], |fields| {
        let found = fields.optional("program", |item| program(item, base));
        Some(FirecrackerTable {
            program: found.unwrap_or_else(|| FirecrackerTable::default().program),
        })
    })
}
