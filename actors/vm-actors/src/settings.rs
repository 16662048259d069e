//! What the actors of a VM manager are started with.

use std::time::Duration;

use vm_core::admission::Capacity;
use vm_core::network::AllowList;
use vm_core::{LeaseLimits, TemplateKey, VmLimits, pool, stuck};
use vm_engine::network::NetworkLimits;

/// Bounds and times.
#[derive(Debug, Clone)]
pub struct VmSettings {
    /// What one VM may have.
    pub limits: VmLimits,
    /// What all of them may have together, and how many requests may wait.
    pub capacity: Capacity,
    /// MiB that the manager may hold for all guests together: output, streams and tars on their
    /// way.
    pub buffers_mib: u64,
    /// The longest that a request waits.
    pub wait: Duration,
    /// How long VMs may be held.
    pub lease: LeaseLimits,
    /// How long after the end of its lease a VM is released without being asked.
    pub lease_grace: Duration,
    /// When a VM counts as stuck.
    pub deadlines: stuck::Deadlines,
    /// How long a VM that failed stays in the list, so that somebody can see why.
    pub failed_kept: Duration,
    /// How often VMs are looked at.
    pub look_every: Duration,
    /// How many VMs wait, and how.
    pub pool: pool::Policy,
    /// Which VMs wait.
    pub warm: Vec<TemplateKey>,
    /// Bytes kept of the output of one command.
    pub log_bytes: usize,
    /// How long a command is held for a reader of its output that takes nothing.
    pub patience: Duration,
    /// The longest time in which nothing of a transfer of files moves.
    pub transfer_idle: Duration,
    /// Commands at once in one VM, and as many ended ones that are remembered.
    pub max_execs: usize,
    /// What VMs that ask for a network may reach; nothing on it: none of them gets one.
    pub allow: AllowList,
    /// Where services may be that owners give their VMs.
    pub services: AllowList,
    /// Bounds of one VM's network.
    pub network: NetworkLimits,
}

impl Default for VmSettings {
    fn default() -> Self {
        Self {
            limits: VmLimits::default(),
            capacity: Capacity {
                mem_mib: 2048,
                vcpus: 4,
                vms: 8,
                queue: 16,
            },
            buffers_mib: 256,
            wait: Duration::from_secs(30),
            lease: LeaseLimits {
                longest: Duration::from_secs(6 * 3600),
                total: Duration::from_secs(24 * 3600),
            },
            lease_grace: Duration::from_secs(30),
            deadlines: stuck::Deadlines::default(),
            failed_kept: Duration::from_secs(600),
            look_every: Duration::from_secs(1),
            pool: pool::Policy::default(),
            warm: Vec::new(),
            log_bytes: 2 * 1024 * 1024,
            patience: Duration::from_secs(5),
            transfer_idle: Duration::from_secs(300),
            max_execs: 16,
            allow: AllowList::default(),
            services: AllowList::default(),
            network: NetworkLimits::default(),
        }
    }
}
