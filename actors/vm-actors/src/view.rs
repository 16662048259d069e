//! What the actors have published: `GET`s read it without asking anyone.

use std::sync::Arc;
use std::time::Duration;

use store::Store;
use vm_core::{DriverName, Isolation, VmId};
use vm_engine::Driver;
use vm_engine::network::{NetworkTraffic, TrafficView};
use vmm_api_core::{CapacityView, ImageView, PoolStock, PoolView, SharedImages};

use crate::counters::{CountersView, VmCounters};
use crate::images::{HostView, ImageFailure, Images};
use crate::registry::{RegisteredVm, VmRegistry};
use crate::scheduler::SchedulerResources;
use crate::settings::VmSettings;
use crate::warm_pool::WarmPool;

/// A read view of a VM manager. Cheap to clone.
#[derive(Clone)]
pub struct VmManagerView {
    registry: Arc<VmRegistry>,
    warm_pool: Arc<WarmPool>,
    counters: Arc<VmCounters>,
    traffic: Arc<NetworkTraffic>,
    images: Arc<dyn Images>,
    driver: Arc<dyn Driver>,
    store: Store,
    settings: Arc<VmSettings>,
}

impl VmManagerView {
    pub(crate) fn new(resources: &SchedulerResources) -> Self {
        Self {
            registry: Arc::clone(&resources.registry),
            warm_pool: Arc::clone(&resources.warm_pool),
            counters: Arc::clone(&resources.counters),
            traffic: Arc::clone(&resources.provisioner.traffic),
            images: Arc::clone(&resources.images),
            driver: Arc::clone(&resources.provisioner.driver),
            store: resources.store.clone(),
            settings: Arc::clone(&resources.settings),
        }
    }

    /// The VM of this id.
    #[must_use]
    pub fn vm(&self, id: &VmId) -> Option<RegisteredVm> {
        self.registry.get(id)
    }

    /// All VMs, ordered by id.
    #[must_use]
    pub fn vms(&self) -> Vec<RegisteredVm> {
        self.registry.list()
    }

    /// Clones that wait, those that should, and VMs given out.
    #[must_use]
    pub fn pool(&self) -> PoolView {
        let (ready, target) = self.warm_pool.counts(self.settings.pool.clones);
        let in_use = self.registry.in_use(0).vms as usize;
        PoolView {
            ready,
            target,
            in_use,
        }
    }

    /// What VMs may use of the host, and what of it is free.
    #[must_use]
    pub fn capacity(&self) -> CapacityView {
        let most = self.settings.capacity;
        let overhead_mib = self.driver.overhead_mib();
        let used = self.registry.in_use(overhead_mib);
        let free_vcpus = most.vcpus.saturating_sub(used.vcpus);
        CapacityView {
            vms: most.vms,
            // Each takes a processor at least; earlier clients know of VMs only.
            free_vms: most.vms.saturating_sub(used.vms).min(free_vcpus),
            mem_mib: most.mem_mib,
            free_mem_mib: most.mem_mib.saturating_sub(used.mem_mib),
            overhead_mib,
            vcpus: most.vcpus,
            free_vcpus,
        }
    }

    /// What there is of each kind of VM: templates, and clones that wait.
    #[must_use]
    pub fn stock(&self) -> Vec<PoolStock> {
        self.warm_pool.stock()
    }

    /// What VMs can be made of. Reads a folder.
    ///
    /// # Errors
    /// See [`ImageFailure`].
    pub fn images(&self) -> Result<Vec<ImageView>, ImageFailure> {
        self.images.list()
    }

    /// Images that are shared with other managers, where they are. Reads a folder.
    #[must_use]
    pub fn shared_images(&self) -> Option<SharedImages> {
        self.images.shared()
    }

    /// Whether VMs can be had, and what is known of the host.
    #[must_use]
    pub fn host(&self) -> HostView {
        self.images.host()
    }

    /// What runs VMs.
    #[must_use]
    pub fn driver(&self) -> DriverName {
        self.driver.name()
    }

    /// What separates them from the host.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.driver.isolation()
    }

    /// What has happened since the start.
    #[must_use]
    pub fn counters(&self) -> CountersView {
        self.counters.view()
    }

    /// What went through the networks of VMs.
    #[must_use]
    pub fn traffic(&self) -> TrafficView {
        self.traffic.view()
    }

    /// Whether the store works, as a condition of a server's readiness.
    pub fn store_condition(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<> {
        self.store.condition()
    }

    /// The longest that anybody holds a VM: nothing in it takes longer.
    #[must_use]
    pub fn longest_hold(&self) -> Duration {
        self.settings.lease.total
    }
}

impl std::fmt::Debug for VmManagerView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VmManagerView")
            .field("driver", &self.driver())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
