//! The VM manager's part of an actor tree.
//!
//! ```text
//! vms ─┬─ pool                  keeps clones waiting (permanent)
//!      ├─ machines ─┬─ <vm id>  one VM that is given out (temporary)
//!      │            └─ …
//!      └─ desk                  admits orders (permanent)
//! ```
//! It stops in the reverse order: no new orders, then all VMs at once, then what waits.

use std::sync::Arc;
use std::time::Duration;

use store::{Store, StoreError};
use supervision::{ChildRef, ChildSpec, SupervisorSpec};
use vm_core::pool::Policy;
use vm_engine::Driver;

use crate::board::Board;
use crate::clock::Clock;
use crate::desk::Desk;
use crate::images::Images;
use crate::keys;
use crate::pool::Pool;
use crate::settings::{Shared, VmSettings};
use crate::shelves::Shelves;

/// The VM part of a tree before it is started: its spec, and what peers hold.
pub struct VmService {
    /// The supervisor of the VM part; add it to a root.
    pub supervisor: SupervisorSpec,
    /// Who takes orders.
    pub desk: ChildRef<Desk>,
    /// What all of it shares; what is published is in there.
    pub shared: Arc<Shared>,
}

impl VmService {
    /// Puts the VM part together. Orders that a former life of the manager has not finished are
    /// forgotten: the driver has ended their VMs. Blocks for the store.
    ///
    /// # Errors
    /// The store's.
    pub fn new(
        settings: VmSettings,
        driver: Arc<dyn Driver>,
        images: Arc<dyn Images>,
        store: Store,
    ) -> Result<Self, StoreError> {
        keys::forget_unfinished(&store)?;
        let shared = Arc::new(Shared {
            driver,
            images,
            store,
            board: Board::default(),
            shelves: Shelves::new(&settings.warm),
            clock: Clock::start(),
            traffic: Arc::default(),
            settings,
        });
        let most = shared.settings.capacity.vms as usize;
        let machines = SupervisorSpec::new("machines").max_dynamic(most.saturating_mul(2) + 16);
        let pool = pool_spec(&shared);
        let desk = desk_spec(&shared, &machines, pool.reference());
        let desk_reference = desk.reference();
        let supervisor = SupervisorSpec::new("vms")
            .child(pool)
            .supervisor(machines)
            .child(desk);
        Ok(Self {
            supervisor,
            desk: desk_reference,
            shared,
        })
    }
}

fn pool_spec(shared: &Arc<Shared>) -> ChildSpec<Pool> {
    let shared = Arc::clone(shared);
    let shutdown = shared.settings.deadlines.boot + Duration::from_secs(5);
    ChildSpec::new("pool", move |life| Pool::new(life, Arc::clone(&shared)))
        .capacity(64)
        .shutdown(shutdown)
}

fn desk_spec(
    shared: &Arc<Shared>,
    machines: &SupervisorSpec,
    pool: ChildRef<Pool>,
) -> ChildSpec<Desk> {
    let settings = &shared.settings;
    // Orders that wait, those whose VMs boot, and a few that are refused.
    let capacity = settings.capacity.queue + settings.capacity.vms as usize + 64;
    let longest = settings.wait + settings.deadlines.boot * 2 + Duration::from_secs(5);
    let (shared, machines) = (Arc::clone(shared), machines.reference());
    // The desk's own reference exists only once its spec does.
    let me = Arc::new(std::sync::OnceLock::<ChildRef<Desk>>::new());
    let known = Arc::clone(&me);
    let spec = ChildSpec::fallible("desk", move |life| {
        let me = known.get().ok_or("the desk has no reference yet")?.clone();
        let (shared, machines) = (Arc::clone(&shared), machines.clone());
        Ok::<_, &str>(Desk::new(life, shared, machines, pool.clone(), me))
    });
    // Set once, here, before the first life.
    let _ = me.set(spec.reference());
    spec.capacity(capacity).ask_timeout(longest)
}

impl VmService {
    /// Clones that wait, those that should, and VMs given out.
    #[must_use]
    pub fn pool_counts(shared: &Shared) -> (usize, usize, usize) {
        let Policy { clones, .. } = shared.settings.pool;
        let (ready, target) = shared.shelves.counts(clones);
        let in_use = shared.board.in_use(0).vms;
        (ready, target, in_use as usize)
    }
}

impl std::fmt::Debug for VmService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VmService")
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}
