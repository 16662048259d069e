//! One VM that is given out.
//!
//! ```text
//! Desk ─starts─▶ Vm ─threads─▶ Machine (make, exec, tar, ping, kill)
//! edge ─StartExec, KillExec, PutFiles, GetFiles, ExtendLease, ReleaseVm─▶ Vm
//! Machine ─Happened─▶ Vm ─VmFreed─▶ Desk          Vm ─publishes─▶ VmSlot
//! ```
//! Its life is the VM's: it ends when nothing of the VM is left. Whatever ends it first (a panic,
//! an abort) ends the machine as well.

mod birth;
mod exec;
mod files;

use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, Running,
    WrapFuture,
};
use actix_rt::task::{JoinError, spawn_blocking};
use supervision::{ChildContext, ChildRef};
use tokio::sync::oneshot;
use tokio::time::Instant;
use vm_core::{FailureReason, LeaseError, UnixMs, VmEvent, VmState};
use vm_engine::{DriverError, Machine, MachineEvent};

use crate::desk::Desk;
use crate::keys::{self, OrderKey};
use crate::messages::{ExtendLease, ReleaseVm, VmFreed};
use crate::settings::Shared;
use crate::slot::{Unborn, VmSlot};

pub(crate) use birth::Birth;
use birth::Born;
pub(crate) use birth::{discard, spawn_clone};

/// The actor.
pub struct Vm {
    life: ChildContext,
    shared: Arc<Shared>,
    /// Where its state is published.
    slot: Arc<VmSlot>,
    desk: ChildRef<Desk>,
    /// The key of its order.
    key: Option<OrderKey>,
    /// What it is made from; taken when it starts.
    birth: Option<Birth>,
    machine: Option<Arc<dyn Machine>>,
    phase: Phase,
    /// The machine is being killed.
    removing: bool,
    /// Those who wait for its end.
    when_gone: Vec<oneshot::Sender<()>>,
    /// When the order came.
    ordered: Instant,
    /// The machine's word on when it was last heard, as it was last read.
    heard: Option<UnixMs>,
    /// A question whether the guest lives is on its way.
    pinging: bool,
    next_exec: u64,
    /// Tars on their way.
    transfers: Arc<()>,
}

/// Where the actor is; the VM's own state is in the slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The machine is being made.
    Making,
    /// As before, but it is not wanted any more.
    MakingInVain,
    /// There is a machine.
    Running,
    /// It broke, and is kept for people to see.
    Broken(UnixMs),
    /// The machine is being killed.
    Ending,
    /// Nothing is left.
    Over,
}

/// What a VM's actor is started with.
pub(crate) struct VmOrder {
    pub(crate) shared: Arc<Shared>,
    pub(crate) slot: Arc<VmSlot>,
    pub(crate) desk: ChildRef<Desk>,
    pub(crate) key: Option<OrderKey>,
    pub(crate) birth: Birth,
    pub(crate) ordered: Instant,
}

/// The machine had something to say.
#[derive(Message)]
#[rtype(result = "()")]
struct Happened(MachineEvent);

impl Vm {
    pub(crate) fn new(life: ChildContext, order: VmOrder) -> Self {
        Self {
            life,
            shared: order.shared,
            slot: order.slot,
            desk: order.desk,
            key: order.key,
            birth: Some(order.birth),
            machine: None,
            phase: Phase::Making,
            removing: false,
            when_gone: Vec::new(),
            ordered: order.ordered,
            heard: None,
            pinging: false,
            next_exec: 1,
            transfers: Arc::new(()),
        }
    }

    fn make(&mut self, ctx: &mut Context<Self>) {
        let Some(birth) = self.birth.take() else {
            return;
        };
        let (slot, shared) = (Arc::clone(&self.slot), Arc::clone(&self.shared));
        let made = spawn_blocking(move || birth.make(&slot.id, &slot.spec, &shared));
        ctx.spawn(
            made.into_actor(self)
                .map(|made, vm, ctx| vm.made(made, ctx)),
        );
    }

    fn made(
        &mut self,
        made: Result<Result<Born, DriverError>, JoinError>,
        ctx: &mut Context<Self>,
    ) {
        match made {
            Ok(Ok(born)) => self.born(born, ctx),
            Ok(Err(error)) => {
                let unborn = match error {
                    DriverError::Unsupported { .. } => Unborn::Unsupported,
                    ref error if error.is_shortage() => Unborn::Shortage,
                    _ => Unborn::Broken,
                };
                self.not_born(error.reason(), error.to_string(), unborn);
            }
            Err(panic) => {
                self.not_born(FailureReason::NotStarted, panic.to_string(), Unborn::Broken);
            }
        }
    }

