//! What the handlers of one server share.

use edge_web::Problem;
use supervision::ChildRef;
use vm_actors::{RegisteredVm, Vm, VmManagerView, VmScheduler};
use vm_core::VmId;

use crate::auth::Caller;

/// What the handlers share.
pub(crate) struct VmWebState {
    pub(crate) scheduler: ChildRef<VmScheduler>,
    pub(crate) view: VmManagerView,
}

impl VmWebState {
    /// The VM of this id, when there is one and the caller sees it. An id that is none is answered
    /// as one that is unknown.
    pub(crate) fn vm(&self, id: &str, caller: &Caller) -> Result<RegisteredVm, Problem> {
        let vm = id.parse::<VmId>().ok().and_then(|id| self.view.vm(&id));
        vm.filter(|vm| caller.sees(&vm.entry.subject))
            .ok_or_else(|| Problem::not_found("there is no VM with this id"))
    }

    /// Its actor.
    pub(crate) fn actor(&self, id: &str, caller: &Caller) -> Result<ChildRef<Vm>, Problem> {
        running(self.vm(id, caller)?)
    }
}

/// The actor of a VM that was started.
pub(crate) fn running(vm: RegisteredVm) -> Result<ChildRef<Vm>, Problem> {
    vm.actor
        .ok_or_else(|| Problem::unavailable("the VM is being started", 1))
}
