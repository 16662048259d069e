//! A VM that stands still for a while: it keeps its memory and its lease, and costs no processor
//! time.

use std::sync::Arc;

use actix::{ActorFutureExt, Handler, ResponseActFuture, WrapFuture};
use actix_rt::task::spawn_blocking;
use vm_engine::{Machine, MachineError};

use super::{MAX_TRANSFERS, Phase, Vm};
use crate::entry::Pause;
use crate::messages::{PauseVm, ResumeVm, VmFailure};
use crate::provisioning::identity;

/// A change of the VM, to be made on a thread.
type Change = ResponseActFuture<Vm, Result<(), VmFailure>>;

impl Vm {
    /// The machine, when it may be paused or resumed now.
    pub(super) fn changeable(&self) -> Result<Arc<dyn Machine>, VmFailure> {
        let state = self.entry.state();
        match &self.machine {
            Some(_) if self.changing => Err(VmFailure::Paused),
            Some(machine) if self.phase == Phase::Running && state.takes_work() => {
                Ok(Arc::clone(machine))
            }
            _ => Err(VmFailure::State(state)),
        }
    }

    /// Whether files are on their way in or out.
    pub(super) fn is_transferring(&self) -> bool {
        self.transfers.available_permits() < MAX_TRANSFERS
    }

    /// Makes the change, then says what it is.
    fn change(
        &mut self,
        change: impl FnOnce() -> Result<(), VmFailure> + Send + 'static,
        paused: Option<Pause>,
    ) -> Change {
        self.changing = true;
        let changed = spawn_blocking(change).into_actor(self);
        Box::pin(changed.map(move |changed, vm, _| {
            vm.changing = false;
            changed.map_err(|panic| VmFailure::Gone(panic.to_string()))??;
            // It answers from now on, and has not for as long as it stood still.
            vm.entry.record_contact(vm.resources.clock.now());
            vm.entry.set_paused(paused);
            tracing::info!(event = "vm.paused", vm = %vm.entry.id, paused = paused.is_some());
            // What waits may take the place of one that may be ended.
            vm.resources.observer.freed();
            Ok(())
        }))
    }
}

fn refused(failure: VmFailure) -> Change {
    Box::pin(actix::fut::ready(Err(failure)))
}

impl Handler<PauseVm> for Vm {
    type Result = Change;

    fn handle(&mut self, message: PauseVm, _: &mut Self::Context) -> Change {
        let machine = match self.changeable() {
            Ok(machine) => machine,
            Err(failure) => return refused(failure),
        };
        if self.entry.is_working() || self.is_transferring() {
            return refused(VmFailure::Working);
        }
        let since = self.entry.paused().map(|paused| paused.since);
        let paused = Pause {
            since: since.unwrap_or_else(|| self.resources.clock.now()),
            reclaimable: message.reclaimable,
        };
        let deadline = self.resources.settings.deadlines.silence;
        let pause = move || machine.pause(deadline).map_err(VmFailure::from);
        self.change(pause, Some(paused))
    }
}

impl Handler<ResumeVm> for Vm {
    type Result = Change;

    fn handle(&mut self, _: ResumeVm, _: &mut Self::Context) -> Change {
        let machine = match self.changeable() {
            Ok(machine) => machine,
            Err(failure) => return refused(failure),
        };
        if self.entry.paused().is_none() {
            return Box::pin(actix::fut::ready(Ok(())));
        }
        let (id, deadline) = (
            self.entry.id.clone(),
            self.resources.settings.deadlines.boot,
        );
        let resume = move || {
            let identity = identity(&id);
            let resumed: Result<(), MachineError> = machine.resume(&identity, deadline);
            resumed.map_err(VmFailure::from)
        };
        self.change(resume, None)
    }
}
