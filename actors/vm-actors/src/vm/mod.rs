//! One VM that is given out.
//!
//! ```text
//! VmScheduler ─starts─▶ Vm ─threads─▶ Machine (exec, tar, ping, kill)
//! edge ─StartExec, KillExec, PutFiles, GetFiles, ExtendLease, ReleaseVm─▶ Vm
//! Machine ─MachineEnded─▶ Vm ─VmFreed─▶ VmScheduler          Vm ─publishes─▶ VmEntry
//! ```
//! It ends when nothing of the VM is left. Whatever ends it first (a panic, an abort) ends the
//! machine as well.

mod exec;
mod files;
mod pause;
mod snapshots;
mod terminal;

use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, Running,
    WrapFuture,
};
use actix_rt::task::{JoinError, spawn_blocking};
use store::Store;
use supervision::ChildContext;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;
use vm_core::{FailureReason, LeaseError, UnixMs, VmEvent, VmId, VmState};
use vm_engine::{DriverError, Machine, MachineEvent};

use crate::clock::Clock;
use crate::counters::VmCounters;
use crate::entry::{StartFailure, VmEntry};
use crate::keys::{self, IdempotencyKey};
use crate::messages::{ExtendLease, ReleaseVm};
use crate::provisioning::{ProvisionPlan, ProvisionedVm, Provisioner};
use crate::settings::VmSettings;

/// Tars on their way into or out of one VM at once.
const MAX_TRANSFERS: usize = 4;

/// The actor.
pub struct Vm {
    context: ChildContext,
    resources: VmResources,
    /// Where its state is published.
    entry: Arc<VmEntry>,
    /// The key of its request.
    key: Option<IdempotencyKey>,
    /// What it is made from; taken when it starts.
    plan: Option<ProvisionPlan>,
    machine: Option<Arc<dyn Machine>>,
    phase: Phase,
    /// The machine is being killed.
    removing: bool,
    /// Those who wait for its end.
    when_terminated: Vec<oneshot::Sender<()>>,
    requested: Instant,
    /// The machine's word on when it was last heard, as it was last read.
    heard: Option<UnixMs>,
    /// A question whether the guest is alive is not answered yet.
    pinging: bool,
    next_exec: u64,
    /// Permits for tars in transfer.
    transfers: Arc<Semaphore>,
    /// It is being paused or resumed: it takes no work meanwhile.
    changing: bool,
}

/// Where the actor is; the VM's own state is in the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The machine is being made.
    Provisioning,
    /// As before, but it is not wanted any more.
    ProvisioningCancelled,
    /// There is a machine.
    Running,
    /// It failed at that time, and is kept for people to see.
    Failed(UnixMs),
    /// The machine is being killed.
    Terminating,
    /// Nothing is left.
    Terminated,
}

/// Whom a VM tells how it goes on.
pub(crate) trait VmObserver: Send + Sync {
    /// It uses nothing of the host any more.
    fn freed(&self);
    /// Nothing of it is left.
    fn terminated(&self, id: &VmId);
}

/// What a VM's actor needs of the manager.
#[derive(Clone)]
pub(crate) struct VmResources {
    pub(crate) provisioner: Provisioner,
    pub(crate) store: Store,
    pub(crate) counters: Arc<VmCounters>,
    pub(crate) clock: Clock,
    pub(crate) settings: Arc<VmSettings>,
    pub(crate) observer: Arc<dyn VmObserver>,
}

/// What a VM's actor is started with.
pub(crate) struct VmStart {
    pub(crate) resources: VmResources,
    pub(crate) entry: Arc<VmEntry>,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) plan: ProvisionPlan,
    /// When the request came.
    pub(crate) requested: Instant,
}

/// The machine has ended by itself.
#[derive(Message)]
#[rtype(result = "()")]
struct MachineEnded(MachineEvent);

impl Vm {
    pub(crate) fn new(context: ChildContext, start: VmStart) -> Self {
        Self {
            context,
            resources: start.resources,
            entry: start.entry,
            key: start.key,
            plan: Some(start.plan),
            machine: None,
            phase: Phase::Provisioning,
            removing: false,
            when_terminated: Vec::new(),
            requested: start.requested,
            heard: None,
            pinging: false,
            next_exec: 1,
            transfers: Arc::new(Semaphore::new(MAX_TRANSFERS)),
            changing: false,
        }
    }

    fn provision(&mut self, ctx: &mut Context<Self>) {
        let Some(plan) = self.plan.take() else {
            return;
        };
        let (entry, provisioner) = (Arc::clone(&self.entry), self.resources.provisioner.clone());
        let provisioned = spawn_blocking(move || provisioner.provision(plan, &entry));
        ctx.spawn(
            provisioned
                .into_actor(self)
                .map(|provisioned, vm, ctx| vm.provisioned(provisioned, ctx)),
        );
    }

