//! The VMs that are given out: what their actors publish, and the actors themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use supervision::ChildRef;
use vm_core::VmId;
use vm_core::admission::{InUse, RequestedResources};

use crate::entry::VmEntry;
use crate::vm::Vm;

/// All VMs that are given out, by id. Written by the scheduler and by the end of a VM; it outlives
/// incarnations of both.
#[derive(Debug, Default)]
pub(crate) struct VmRegistry {
    vms: RwLock<BTreeMap<VmId, RegisteredVm>>,
}

/// A VM that is given out.
#[derive(Debug, Clone)]
pub struct RegisteredVm {
    /// What its actor publishes.
    pub entry: Arc<VmEntry>,
    /// Its actor; none before that was started.
    pub actor: Option<ChildRef<Vm>>,
}

impl VmRegistry {
    pub(crate) fn get(&self, id: &VmId) -> Option<RegisteredVm> {
        self.vms.read().get(id).cloned()
    }

    /// All VMs, ordered by id.
    pub(crate) fn list(&self) -> Vec<RegisteredVm> {
        self.vms.read().values().cloned().collect()
    }

    /// Adds a VM whose actor is about to be started.
    pub(crate) fn insert(&self, entry: Arc<VmEntry>) {
        let id = entry.id.clone();
        let vm = RegisteredVm { entry, actor: None };
        self.vms.write().insert(id, vm);
    }

    pub(crate) fn set_actor(&self, id: &VmId, actor: ChildRef<Vm>) {
        if let Some(vm) = self.vms.write().get_mut(id) {
            vm.actor = Some(actor);
        }
    }

    pub(crate) fn remove(&self, id: &VmId) {
        self.vms.write().remove(id);
    }

    /// What VMs use of the host, each with `overhead_mib` of its monitor.
    pub(crate) fn in_use(&self, overhead_mib: u64) -> InUse {
        let vms = self.vms.read();
        let entries = vms.values().map(|vm| &vm.entry);
        let alive = entries.filter(|entry| entry.state().is_alive());
        alive.fold(InUse::default(), |used, entry| {
            used.with(RequestedResources {
                mem_mib: u64::from(entry.spec.mem_mib) + overhead_mib,
                vcpus: u32::from(entry.spec.vcpus),
            })
        })
    }
}
