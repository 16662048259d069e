//! What is kept of failed jobs, and for how long.

use std::time::Duration;

use runner_core::retention::{KeepLimits, SnapshotLimits};

/// What is kept of failed jobs, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct KeepSettings {
    /// The VM of every failed job is kept, not only where a run asks for it.
    pub failed: bool,
    /// What kept VMs may cost together.
    pub limits: KeepLimits,
    /// How long each is kept.
    pub time: Duration,
    /// A shell has the variables whose values hold secrets, as the job's steps had.
    pub secrets: bool,
    /// Snapshots are taken between the steps of every job whose VM is kept when it fails, not only
    /// where a run asks for them.
    pub snapshots: bool,
    /// What the snapshots of one job may cost.
    pub snapshot_limits: SnapshotLimits,
    /// What deadlines go by: milliseconds since the Unix epoch.
    pub now_ms: fn() -> u64,
    /// Time between two looks at deadlines.
    pub every: Duration,
}

impl Default for KeepSettings {
    /// Only where a run asks for it: two VMs, 4 GiB, half an hour each, without secrets.
    fn default() -> Self {
        Self {
            failed: false,
            limits: KeepLimits {
                vms: 2,
                memory_mib: 4096,
            },
            time: Duration::from_secs(1800),
            secrets: false,
            snapshots: false,
            snapshot_limits: SnapshotLimits {
                most: 8,
                bytes: 2 << 30,
            },
            now_ms: crate::clock::now_ms,
            every: Duration::from_secs(2),
        }
    }
}
