//! Room that paused VMs hold which may be ended: a request that waits gets it.

use vm_core::admission::{self, RequestedResources};
use vm_core::{FailureReason, UnixMs, VmState};

use super::VmScheduler;
use crate::messages::ReleaseVm;
use crate::registry::RegisteredVm;

impl VmScheduler {
    /// Makes room for the first request that waits.
    pub(super) fn reclaim_for_queue(&self) {
        if let Some(need) = self.queue.needs().front() {
            self.reclaim(*need);
        }
    }

    /// Ends paused VMs that may be ended, those paused longest first, when that makes room.
    pub(super) fn reclaim(&self, need: RequestedResources) {
        let all = self.resources.registry.list();
        let mut in_use = self.in_use();
        // What these have is free in a moment.
        for vm in &all {
            if vm.entry.state() == VmState::Stopping {
                in_use = in_use.without(self.need(&vm.entry.spec));
            }
        }
        let held = all.into_iter().filter_map(|vm| {
            let pause = vm.entry.paused().filter(|pause| pause.reclaimable)?;
            let is_held = vm.entry.state().takes_work();
            is_held.then_some((pause.since, vm))
        });
        let mut held: Vec<(UnixMs, RegisteredVm)> = held.collect();
        held.sort_by_key(|(since, _)| *since);
        let needs: Vec<_> = held
            .iter()
            .map(|(_, vm)| self.need(&vm.entry.spec))
            .collect();
        let ended = admission::reclaim(need, in_use, &needs, self.capacity());
        for (_, vm) in held.drain(..ended) {
            tracing::info!(event = "vm.reclaimed", vm = %vm.entry.id, "a paused VM is ended: others need its room");
            let reason = Some(FailureReason::Reclaimed);
            if let Some(actor) = vm.actor {
                // One that is full or ending is looked at again.
                let _ = actor.tell(ReleaseVm { reason });
            }
        }
    }
}
