//! From an admitted order to a VM's actor.

use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use supervision::{ChildRef, ChildSpec, Restart, Supervisor};
use vm_core::{Lease, VmState};

use super::waiting::Order;
use super::{Desk, Reply};
use crate::ids::fresh_vm_id;
use crate::keys::{self, OrderKey};
use crate::messages::{CreateFailure, RefillPool};
use crate::settings::Shared;
use crate::shelves::Taken;
use crate::slot::{Unborn, VmSlot};
use crate::vm::{Birth, Vm, VmOrder};

/// Messages that may wait for one VM, and questions it may have open: more than commands and
/// transfers at once.
const VM_CAPACITY: usize = 64;

/// When to come again after the machine had too little of something.
const SHORTAGE: std::time::Duration = std::time::Duration::from_secs(10);

impl Desk {
    /// Takes the best there is, puts the VM on the board and starts its actor.
    pub(super) fn launch(&mut self, order: Order, ctx: &mut Context<Self>) {
        let Some(image) = order.image.clone() else {
            return self.finish(order, Err(CreateFailure::Interrupted), ctx);
        };
        let now = self.shared.clock.now();
        let taken = self.shared.shelves.take(&order.spec.template_key(), now);
        // A full or restarting pool looks by itself, a little later.
        let _ = self.pool.tell(RefillPool);
        let birth = Birth { taken, image };
        let id = match &birth.taken {
            Taken::Pooled(pooled) => pooled.machine.id().clone(),
            _ => fresh_vm_id(),
        };
        let lease = Lease::grant(now, order.spec.lease, self.shared.settings.lease);
        let runs = (self.shared.driver.name(), self.shared.driver.isolation());
        let slot = VmSlot::new(
            id,
            order.spec.clone(),
            order.subject.clone(),
            birth.source(),
            lease,
            runs,
        );
        self.shared.board.insert(Arc::clone(&slot));
        let vm = VmOrder {
            shared: Arc::clone(&self.shared),
            slot: Arc::clone(&slot),
            desk: self.me.clone(),
            key: order.key.clone(),
            birth,
            ordered: order.ordered,
        };
        let started = start(
            Arc::clone(&self.shared),
            self.machines.clone(),
            order.key.clone(),
            vm,
        );
        ctx.spawn(
            started
                .into_actor(self)
                .map(|answer, desk, ctx| desk.finish(order, answer, ctx)),
        );
    }
}

/// Writes down which VM the order's key names, starts its actor, and waits until it can be given
/// work.
async fn start(
    shared: Arc<Shared>,
    machines: ChildRef<Supervisor>,
    key: Option<OrderKey>,
    vm: VmOrder,
) -> Reply {
    let slot = Arc::clone(&vm.slot);
    if let Some(key) = key {
        let (id, now) = (slot.id.clone(), shared.clock.now());
        let named = shared
            .store
            .write(move |txn| keys::made(txn, &key, &id, now));
        if let Err(error) = named.await {
            shared.board.remove(&slot.id);
            return Err(error.into());
        }
    }
    let shutdown = shared.settings.deadlines.boot + std::time::Duration::from_secs(5);
    let mut vm = Some(vm);
    let spec = ChildSpec::fallible(slot.id.as_str().to_owned(), move |life| {
        let order = vm.take().ok_or("a VM has one life")?;
        Ok::<_, &str>(Vm::new(life, order))
    });
    let spec = spec
        .restart(Restart::Temporary)
        .capacity(VM_CAPACITY)
        .shutdown(shutdown);
    slot.set_actor(spec.reference());
    if let Err(error) = machines.start_child(spec).await {
        tracing::warn!(event = "vm.not_started", vm = %slot.id, %error);
        shared.board.remove(&slot.id);
        return Err(CreateFailure::Interrupted);
    }
    settled(&slot).await
}

/// Waits until the VM can be given work, or never will be.
pub(super) async fn settled(slot: &VmSlot) -> Reply {
    match slot.settled().await {
        VmState::Ready | VmState::Busy => Ok(slot.created_view()),
        VmState::Starting | VmState::Stopping => Err(CreateFailure::Interrupted),
        VmState::Failed | VmState::Gone => match slot.failure() {
            Some((reason, detail)) => Err(match slot.unborn() {
                Unborn::Unsupported => CreateFailure::Unsupported(detail),
                Unborn::Shortage => CreateFailure::Shortage {
                    detail,
                    retry_after: SHORTAGE,
                },
                Unborn::Broken => CreateFailure::NotStarted { reason, detail },
            }),
            None => Err(CreateFailure::Interrupted),
        },
    }
}