    fn born(&mut self, born: Born, ctx: &mut Context<Self>) {
        let vm = ctx.address();
        born.relay.attach(move |event| vm.do_send(Happened(event)));
        self.machine = Some(born.machine);
        if self.phase == Phase::MakingInVain {
            self.phase = Phase::Running;
            return self.end(None, ctx);
        }
        self.phase = Phase::Running;
        let took = self.ordered.elapsed();
        self.slot.set_source(born.source);
        self.slot.set_took(took);
        self.slot.seen(self.shared.clock.now());
        self.shared.board.counters.allocated(born.source, took);
        self.slot.apply(VmEvent::AgentReady);
        tracing::info!(
            event = "vm.allocated",
            vm = %self.slot.id,
            owner = %self.slot.spec.owner,
            source = crate::board::source_label(born.source),
            isolation = %self.slot.isolation,
            took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        );
    }

    /// Nothing of the machine is left: the driver has seen to that.
    fn not_born(&mut self, reason: FailureReason, detail: String, unborn: Unborn) {
        let shortage = unborn == Unborn::Shortage;
        tracing::warn!(event = "vm.not_started", vm = %self.slot.id, shortage, %detail);
        self.shared.board.counters.failed(reason);
        self.slot.set_failure(reason, detail);
        self.slot.set_unborn(unborn);
        self.slot.apply(VmEvent::Broke);
        self.over();
    }

    /// Looks after the VM; called every [`look_every`](crate::VmSettings::look_every).
    fn look(&mut self, ctx: &mut Context<Self>) {
        let now = self.shared.clock.now();
        if let Phase::Broken(since) = self.phase {
            if now.since(since) >= self.shared.settings.failed_kept
                || self.slot.lease().is_over(now)
            {
                self.end(None, ctx);
            }
            return;
        }
        let Some(machine) = self.machine.clone() else {
            return;
        };
        // The machine's clock may be set; only that it heard something new counts.
        let heard = machine.last_seen();
        if self.heard.replace(heard) != Some(heard) {
            self.slot.seen(now);
        }
        match self.slot.verdict(now, self.shared.settings.deadlines) {
            Some(FailureReason::LeaseOver) => {
                if now
                    >= self
                        .slot
                        .lease()
                        .until
                        .plus(self.shared.settings.lease_grace)
                {
                    self.end(Some(FailureReason::LeaseOver), ctx);
                }
            }
            Some(reason) => self.broke(reason, silence(&*machine), ctx),
            None => self.ping(machine, ctx),
        }
    }

    fn ping(&mut self, machine: Arc<dyn Machine>, ctx: &mut Context<Self>) {
        let silence = self.shared.settings.deadlines.silence;
        let seen = self.slot.view().last_seen.unwrap_or_default();
        if self.pinging || self.shared.clock.now().since(seen) < silence / 4 {
            return;
        }
        self.pinging = true;
        let answered = spawn_blocking(move || machine.ping(silence / 2));
        ctx.spawn(answered.into_actor(self).map(|answered, vm, _| {
            vm.pinging = false;
            // No answer is no proof yet: the verdict says when silence has lasted too long.
            if let Ok(Ok(_)) = answered {
                vm.slot.seen(vm.shared.clock.now());
            }
        }));
    }

    /// The machine is of no use any more. What is left of it is removed at once; the record stays
    /// for a while.
    fn broke(&mut self, reason: FailureReason, detail: String, ctx: &mut Context<Self>) {
        if self.phase != Phase::Running {
            return;
        }
        tracing::warn!(
            event = "vm.failed",
            vm = %self.slot.id,
            reason = crate::board::reason_label(reason),
            %detail,
        );
        self.phase = Phase::Broken(self.shared.clock.now());
        self.shared.board.counters.failed(reason);
        self.slot.lose_execs(&detail);
        self.slot.set_failure(reason, detail);
        self.slot.apply(VmEvent::Broke);
        self.remove_machine(ctx);
    }

    /// Ends the VM, with the reason when nobody asked for it.
    fn end(&mut self, reason: Option<FailureReason>, ctx: &mut Context<Self>) {
        match self.phase {
            Phase::MakingInVain | Phase::Ending | Phase::Over => return,
            Phase::Making => self.phase = Phase::MakingInVain,
            Phase::Running | Phase::Broken(_) => self.phase = Phase::Ending,
        }
        self.slot.apply(VmEvent::StopAsked);
        if let Some(reason) = reason {
            self.shared.board.counters.released(reason);
            tracing::warn!(
                event = "vm.released",
                vm = %self.slot.id,
                reason = crate::board::reason_label(reason),
            );
        }
        // One that broke may still be on its way out.
        if self.phase == Phase::Ending && !self.removing {
            self.remove_machine(ctx);
        }
    }

    /// Kills the machine, on a thread.
    fn remove_machine(&mut self, ctx: &mut Context<Self>) {
        self.removing = true;
        let (machine, key) = (self.machine.take(), self.key.take());
        let (shared, slot) = (Arc::clone(&self.shared), Arc::clone(&self.slot));
        let removed = spawn_blocking(move || remove(machine, &shared, &slot, key.as_ref()));
        ctx.spawn(removed.into_actor(self).map(|removed, vm, _| {
            if let Err(panic) = removed {
                tracing::error!(event = "vm.leaked", vm = %vm.slot.id, error = %panic);
            }
            vm.removing = false;
            if vm.phase == Phase::Ending {
                vm.over();
            } else {
                vm.tell_desk();
            }
        }));
    }