    fn provisioned(
        &mut self,
        provisioned: Result<Result<ProvisionedVm, DriverError>, JoinError>,
        ctx: &mut Context<Self>,
    ) {
        match provisioned {
            Ok(Ok(provisioned)) => self.started(provisioned, ctx),
            Ok(Err(error)) => {
                let failure = match error {
                    DriverError::Unsupported { .. } => StartFailure::Unsupported,
                    ref error if error.is_shortage() => StartFailure::Shortage,
                    _ => StartFailure::Failed,
                };
                self.start_failed(error.reason(), error.to_string(), failure);
            }
            Err(panic) => {
                let (reason, failure) = (FailureReason::NotStarted, StartFailure::Failed);
                self.start_failed(reason, panic.to_string(), failure);
            }
        }
    }

    fn started(&mut self, provisioned: ProvisionedVm, ctx: &mut Context<Self>) {
        let vm = ctx.address();
        provisioned
            .relay
            .attach(move |event| vm.do_send(MachineEnded(event)));
        self.machine = Some(provisioned.machine);
        if self.phase == Phase::ProvisioningCancelled {
            self.phase = Phase::Running;
            return self.end(None, ctx);
        }
        self.phase = Phase::Running;
        let (source, took) = (provisioned.source, self.requested.elapsed());
        self.entry.set_source(source);
        self.entry.set_took(took);
        self.entry.record_contact(self.resources.clock.now());
        self.resources.counters.allocated(source, took);
        self.entry.apply(VmEvent::AgentReady);
        tracing::info!(
            event = "vm.allocated",
            vm = %self.entry.id,
            owner = %self.entry.spec.owner,
            source = source.label(),
            isolation = %self.entry.isolation,
            took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        );
    }

    /// Nothing of the machine is left: the driver has seen to that.
    fn start_failed(&mut self, reason: FailureReason, detail: String, failure: StartFailure) {
        let shortage = failure == StartFailure::Shortage;
        tracing::warn!(event = "vm.not_started", vm = %self.entry.id, shortage, %detail);
        self.resources.counters.failed(reason);
        self.entry.set_failure(reason, detail);
        self.entry.set_start_failure(failure);
        self.entry.apply(VmEvent::Broke);
        self.terminated();
    }

    /// Checks the VM; called every [`look_every`](crate::VmSettings::look_every).
    fn check(&mut self, ctx: &mut Context<Self>) {
        let now = self.resources.clock.now();
        if let Phase::Failed(since) = self.phase {
            if now.since(since) >= self.resources.settings.failed_kept
                || self.entry.lease().is_over(now)
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
            self.entry.record_contact(now);
        }
        match self.entry.verdict(now, self.resources.settings.deadlines) {
            Some(FailureReason::LeaseOver) => {
                if now
                    >= self
                        .entry
                        .lease()
                        .until
                        .plus(self.resources.settings.lease_grace)
                {
                    self.end(Some(FailureReason::LeaseOver), ctx);
                }
            }
            Some(reason) => self.fail(reason, silence(&*machine), ctx),
            // It cannot answer.
            None if self.changing || self.entry.paused().is_some() => {}
            None => self.ping(machine, ctx),
        }
    }

    fn ping(&mut self, machine: Arc<dyn Machine>, ctx: &mut Context<Self>) {
        let silence = self.resources.settings.deadlines.silence;
        let seen = self.entry.view().last_seen.unwrap_or_default();
        if self.pinging || self.resources.clock.now().since(seen) < silence / 4 {
            return;
        }
        self.pinging = true;
        let answered = spawn_blocking(move || machine.ping(silence / 2));
        ctx.spawn(answered.into_actor(self).map(|answered, vm, _| {
            vm.pinging = false;
            // No answer is no proof yet: the verdict says when silence has lasted too long.
            if let Ok(Ok(_)) = answered {
                vm.entry.record_contact(vm.resources.clock.now());
            }
        }));
    }

    /// The machine is of no use any more. What is left of it is removed at once; the entry stays
    /// for a while.
    fn fail(&mut self, reason: FailureReason, detail: String, ctx: &mut Context<Self>) {
        if self.phase != Phase::Running {
            return;
        }
        tracing::warn!(
            event = "vm.failed",
            vm = %self.entry.id,
            reason = reason.label(),
            %detail,
        );
        self.phase = Phase::Failed(self.resources.clock.now());
        self.resources.counters.failed(reason);
        self.entry.lose_execs(&detail);
        self.entry.set_failure(reason, detail);
        self.entry.apply(VmEvent::Broke);
        self.remove_machine(ctx);
    }

    /// Ends the VM, with the reason when nobody asked for it.
    fn end(&mut self, reason: Option<FailureReason>, ctx: &mut Context<Self>) {
        match self.phase {
            Phase::ProvisioningCancelled | Phase::Terminating | Phase::Terminated => return,
            Phase::Provisioning => self.phase = Phase::ProvisioningCancelled,
            Phase::Running | Phase::Failed(_) => self.phase = Phase::Terminating,
        }
        self.entry.apply(VmEvent::StopAsked);
        if let Some(reason) = reason {
            self.resources.counters.released(reason);
            tracing::warn!(
                event = "vm.released",
                vm = %self.entry.id,
                reason = reason.label(),
            );
        }
        // The machine of one that failed may still be on its way out.
        if self.phase == Phase::Terminating && !self.removing {
            self.remove_machine(ctx);
        }
    }

