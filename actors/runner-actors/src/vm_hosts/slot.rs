//! A job's VM, counted to its host.

use super::VmHosts;

/// Counts a VM to a host while it is held.
#[derive(Debug)]
pub(crate) struct HostSlot {
    hosts: VmHosts,
    index: usize,
    mem_mib: u64,
    repository: String,
    /// There was no VM: nobody need look whether there is room now.
    in_vain: bool,
}

impl HostSlot {
    /// The host gave no VM.
    pub(crate) fn in_vain(mut self) {
        self.in_vain = true;
    }

    pub(super) fn take(hosts: VmHosts, index: usize, mem_mib: u64, repository: String) -> Self {
        hosts.change(index, |known| known.spend(mem_mib, repository.clone()));
        Self {
            hosts,
            index,
            mem_mib,
            repository,
            in_vain: false,
        }
    }
}

impl Drop for HostSlot {
    fn drop(&mut self) {
        let give_back = |known: &mut super::KnownHost| {
            known.give_back(self.mem_mib, &self.repository);
        };
        self.hosts.change(self.index, give_back);
        if !self.in_vain {
            self.hosts.0.changed.notify_waiters();
        }
    }
}