    fn over(&mut self) {
        self.phase = Phase::Over;
        self.slot.apply(VmEvent::CleanedUp);
        self.shared.board.remove(&self.slot.id);
        for waiting in self.when_gone.drain(..) {
            // Who no longer waits need not know.
            let _ = waiting.send(());
        }
        self.tell_desk();
        self.life.stop();
    }

    fn tell_desk(&self) {
        // A desk that is full or restarting looks by itself, a little later.
        let _ = self.desk.tell(VmFreed);
    }

    /// Busy while a command runs, ready otherwise.
    fn refresh_work(&self) {
        match (self.slot.state(), self.slot.is_working()) {
            (VmState::Ready, true) => self.slot.apply(VmEvent::WorkStarted),
            (VmState::Busy, false) => self.slot.apply(VmEvent::WorkEnded),
            (state, _) => state,
        };
    }
}

/// Kills a machine, and writes down that its order's key is used up. Blocks.
fn remove(
    machine: Option<Arc<dyn Machine>>,
    shared: &Shared,
    slot: &VmSlot,
    key: Option<&OrderKey>,
) {
    if let Some(machine) = machine {
        if let Err(error) = machine.kill() {
            // Its folder stays: the next start tries again.
            tracing::error!(event = "vm.leaked", vm = %slot.id, %error);
            shared.board.counters.leaked();
            return;
        }
        slot.lose_execs("the VM was ended");
    }
    if let Some(key) = key.cloned() {
        let now = shared.clock.now();
        let done = shared
            .store
            .write_blocking(move |txn| keys::ended(txn, &key, now));
        if let Err(error) = done {
            tracing::warn!(event = "vm.unrecorded", vm = %slot.id, %error);
        }
    }
}

impl Actor for Vm {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.make(ctx);
        ctx.run_interval(self.shared.settings.look_every, Self::look);
    }

    /// Refuses to stop before the machine is gone; then it stops itself.
    fn stopping(&mut self, ctx: &mut Context<Self>) -> Running {
        if self.phase == Phase::Over {
            return Running::Stop;
        }
        self.end(None, ctx);
        Running::Continue
    }
}

impl Drop for Vm {
    /// A life that panicked or was aborted leaves a machine.
    fn drop(&mut self) {
        if self.phase == Phase::Over {
            return;
        }
        tracing::error!(event = "vm.abandoned", vm = %self.slot.id, "its actor ended before it");
        let (shared, slot) = (Arc::clone(&self.shared), Arc::clone(&self.slot));
        let (machine, key, desk) = (self.machine.take(), self.key.take(), self.desk.clone());
        let ending = std::thread::Builder::new().name("vm-end".to_owned());
        let ended = ending.spawn(move || {
            slot.apply(VmEvent::StopAsked);
            remove(machine, &shared, &slot, key.as_ref());
            slot.lose_execs("the VM was ended");
            slot.apply(VmEvent::CleanedUp);
            shared.board.remove(&slot.id);
            let _ = desk.tell(VmFreed);
        });
        if let Err(error) = ended {
            tracing::error!(event = "vm.leaked", vm = %self.slot.id, %error);
        }
    }
}

impl Handler<Happened> for Vm {
    type Result = ();

    fn handle(&mut self, Happened(event): Happened, ctx: &mut Context<Self>) {
        let MachineEvent::Gone { reason, detail } = event;
        self.broke(reason, detail, ctx);
    }
}

impl Handler<ReleaseVm> for Vm {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, message: ReleaseVm, ctx: &mut Context<Self>) -> Self::Result {
        let (send, gone) = oneshot::channel();
        self.when_gone.push(send);
        self.end(message.reason, ctx);
        Box::pin(async move {
            // Dropped unsent when the actor ends in another way, and the machine with it.
            let _ = gone.await;
        })
    }
}

impl Handler<ExtendLease> for Vm {
    type Result = Result<UnixMs, LeaseError>;

    fn handle(&mut self, message: ExtendLease, _: &mut Context<Self>) -> Self::Result {
        let (now, limits) = (self.shared.clock.now(), self.shared.settings.lease);
        let lease = self.slot.lease();
        if self.phase != Phase::Running && self.phase != Phase::Making {
            return Err(LeaseError::Over { until: lease.until });
        }
        let extended = lease.extend(now, message.lease, limits)?;
        self.slot.set_lease(extended);
        Ok(extended.until)
    }
}

/// What is known of a guest that says nothing.
fn silence(machine: &dyn Machine) -> String {
    let folder = machine.process().folder;
    let mut text = "it gave no sign of life".to_owned();
    if vm_engine::disk_is_full(&folder) {
        let disk = folder.parent().unwrap_or(&folder).display().to_string();
        text += &format!("; the disk of {disk} is full, and a VM that cannot write stands still");
    }
    text
}

/// How long the edge waits for a VM's actor that has only to answer.
pub const PROMPT: Duration = Duration::from_secs(10);