    /// Kills the machine, on a thread.
    fn remove_machine(&mut self, ctx: &mut Context<Self>) {
        self.removing = true;
        let (machine, key) = (self.machine.take(), self.key.take());
        let (resources, entry) = (self.resources.clone(), Arc::clone(&self.entry));
        let removed = spawn_blocking(move || remove(machine, &resources, &entry, key.as_ref()));
        ctx.spawn(removed.into_actor(self).map(|removed, vm, _| {
            if let Err(panic) = removed {
                tracing::error!(event = "vm.leaked", vm = %vm.entry.id, error = %panic);
            }
            vm.removing = false;
            if vm.phase == Phase::Terminating {
                vm.terminated();
            } else {
                vm.resources.observer.freed();
            }
        }));
    }

    fn terminated(&mut self) {
        self.phase = Phase::Terminated;
        self.entry.apply(VmEvent::CleanedUp);
        self.resources.observer.terminated(&self.entry.id);
        for waiting in self.when_terminated.drain(..) {
            // Who no longer waits need not know.
            let _ = waiting.send(());
        }
        self.resources.observer.freed();
        self.context.stop();
    }

    /// Busy while a command runs, ready otherwise.
    fn refresh_work(&self) {
        match (self.entry.state(), self.entry.is_working()) {
            (VmState::Ready, true) => self.entry.apply(VmEvent::WorkStarted),
            (VmState::Busy, false) => self.entry.apply(VmEvent::WorkEnded),
            (state, _) => state,
        };
    }
}

/// Kills a machine, and records that its request's key is used up. Blocks.
fn remove(
    machine: Option<Arc<dyn Machine>>,
    resources: &VmResources,
    entry: &VmEntry,
    key: Option<&IdempotencyKey>,
) {
    if let Some(machine) = machine {
        if let Err(error) = machine.kill() {
            // Its folder stays: the next start tries again.
            tracing::error!(event = "vm.leaked", vm = %entry.id, %error);
            resources.counters.leaked();
            return;
        }
        entry.lose_execs("the VM was ended");
    }
    if let Some(key) = key.cloned() {
        let now = resources.clock.now();
        let done = resources
            .store
            .write_blocking(move |txn| keys::record_end(txn, &key, now));
        if let Err(error) = done {
            tracing::warn!(event = "vm.unrecorded", vm = %entry.id, %error);
        }
    }
}

impl Actor for Vm {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.provision(ctx);
        ctx.run_interval(self.resources.settings.look_every, Self::check);
    }

    /// Refuses to stop before the machine is gone; then it stops itself.
    fn stopping(&mut self, ctx: &mut Context<Self>) -> Running {
        if self.phase == Phase::Terminated {
            return Running::Stop;
        }
        self.end(None, ctx);
        Running::Continue
    }
}

impl Drop for Vm {
    /// An incarnation that panicked or was aborted leaves a machine.
    fn drop(&mut self) {
        if self.phase == Phase::Terminated {
            return;
        }
        tracing::error!(event = "vm.abandoned", vm = %self.entry.id, "its actor ended before it");
        let (resources, entry) = (self.resources.clone(), Arc::clone(&self.entry));
        let (machine, key) = (self.machine.take(), self.key.take());
        let ending = std::thread::Builder::new().name("vm-end".to_owned());
        let ended = ending.spawn(move || {
            entry.apply(VmEvent::StopAsked);
            remove(machine, &resources, &entry, key.as_ref());
            entry.lose_execs("the VM was ended");
            entry.apply(VmEvent::CleanedUp);
            resources.observer.terminated(&entry.id);
            resources.observer.freed();
        });
        if let Err(error) = ended {
            tracing::error!(event = "vm.leaked", vm = %self.entry.id, %error);
        }
    }
}

impl Handler<MachineEnded> for Vm {
    type Result = ();

    fn handle(&mut self, MachineEnded(event): MachineEnded, ctx: &mut Context<Self>) {
        let MachineEvent::Terminated { reason, detail } = event;
        self.fail(reason, detail, ctx);
    }
}

impl Handler<ReleaseVm> for Vm {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, message: ReleaseVm, ctx: &mut Context<Self>) -> Self::Result {
        let (send, gone) = oneshot::channel();
        self.when_terminated.push(send);
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
        let (now, limits) = (self.resources.clock.now(), self.resources.settings.lease);
        let lease = self.entry.lease();
        if self.phase != Phase::Running && self.phase != Phase::Provisioning {
            return Err(LeaseError::Over { until: lease.until });
        }
        let extended = lease.extend(now, message.lease, limits)?;
        self.entry.set_lease(extended);
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

pub use snapshots::SNAPSHOT_TIMEOUT;

/// How long the edge waits for a VM's actor that has only to answer.
pub const PROMPT_TIMEOUT: Duration = Duration::from_secs(10);
