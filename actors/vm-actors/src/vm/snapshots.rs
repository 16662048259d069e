//! Snapshots of a VM: memory and disk as they were, to go back to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{ActorFutureExt, Handler, ResponseActFuture, WrapFuture};
use actix_rt::task::spawn_blocking;
use vm_core::{MAX_SNAPSHOTS, SnapshotName};
use vm_engine::Machine;
use vmm_api_core::SnapshotView;

use super::{MAX_TRANSFERS, Vm};
use crate::entry::Pause;
use crate::messages::{ForgetSnapshot, RestoreSnapshot, TakeSnapshot, VmFailure};
use crate::provisioning::identity;

/// Longest time to write or read the memory of a VM.
pub const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(300);

/// Longest wait for the end of transfers, before a snapshot is refused for them.
const TRANSFER_END_TIMEOUT: Duration = Duration::from_secs(2);

/// What a snapshot of it was asked for gives.
type SnapshotReply<T> = ResponseActFuture<Vm, Result<T, VmFailure>>;

fn refused<T: 'static>(failure: VmFailure) -> SnapshotReply<T> {
    Box::pin(actix::fut::ready(Err(failure)))
}

impl Vm {
    /// The machine, when nothing runs in it and no files are on their way.
    fn machine_at_rest(&self) -> Result<Arc<dyn Machine>, VmFailure> {
        let machine = self.changeable()?;
        if self.entry.is_working() || self.is_transferring() {
            return Err(VmFailure::Working);
        }
        Ok(machine)
    }

    /// Does something on a thread while the VM counts as standing still; `after` is how it counts
    /// afterwards, when it went well.
    fn while_still<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> Result<T, VmFailure> + Send + 'static,
        after: Option<Pause>,
        then: impl FnOnce(&mut Self, T) -> T + 'static,
    ) -> SnapshotReply<T> {
        let before = self.entry.paused();
        self.changing = true;
        self.entry.set_paused(before.or_else(|| {
            Some(Pause {
                since: self.resources.clock.now(),
                reclaimable: false,
            })
        }));
        let done = spawn_blocking(work).into_actor(self);
        Box::pin(done.map(move |done, vm, _| {
            vm.changing = false;
            vm.entry.record_contact(vm.resources.clock.now());
            let done = done.map_err(|panic| VmFailure::Gone(panic.to_string()));
            let done = done.and_then(|done| done);
            vm.entry
                .set_paused(if done.is_ok() { after } else { before });
            vm.resources.observer.freed();
            Ok(then(vm, done?))
        }))
    }
}

impl Vm {
    fn take_snapshot(&mut self, name: SnapshotName) -> SnapshotReply<(SnapshotView, bool)> {
        let machine = match self.machine_at_rest() {
            Ok(machine) => machine,
            Err(failure) => return refused(failure),
        };
        let known = self.entry.snapshots();
        if let Some(known) = known.iter().find(|known| known.name == name.as_str()) {
            return Box::pin(actix::fut::ready(Ok((known.clone(), false))));
        }
        if known.len() >= MAX_SNAPSHOTS {
            return refused(VmFailure::Snapshots(known.len()));
        }
        let (id, taken) = (self.entry.id.clone(), self.resources.clock.now());
        let paused = self.entry.paused();
        let take = move || {
            let identity = identity(&id);
            let begun = Instant::now();
            let bytes = machine.snapshot(&name, &identity, SNAPSHOT_TIMEOUT)?;
            let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            let view = SnapshotView {
                name: name.to_string(),
                taken,
                bytes,
                took_ms,
            };
            Ok((view, true))
        };
        self.while_still(take, paused, |vm, taken| {
            let view = &taken.0;
            tracing::info!(event = "vm.snapshot_taken", vm = %vm.entry.id, snapshot = view.name, bytes = view.bytes, took_ms = view.took_ms);
            vm.entry.add_snapshot(view.clone());
            taken
        })
    }
}

impl Handler<TakeSnapshot> for Vm {
    type Result = SnapshotReply<(SnapshotView, bool)>;

    fn handle(&mut self, message: TakeSnapshot, _: &mut Self::Context) -> Self::Result {
        let TakeSnapshot { name } = message;
        if !self.is_transferring() {
            return self.take_snapshot(name);
        }
        // Whoever asked for files may have them all before their end is noted here.
        let all = u32::try_from(MAX_TRANSFERS).unwrap_or(u32::MAX);
        let ended = Arc::clone(&self.transfers).acquire_many_owned(all);
        let ended = actix_rt::time::timeout(TRANSFER_END_TIMEOUT, ended).into_actor(self);
        Box::pin(ended.then(move |ended, vm, _| {
            drop(ended);
            vm.take_snapshot(name)
        }))
    }
}

impl Handler<RestoreSnapshot> for Vm {
    type Result = SnapshotReply<()>;

    fn handle(&mut self, message: RestoreSnapshot, _: &mut Self::Context) -> Self::Result {
        let RestoreSnapshot { name } = message;
        let machine = match self.machine_at_rest() {
            Ok(machine) => machine,
            Err(failure) => return refused(failure),
        };
        if !self.entry.has_snapshot(&name) {
            return refused(VmFailure::UnknownSnapshot(name));
        }
        let id = self.entry.id.clone();
        let back = name.clone();
        let restore = move || {
            let identity = identity(&id);
            let restored = machine.restore(&back, &identity, SNAPSHOT_TIMEOUT);
            restored.map_err(VmFailure::from)
        };
        self.while_still(restore, None, move |vm, ()| {
            tracing::info!(event = "vm.snapshot_restored", vm = %vm.entry.id, snapshot = %name);
        })
    }
}

impl Handler<ForgetSnapshot> for Vm {
    type Result = SnapshotReply<()>;

    fn handle(&mut self, message: ForgetSnapshot, _: &mut Self::Context) -> Self::Result {
        let ForgetSnapshot { name } = message;
        let machine = match self.changeable() {
            Ok(machine) => machine,
            Err(failure) => return refused(failure),
        };
        if !self.entry.has_snapshot(&name) {
            return Box::pin(actix::fut::ready(Ok(())));
        }
        let (paused, gone) = (self.entry.paused(), name.clone());
        let forget = move || {
            let forgotten = machine.delete_snapshot(&gone, SNAPSHOT_TIMEOUT);
            forgotten.map_err(VmFailure::from)
        };
        self.while_still(forget, paused, move |vm, ()| {
            vm.entry.forget_snapshot(&name);
        })
    }
}
