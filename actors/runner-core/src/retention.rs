//! Whether the VM of a failed job is kept, so that somebody can look into it. No clock, no VMs.

/// What kept VMs may cost together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepLimits {
    /// VMs at once; 0: none is kept.
    pub vms: usize,
    /// Memory of all of them, in MiB.
    pub memory_mib: u64,
}

/// What is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeptTotal {
    /// VMs.
    pub vms: usize,
    /// Memory of all of them, in MiB.
    pub memory_mib: u64,
}

/// Why a VM is not kept although that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotKept {
    /// The operator allows none.
    #[error("`keep.vms` is 0: no VM is kept here")]
    Off,
    /// It is a stranger's.
    #[error(
        "it ran a pull request from a fork that nobody has approved, and is never opened to people"
    )]
    Untrusted,
    /// As many are kept as may be.
    #[error("{0} VMs are kept already, as many as `keep.vms` allows; release one")]
    Vms(usize),
    /// They have as much memory as they may.
    #[error(
        "with its {wanted} MiB kept VMs would have more memory than `keep.memory`, {most} MiB, allows; release one"
    )]
    Memory {
        /// What this one has.
        wanted: u64,
        /// What all may have.
        most: u64,
    },
}

/// Whether one more VM, of so many MiB, is kept beside those that are. `trusted`: what it ran is
/// not a stranger's, or somebody has approved it.
///
/// # Errors
/// The first [`NotKept`] that holds.
pub fn admit(
    limits: KeepLimits,
    kept: KeptTotal,
    memory_mib: u64,
    trusted: bool,
) -> Result<(), NotKept> {
    if limits.vms == 0 {
        return Err(NotKept::Off);
    }
    if !trusted {
        return Err(NotKept::Untrusted);
    }
    if kept.vms >= limits.vms {
        return Err(NotKept::Vms(kept.vms));
    }
    if kept.memory_mib.saturating_add(memory_mib) > limits.memory_mib {
        return Err(NotKept::Memory {
            wanted: memory_mib,
            most: limits.memory_mib,
        });
    }
    Ok(())
}

/// What the snapshots of one job may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// Snapshots at once; 0: none are taken.
    pub most: usize,
    /// The host's disk that they take together, in bytes.
    pub bytes: u64,
}

/// How many of the oldest snapshots go, so that those that stay are within the limits. The newest
/// stays, however large it is: it is the one before the step that may fail next.
#[must_use]
pub fn excess_snapshots(sizes: &[u64], limits: SnapshotLimits) -> usize {
    let newest = sizes.len().saturating_sub(1);
    let mut first = sizes.len().saturating_sub(limits.most.max(1)).min(newest);
    let total = |first: usize| {
        sizes[first..]
            .iter()
            .fold(0_u64, |sum, size| sum.saturating_add(*size))
    };
    while first < newest && total(first) > limits.bytes {
        first += 1;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_the_oldest_snapshots_go_first_and_the_newest_stays() {
        let limits = |most, bytes| SnapshotLimits { most, bytes };
        let table: [(&[u64], SnapshotLimits, usize); 8] = [
            (&[], limits(3, 100), 0),
            (&[500], limits(3, 100), 0),
            (&[10, 10, 10], limits(3, 100), 0),
            (&[10, 10, 10, 10], limits(3, 100), 1),
            (&[60, 30, 30], limits(3, 100), 1),
            (&[60, 60, 60], limits(3, 100), 2),
            (&[1, 1, 500], limits(3, 100), 2),
            (&[u64::MAX, u64::MAX], limits(3, 100), 1),
        ];
        for (sizes, limits, gone) in table {
            assert_eq!(
                excess_snapshots(sizes, limits),
                gone,
                "{sizes:?} {limits:?}"
            );
        }
    }

    #[test]
    fn i17_a_vm_is_kept_within_the_budget_and_never_a_strangers() {
        let limits = |vms, memory_mib| KeepLimits { vms, memory_mib };
        let kept = |vms, memory_mib| KeptTotal { vms, memory_mib };
        let table = [
            (limits(2, 1024), kept(0, 0), 1024, true, Ok(())),
            (limits(2, 1024), kept(1, 512), 512, true, Ok(())),
            (limits(2, 1024), kept(2, 2), 1, true, Err(NotKept::Vms(2))),
            (
                limits(2, 1024),
                kept(1, 512),
                513,
                true,
                Err(NotKept::Memory {
                    wanted: 513,
                    most: 1024,
                }),
            ),
            (limits(0, 1024), kept(0, 0), 1, true, Err(NotKept::Off)),
            (
                limits(2, 1024),
                kept(0, 0),
                1,
                false,
                Err(NotKept::Untrusted),
            ),
        ];
        for (limits, kept, memory, trusted, expected) in table {
            let found = admit(limits, kept, memory, trusted);
            assert_eq!(found, expected, "{limits:?} {kept:?} {memory}");
        }
    }
}
