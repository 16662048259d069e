//! A VM that is held: kept by its lease, given back.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use http_clients::vmm::{Isolation, NewVm, VmmClient};
use tokio::time::sleep;
use vmm_api_core::MachineType;

use crate::vm_hosts::registry::VmHosts;
use crate::vm_hosts::slot::HostSlot;

/// A lease is asked for this long and extended three times in it.
pub const LEASE: Duration = Duration::from_secs(300);

/// A VM that somebody has. Dropped without being given back or left, it is given back beside.
pub struct HeldVm {
    /// Its manager.
    pub vmm: VmmClient,
    /// Its id there.
    pub id: String,
    /// The name of its host.
    pub host: String,
    /// Which host of that name it is.
    pub place: String,
    /// What separates it from the host, where its manager says so.
    pub isolation: Option<Isolation>,
    /// Its memory in MiB.
    pub mem_mib: u32,
    lease: tokio::task::JoinHandle<()>,
    returned: Rc<Cell<bool>>,
    hosts: VmHosts,
    index: usize,
    _slot: HostSlot,
}

impl HeldVm {
    /// Holds a VM that there is already: `id` on the host of this index, counted as one of
    /// `machine` for `repository`.
    #[must_use]
    pub fn take_over(
        hosts: &VmHosts,
        index: usize,
        (id, isolation): (String, Option<Isolation>),
        (machine, repository): (&MachineType, &str),
    ) -> Self {
        let slot = HostSlot::take(hosts, index, machine, repository);
        Self::new(hosts, (index, slot), (id, isolation), machine)
    }

    pub(crate) fn new(
        hosts: &VmHosts,
        (index, slot): (usize, HostSlot),
        (id, isolation): (String, Option<Isolation>),
        machine: &MachineType,
    ) -> Self {
        let vmm = hosts.client(index);
        Self {
            lease: extend_lease(&vmm, &id),
            vmm,
            id,
            host: hosts.name(index),
            place: hosts.place_of(index),
            isolation,
            mem_mib: machine.vm.mem_mib.unwrap_or(NewVm::MEM_MIB),
            returned: Rc::new(Cell::new(false)),
            hosts: hosts.clone(),
            index,
            _slot: slot,
        }
    }

    /// Leaves the VM as it is, with the lease that somebody else has given it.
    pub fn detach(self) {
        self.returned.set(true);
    }

    /// Gives the VM back; it is ended with all that runs in it. When the manager cannot be reached,
    /// the lease's end does it.
    pub async fn release(self) {
        self.returned.set(true);
        if let Err(error) = self.vmm.delete(&self.id).await {
            self.hosts.report_leak(self.index);
            tracing::warn!(event = "run.vm_not_returned", vm = %self.id, %error, "a VM could not be given back; its lease ends it");
        }
    }
}

/// Extends a VM's lease until this is aborted.
fn extend_lease(vmm: &VmmClient, vm: &str) -> tokio::task::JoinHandle<()> {
    let (client, id) = (vmm.clone(), vm.to_owned());
    actix_rt::spawn(extend_every(LEASE / 3, async move || {
        // A VM that is gone shows itself at the next call.
        let _ = client.lease(&id, LEASE.as_secs()).await;
    }))
}

async fn extend_every(interval: Duration, extend: impl AsyncFn()) {
    loop {
        sleep(interval).await;
        extend().await;
    }
}

impl Drop for HeldVm {
    fn drop(&mut self) {
        self.lease.abort();
        if !self.returned.get() {
            // Whoever had it was dropped (the program stops): it is given back beside.
            let (vmm, id) = (self.vmm.clone(), self.id.clone());
            let (hosts, index) = (self.hosts.clone(), self.index);
            actix_rt::spawn(async move {
                if vmm.delete(&id).await.is_err() {
                    hosts.report_leak(index);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_rt::test]
    async fn i18_a_lease_is_extended_again_and_again_while_its_vm_is_held() {
        let (extended, was_extended) = tokio::sync::watch::channel(0);
        let extending = actix_rt::spawn(extend_every(Duration::from_millis(1), async move || {
            extended.send_modify(|times| *times += 1);
        }));
        let mut times = was_extended;
        let often = tokio::time::timeout(LEASE, times.wait_for(|times| *times >= 3)).await;
        assert!(often.is_ok_and(|times| times.is_ok()));
        extending.abort();
        assert!(
            times.wait_for(|times| *times > 1_000_000).await.is_err(),
            "nobody extends it"
        );
    }
}
