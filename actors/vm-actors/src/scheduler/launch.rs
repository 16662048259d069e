//! From an admitted request to a VM's actor.

use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use actix_rt::task::spawn_blocking;
use store::Store;
use supervision::{ChildRef, ChildSpec, Restart, Supervisor};
use vm_core::{Lease, UnixMs, VmId};

use super::VmScheduler;
use crate::entry::VmEntry;
use crate::ids::fresh_vm_id;
use crate::keys::{self, IdempotencyKey};
use crate::messages::{AllocatedVm, CreateFailure, RefillPool, VmFreed};
use crate::provisioning::{ProvisionPlan, discard};
use crate::registry::VmRegistry;
use crate::request_queue::PendingRequest;
use crate::vm::{Vm, VmObserver, VmResources, VmStart};
use crate::warm_pool::{StaleClones, VmOrigin};

/// Messages that may wait for one VM, and questions it may have open: more than commands and
/// transfers at once.
const VM_CAPACITY: usize = 64;

/// What a VM that goes on or ends changes for the others.
struct Registration {
    registry: Arc<VmRegistry>,
    scheduler: ChildRef<VmScheduler>,
}

impl VmObserver for Registration {
    fn freed(&self) {
        // A scheduler that is full or restarting looks by itself, a little later.
        let _ = self.scheduler.tell(VmFreed);
    }

    fn terminated(&self, id: &VmId) {
        self.registry.remove(id);
    }
}

impl VmScheduler {
    /// Takes the best there is, registers the VM and starts its actor.
    pub(super) fn launch(&mut self, request: PendingRequest, ctx: &mut Context<Self>) {
        let Some(image) = request.image.clone() else {
            return self.finish(request, Err(CreateFailure::Interrupted), ctx);
        };
        let now = self.resources.clock.now();
        let key = request.spec.template_key();
        let (origin, stale) = self.resources.warm_pool.take(&key, &image.digest, now);
        discard_stale(stale);
        // A full or restarting pool manager looks by itself, a little later.
        let _ = self.pool.tell(RefillPool);
        let plan = ProvisionPlan { origin, image };
        let entry = self.entry(&request, &plan, now);
        self.resources.registry.insert(Arc::clone(&entry));
        let start = VmStart {
            resources: self.vm_resources(),
            entry,
            key: request.key.clone(),
            plan,
            requested: request.requested,
        };
        let launch = Launch {
            store: self.resources.store.clone(),
            registry: Arc::clone(&self.resources.registry),
            machines: self.machines.clone(),
            now,
        };
        let launched = launch.run(start);
        ctx.spawn(
            launched
                .into_actor(self)
                .map(|answer, scheduler, ctx| scheduler.finish(request, answer, ctx)),
        );
    }

    fn entry(&self, request: &PendingRequest, plan: &ProvisionPlan, now: UnixMs) -> Arc<VmEntry> {
        let id = match &plan.origin {
            VmOrigin::PooledClone(pooled) => pooled.machine.id().clone(),
            VmOrigin::Template(_) | VmOrigin::Image => fresh_vm_id(),
        };
        let lease = Lease::grant(now, request.spec.lease, self.resources.settings.lease);
        let driver = &self.resources.provisioner.driver;
        VmEntry::new(
            id,
            request.spec.clone(),
            request.subject.clone(),
            plan.source(),
            lease,
            (driver.name(), driver.isolation()),
        )
    }

    fn vm_resources(&self) -> VmResources {
        VmResources {
            provisioner: self.resources.provisioner.clone(),
            store: self.resources.store.clone(),
            counters: Arc::clone(&self.resources.counters),
            clock: self.resources.clock.clone(),
            settings: Arc::clone(&self.resources.settings),
            observer: Arc::new(Registration {
                registry: Arc::clone(&self.resources.registry),
                scheduler: self.me.clone(),
            }),
        }
    }
}

/// Ends what an image left that its name does not mean any more.
fn discard_stale(stale: StaleClones) {
    if stale.clones.is_empty() && stale.template.is_none() {
        return;
    }
    drop(spawn_blocking(move || {
        for clone in &stale.clones {
            discard(clone.machine.as_ref());
        }
        drop(stale.template);
    }));
}

/// What starting a VM's actor takes.
struct Launch {
    store: Store,
    registry: Arc<VmRegistry>,
    machines: ChildRef<Supervisor>,
    now: UnixMs,
}

impl Launch {
    /// Records which VM the request's key names, starts its actor, and waits until it can be given
    /// work.
    async fn run(self, start: VmStart) -> Result<AllocatedVm, CreateFailure> {
        let entry = Arc::clone(&start.entry);
        if let Err(failure) = self.start_actor(start).await {
            self.registry.remove(&entry.id);
            return Err(failure);
        }
        entry.allocation().await
    }

    async fn start_actor(&self, start: VmStart) -> Result<(), CreateFailure> {
        let id = start.entry.id.clone();
        if let Some(key) = start.key.clone() {
            self.record(key, id.clone()).await?;
        }
        let shutdown = start.resources.settings.deadlines.boot + Duration::from_secs(5);
        let mut start = Some(start);
        let spec = ChildSpec::fallible(id.as_str().to_owned(), move |context| {
            let start = start.take().ok_or("a VM is not restarted")?;
            Ok::<_, &str>(Vm::new(context, start))
        });
        let spec = spec
            .restart(Restart::Temporary)
            .capacity(VM_CAPACITY)
            .shutdown(shutdown);
        self.registry.set_actor(&id, spec.reference());
        self.machines.start_child(spec).await.map_err(|error| {
            tracing::warn!(event = "vm.not_started", vm = %id, %error);
            CreateFailure::Interrupted
        })?;
        Ok(())
    }

    async fn record(&self, key: IdempotencyKey, id: VmId) -> Result<(), CreateFailure> {
        let now = self.now;
        let recorded = self
            .store
            .write(move |txn| keys::record_vm(txn, &key, &id, now))
            .await;
        Ok(recorded?)
    }
}
