//! How a VM comes into being: woken from the pool, cloned, or booted. Blocks.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use vm_core::{Source, VmId, VmSpec};
use vm_engine::image::Image;
use vm_engine::{CloneOrder, DriverError, Identity, Machine, OnMachineEvent, StartOrder, Template};

use crate::network;
use crate::relay::Relay;
use crate::settings::Shared;
use crate::shelves::{Pooled, Taken};

/// What a VM is made from.
pub(crate) struct Birth {
    /// The best there was.
    pub(crate) taken: Taken,
    /// Its disk.
    pub(crate) image: Arc<Image>,
}

/// A VM that can be given work.
pub(crate) struct Born {
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) relay: Arc<Relay>,
    pub(crate) source: Source,
}

impl Birth {
    /// Where the VM comes from, unless that fails.
    pub(crate) fn source(&self) -> Source {
        match self.taken {
            Taken::Pooled(_) => Source::Pool,
            Taken::Template(_) => Source::Clone,
            Taken::Nothing => Source::Cold,
        }
    }

    /// Makes the VM `id`, with the network it asks for. What waits in the pool is only faster: where
    /// it fails, the VM is booted.
    pub(crate) fn make(
        self,
        id: &VmId,
        spec: &VmSpec,
        shared: &Shared,
    ) -> Result<Born, DriverError> {
        let born = self.machine(id, spec, shared)?;
        if let Err(error) = network::open(born.machine.as_ref(), spec, shared) {
            discard(born.machine.as_ref());
            return Err(error);
        }
        Ok(born)
    }

    fn machine(self, id: &VmId, spec: &VmSpec, shared: &Shared) -> Result<Born, DriverError> {
        let deadline = shared.settings.deadlines.boot;
        let faster = match self.taken {
            Taken::Pooled(pooled) => Some((wake(pooled, id, deadline), Source::Pool)),
            Taken::Template(template) => {
                Some((clone(template.as_ref(), id, deadline), Source::Clone))
            }
            Taken::Nothing => None,
        };
        match faster {
            Some((Ok((machine, relay)), source)) => {
                return Ok(Born {
                    machine,
                    relay,
                    source,
                });
            }
            // Booting takes more than a clone does.
            Some((Err(error), _)) if error.is_shortage() => return Err(error),
            Some((Err(error), _)) => {
                tracing::warn!(event = "vm.boots_instead", vm = %id, %error, "a clone failed");
            }
            None => {}
        }
        boot(id, spec, self.image, shared, deadline)
    }
}

type Made = (Arc<dyn Machine>, Arc<Relay>);

fn wake(pooled: Pooled, id: &VmId, deadline: Duration) -> Result<Made, DriverError> {
    let Pooled { machine, relay } = pooled;
    match woken(machine.as_ref(), id, deadline) {
        Ok(()) => Ok((machine, relay)),
        Err(error) => {
            discard(machine.as_ref());
            Err(error)
        }
    }
}

fn woken(machine: &dyn Machine, id: &VmId, deadline: Duration) -> Result<(), DriverError> {
    machine.wake(&identity(id)?, deadline)?;
    Ok(())
}

/// Loads a clone; it stays paused.
pub(crate) fn spawn_clone(
    template: &dyn Template,
    id: &VmId,
    deadline: Duration,
) -> Result<Pooled, DriverError> {
    let (relay, on_event) = Relay::new();
    let machine = template.spawn(CloneOrder {
        id: id.clone(),
        deadline,
        on_event,
    })?;
    Ok(Pooled { machine, relay })
}

fn clone(template: &dyn Template, id: &VmId, deadline: Duration) -> Result<Made, DriverError> {
    wake(spawn_clone(template, id, deadline)?, id, deadline)
}

fn boot(
    id: &VmId,
    spec: &VmSpec,
    image: Arc<Image>,
    shared: &Shared,
    boot_deadline: Duration,
) -> Result<Born, DriverError> {
    let (relay, on_event) = Relay::new();
    let order = StartOrder {
        id: id.clone(),
        spec: spec.clone(),
        image,
        identity: identity(id)?,
        boot_deadline,
        on_event: Box::new(on_event) as OnMachineEvent,
    };
    let machine = shared.driver.start(order)?;
    Ok(Born {
        machine,
        relay,
        source: Source::Cold,
    })
}

/// Ends what is of no use.
pub(crate) fn discard(machine: &dyn Machine) {
    if let Err(error) = machine.kill() {
        tracing::error!(event = "vm.leaked", vm = %machine.id(), %error);
    }
}

/// Fresh randomness, and a name.
fn identity(id: &VmId) -> Result<Identity, DriverError> {
    let mut seed = [0; 64];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut seed));
    random.map_err(|source| DriverError::Files {
        what: "read",
        path: "/dev/urandom".into(),
        source,
    })?;
    Ok(Identity {
        seed,
        hostname: id.to_string(),
    })
}
