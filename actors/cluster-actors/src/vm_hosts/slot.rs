//! A job's VM, counted to its host.

use vmm_api_core::MachineType;
use vmm_api_core::placement::VmSize;

use crate::vm_hosts::registry::VmHosts;

/// Counts a VM to a host while it is held.
#[derive(Debug)]
pub(crate) struct HostSlot {
    hosts: VmHosts,
    index: usize,
    size: VmSize,
    repository: String,
    /// There was no VM: nobody need look whether there is room now.
    has_failed: bool,
}

impl HostSlot {
    /// Counts a VM that is asked for.
    pub(crate) fn take(
        hosts: &VmHosts,
        index: usize,
        machine: &MachineType,
        repository: &str,
    ) -> Self {
        let size = VmSize::from(&machine.vm);
        let repository = repository.to_lowercase();
        hosts.change(index, |known| known.spend(size, repository.clone()));
        Self {
            hosts: hosts.clone(),
            index,
            size,
            repository,
            has_failed: false,
        }
    }

    /// The host gave no VM.
    pub(crate) fn fail(mut self) {
        self.has_failed = true;
    }
}

impl Drop for HostSlot {
    fn drop(&mut self) {
        self.hosts.change(self.index, |known| {
            known.release(self.size, &self.repository);
        });
        if !self.has_failed {
            self.hosts.notify();
        }
    }
}
