//! The VM manager's part of an actor tree.
//!
//! ```text
//! vms ─┬─ pool                  keeps clones waiting (permanent)
//!      ├─ machines ─┬─ <vm id>  one VM that is given out (temporary)
//!      │            └─ …
//!      └─ scheduler             admits requests (permanent)
//! ```
//! It stops in the reverse order: no new requests, then all VMs at once, then what waits.

use std::sync::Arc;
use std::time::Duration;

use store::{Store, StoreError};
use supervision::{ChildRef, ChildSpec, SupervisorSpec};
use vm_engine::Driver;

use crate::clock::Clock;
use crate::images::Images;
use crate::keys;
use crate::pool_manager::{PoolManager, PoolResources};
use crate::provisioning::Provisioner;
use crate::scheduler::{SchedulerResources, VmScheduler};
use crate::settings::VmSettings;
use crate::view::VmManagerView;
use crate::warm_pool::WarmPool;

/// The VM part of a tree before it is started: its spec, and what peers hold.
pub struct VmService {
    /// The supervisor of the VM part; add it to a root.
    pub supervisor: SupervisorSpec,
    /// Who takes requests.
    pub scheduler: ChildRef<VmScheduler>,
    /// What is published.
    pub view: VmManagerView,
    /// Where idempotency keys are kept.
    pub store: Store,
}

impl VmService {
    /// Puts the VM part together. Requests that a previous incarnation of the manager has not
    /// finished are forgotten: the driver has ended their VMs. Blocks for the store.
    ///
    /// # Errors
    /// The store's.
    pub fn new(
        settings: VmSettings,
        driver: Arc<dyn Driver>,
        images: Arc<dyn Images>,
        store: Store,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        keys::forget_unfinished(&store)?;
        let settings = Arc::new(settings);
        let resources = SchedulerResources {
            provisioner: Provisioner {
                driver,
                traffic: Arc::default(),
                settings: Arc::clone(&settings),
            },
            images,
            store: store.clone(),
            registry: Arc::default(),
            warm_pool: Arc::new(WarmPool::new(&settings.warm)),
            counters: Arc::default(),
            clock,
            settings,
        };
        let view = VmManagerView::new(&resources);
        let most = resources.settings.capacity.vms as usize;
        let machines = SupervisorSpec::new("machines").max_dynamic(most.saturating_mul(2) + 16);
        let pool = pool_spec(&resources);
        let scheduler = scheduler_spec(resources, &machines, pool.reference());
        let scheduler_reference = scheduler.reference();
        let supervisor = SupervisorSpec::new("vms")
            .child(pool)
            .supervisor(machines)
            .child(scheduler);
        Ok(Self {
            supervisor,
            scheduler: scheduler_reference,
            view,
            store,
        })
    }
}

fn pool_spec(resources: &SchedulerResources) -> ChildSpec<PoolManager> {
    let shutdown = resources.settings.deadlines.boot + Duration::from_secs(5);
    let resources = PoolResources {
        driver: Arc::clone(&resources.provisioner.driver),
        images: Arc::clone(&resources.images),
        warm_pool: Arc::clone(&resources.warm_pool),
        clock: resources.clock.clone(),
        settings: Arc::clone(&resources.settings),
    };
    ChildSpec::new("pool", move |context| {
        PoolManager::new(context, resources.clone())
    })
    .capacity(64)
    .shutdown(shutdown)
}

fn scheduler_spec(
    resources: SchedulerResources,
    machines: &SupervisorSpec,
    pool: ChildRef<PoolManager>,
) -> ChildSpec<VmScheduler> {
    let settings = Arc::clone(&resources.settings);
    // Requests that wait, those whose VMs boot, and a few that are refused.
    let capacity = settings.capacity.queue + settings.capacity.vms as usize + 64;
    let longest = settings.wait + settings.deadlines.boot * 2 + Duration::from_secs(5);
    let machines = machines.reference();
    // The scheduler's own reference exists only once its spec does.
    let me = Arc::new(std::sync::OnceLock::<ChildRef<VmScheduler>>::new());
    let known = Arc::clone(&me);
    let spec = ChildSpec::fallible("scheduler", move |_| {
        let me = known
            .get()
            .ok_or("the scheduler has no reference yet")?
            .clone();
        let (resources, machines, pool) = (resources.clone(), machines.clone(), pool.clone());
        Ok::<_, &str>(VmScheduler::new(resources, machines, pool, me))
    });
    // Set once, here, before the first incarnation.
    let _ = me.set(spec.reference());
    spec.capacity(capacity).ask_timeout(longest)
}

impl std::fmt::Debug for VmService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VmService")
            .field("view", &self.view)
            .finish_non_exhaustive()
    }
}
