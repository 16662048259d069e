//! The VM of a job: asked for, kept by its lease, given back.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use outbound::vmm::{Isolation, NewVm, VmmClient, VmmError};
use tokio::time::sleep;

use crate::service::Leaks;

/// A lease is asked for this long and extended three times in it.
const LEASE: Duration = Duration::from_secs(300);
/// Longest wait for one answer to an order.
const ORDER: Duration = Duration::from_secs(120);

/// A VM that one job has.
pub(crate) struct Machine {
    pub(crate) vmm: VmmClient,
    pub(crate) id: String,
    pub(crate) isolation: Option<Isolation>,
    keeper: tokio::task::JoinHandle<()>,
    returned: Rc<Cell<bool>>,
    leaks: Leaks,
}

/// What a job wants of its machine.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    /// The same key gives the same VM.
    pub(crate) key: String,
    pub(crate) vm: NewVm,
    /// Longest wait for room.
    pub(crate) patience: Duration,
    /// Told when the VM could not be given back.
    pub(crate) leaks: Leaks,
}

impl Machine {
    /// Asks for a VM until there is one, or the patience is over.
    ///
    /// # Errors
    /// What the manager said last.
    pub(crate) async fn allocate(vmm: VmmClient, wish: Wish) -> Result<Self, VmmError> {
        let deadline = tokio::time::Instant::now() + wish.patience;
        let vm = NewVm {
            lease_s: Some(LEASE.as_secs()),
            ..wish.vm
        };
        let mut pause = Duration::from_millis(500);
        let allocated = loop {
            match vmm.create(&wish.key, &vm, ORDER).await {
                Ok(allocated) => break allocated,
                Err(error) if error.is_temporary() && tokio::time::Instant::now() < deadline => {
                    let asked = match &error {
                        VmmError::Full { after, .. } => *after,
                        _ => None,
                    };
                    sleep(asked.unwrap_or(pause).min(Duration::from_secs(30))).await;
                    pause = (pause * 2).min(Duration::from_secs(10));
                }
                Err(error) => return Err(error),
            }
        };
        let (client, id) = (vmm.clone(), allocated.id.clone());
        let keeper = actix_rt::spawn(async move {
            loop {
                sleep(LEASE / 3).await;
                // A VM that is gone shows itself at the next call.
                let _ = client.lease(&id, LEASE.as_secs()).await;
            }
        });
        Ok(Self {
            vmm,
            id: allocated.id,
            isolation: allocated.isolation,
            keeper,
            returned: Rc::new(Cell::new(false)),
            leaks: wish.leaks,
        })
    }

    /// Gives the VM back; it is ended with all that runs in it. When the manager cannot be reached, the lease's end does it.
    pub(crate) async fn give_back(self) {
        self.returned.set(true);
        if let Err(error) = self.vmm.delete(&self.id).await {
            self.leaks.add();
            tracing::warn!(event = "run.vm_not_returned", vm = %self.id, %error, "a VM could not be given back; its lease ends it");
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.keeper.abort();
        if !self.returned.get() {
            // The job was dropped (the runner stops): give it back beside.
            let (vmm, id, leaks) = (self.vmm.clone(), self.id.clone(), self.leaks.clone());
            actix_rt::spawn(async move {
                if vmm.delete(&id).await.is_err() {
                    leaks.add();
                }
            });
        }
    }
}
