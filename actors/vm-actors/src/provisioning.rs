//! How VMs are provisioned: woken from the pool, cloned, or booted. Blocks.

use std::sync::Arc;
use std::time::Duration;

use vm_core::{VmId, VmSource, VmSpec};
use vm_engine::image::Image;
use vm_engine::network::NetworkTraffic;
use vm_engine::{
    CloneRequest, Driver, DriverError, Identity, Machine, OnMachineEvent, StartRequest, Template,
};

use crate::entry::VmEntry;
use crate::network;
use crate::relay::EventRelay;
use crate::settings::VmSettings;
use crate::warm_pool::{PooledClone, VmOrigin};

/// What a VM is made from.
pub(crate) struct ProvisionPlan {
    /// The best there was.
    pub(crate) origin: VmOrigin,
    /// Its disk.
    pub(crate) image: Arc<Image>,
}

/// A VM that can be given work.
pub(crate) struct ProvisionedVm {
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) relay: Arc<EventRelay>,
    pub(crate) source: VmSource,
}

impl ProvisionPlan {
    /// Where the VM comes from, unless that fails.
    pub(crate) fn source(&self) -> VmSource {
        match self.origin {
            VmOrigin::PooledClone(_) => VmSource::Pool,
            VmOrigin::Template(_) => VmSource::Clone,
            VmOrigin::Image => VmSource::Cold,
        }
    }
}

/// Makes VMs. Calls block.
#[derive(Clone)]
pub(crate) struct Provisioner {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) traffic: Arc<NetworkTraffic>,
    pub(crate) settings: Arc<VmSettings>,
}

impl Provisioner {
    /// Makes a VM, with the network it asks for. What waits in the pool is only faster: where it
    /// fails, the VM is booted.
    pub(crate) fn provision(
        &self,
        plan: ProvisionPlan,
        entry: &VmEntry,
    ) -> Result<ProvisionedVm, DriverError> {
        let vm = self.start(plan, &entry.id, &entry.spec)?;
        let machine = vm.machine.as_ref();
        let driver = self.driver.name();
        let (settings, traffic) = (&self.settings, &self.traffic);
        let opened = network::open(
            machine,
            &entry.spec,
            &entry.refused,
            settings,
            traffic,
            driver,
        );
        if let Err(error) = opened {
            discard(machine);
            return Err(error);
        }
        Ok(vm)
    }

    fn start(
        &self,
        plan: ProvisionPlan,
        id: &VmId,
        spec: &VmSpec,
    ) -> Result<ProvisionedVm, DriverError> {
        let deadline = self.settings.deadlines.boot;
        let source = plan.source();
        let cloned = match plan.origin {
            VmOrigin::PooledClone(pooled) => Some(wake(pooled, id, deadline)),
            VmOrigin::Template(template) => Some(clone(template.as_ref(), id, deadline)),
            VmOrigin::Image => None,
        };
        match cloned {
            Some(Ok(PooledClone { machine, relay })) => {
                return Ok(ProvisionedVm {
                    machine,
                    relay,
                    source,
                });
            }
            // Booting takes more than a clone does.
            Some(Err(error)) if error.is_shortage() => return Err(error),
            Some(Err(error)) => {
                tracing::warn!(event = "vm.boots_instead", vm = %id, %error, "a clone failed");
            }
            None => {}
        }
        self.boot(id, spec, plan.image)
    }

    fn boot(
        &self,
        id: &VmId,
        spec: &VmSpec,
        image: Arc<Image>,
    ) -> Result<ProvisionedVm, DriverError> {
        let (relay, on_event) = EventRelay::new();
        let machine = self.driver.start(StartRequest {
            id: id.clone(),
            spec: spec.clone(),
            image,
            identity: identity(id),
            boot_deadline: self.settings.deadlines.boot,
            on_event: Box::new(on_event) as OnMachineEvent,
        })?;
        Ok(ProvisionedVm {
            machine,
            relay,
            source: VmSource::Cold,
        })
    }
}

fn wake(pooled: PooledClone, id: &VmId, deadline: Duration) -> Result<PooledClone, DriverError> {
    match pooled.machine.wake(&identity(id), deadline) {
        Ok(_) => Ok(pooled),
        Err(error) => {
            discard(pooled.machine.as_ref());
            Err(error.into())
        }
    }
}

/// Loads a clone; it stays paused.
pub(crate) fn spawn_clone(
    template: &dyn Template,
    id: &VmId,
    deadline: Duration,
) -> Result<PooledClone, DriverError> {
    let (relay, on_event) = EventRelay::new();
    let machine = template.spawn(CloneRequest {
        id: id.clone(),
        deadline,
        on_event,
    })?;
    Ok(PooledClone { machine, relay })
}

fn clone(
    template: &dyn Template,
    id: &VmId,
    deadline: Duration,
) -> Result<PooledClone, DriverError> {
    wake(spawn_clone(template, id, deadline)?, id, deadline)
}

/// Ends what is of no use.
pub(crate) fn discard(machine: &dyn Machine) {
    if let Err(error) = machine.kill() {
        tracing::error!(event = "vm.leaked", vm = %machine.id(), %error);
    }
}

/// Fresh randomness, and a name.
pub(crate) fn identity(id: &VmId) -> Identity {
    let mut seed = [0; 64];
    getrandom::fill(&mut seed).expect("Linux gives random bytes to whoever asks");
    Identity {
        seed,
        hostname: id.to_string(),
    }
}
