//! The VM of a job: asked for, kept by its lease, given back.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use http_clients::vmm::{Isolation, NewVm, VmmClient, VmmError};
use tokio::time::sleep;

use super::log_writer::LogWriter;
use crate::log::LineKind;
use crate::vmm_status::VmmStatus;

/// A lease is asked for this long and extended three times in it.
const LEASE: Duration = Duration::from_secs(300);
/// Longest wait for one answer to a request for a VM.
const CREATE_TIMEOUT: Duration = Duration::from_secs(120);

/// A VM that one job has.
pub(crate) struct Machine {
    pub(crate) vmm: VmmClient,
    pub(crate) id: String,
    pub(crate) isolation: Option<Isolation>,
    /// Its memory.
    pub(crate) mem_mib: u32,
    lease: tokio::task::JoinHandle<()>,
    returned: Rc<Cell<bool>>,
    status: VmmStatus,
}

/// What a job wants of its machine.
#[derive(Debug, Clone)]
pub(crate) struct MachineRequest {
    /// The same key gives the same VM.
    pub(crate) key: String,
    pub(crate) vm: NewVm,
    /// What is asked for before that.
    pub(crate) hosted_vm: Option<NewVm>,
    /// Longest wait for room.
    pub(crate) timeout: Duration,
    /// Told why there is none, and when one could not be given back.
    pub(crate) status: VmmStatus,
}

impl Machine {
    /// Asks for a VM until there is one, or its time is over; says why there is none, once for each
    /// reason.
    ///
    /// # Errors
    /// What the manager said last.
    pub(crate) async fn allocate(
        vmm: VmmClient,
        request: MachineRequest,
        log: &LogWriter,
    ) -> Result<Self, VmmError> {
        let deadline = tokio::time::Instant::now() + request.timeout;
        let leased = |vm: &NewVm| NewVm {
            lease_s: Some(LEASE.as_secs()),
            ..vm.clone()
        };
        let mut hosted = request.hosted_vm.is_some();
        let mut vm = leased(request.hosted_vm.as_ref().unwrap_or(&request.vm));
        let mut pause = Duration::from_millis(500);
        let mut last_reason = String::new();
        let allocated = loop {
            match vmm.create(&request.key, &vm, CREATE_TIMEOUT).await {
                Ok(allocated) => break allocated,
                Err(error) if error.is_temporary() && tokio::time::Instant::now() < deadline => {
                    let reason = error.to_string();
                    if !matches!(error, VmmError::Full { .. }) {
                        request.status.set_trouble(Some(reason.clone()));
                    }
                    if reason != last_reason {
                        report_waiting(log, &request, &error).await;
                        last_reason = reason;
                    }
                    let asked = match &error {
                        VmmError::Full { after, .. } => *after,
                        _ => None,
                    };
                    sleep(asked.unwrap_or(pause).min(Duration::from_secs(30))).await;
                    pause = (pause * 2).min(Duration::from_secs(10));
                }
                Err(error) if hosted && !error.is_temporary() => {
                    hosted = false;
                    vm = leased(&request.vm);
                    let text = format!(
                        "its label stands for the image `full` (`vm-manager image build full`), which is not to be had, so the machine is the one for all labels: {error}"
                    );
                    log.info(0, &text).await;
                }
                Err(error) => return Err(error),
            }
        };
        request.status.set_trouble(None);
        let (client, id) = (vmm.clone(), allocated.id.clone());
        let lease = actix_rt::spawn(async move {
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
            mem_mib: vm.mem_mib.unwrap_or(NewVm::MEM_MIB),
            lease,
            returned: Rc::new(Cell::new(false)),
            status: request.status,
        })
    }

    /// Leaves the VM as it is, with the lease that somebody else has given it.
    pub(crate) fn leave(self) {
        self.returned.set(true);
    }

    /// Gives the VM back; it is ended with all that runs in it. When the manager cannot be reached,
    /// the lease's end does it.
    pub(crate) async fn give_back(self) {
        self.returned.set(true);
        if let Err(error) = self.vmm.delete(&self.id).await {
            self.status.report_leak();
            tracing::warn!(event = "run.vm_not_returned", vm = %self.id, %error, "a VM could not be given back; its lease ends it");
        }
    }
}

/// Says why a job has no VM yet: in the run's log, and to the operator. A manager that is full is
/// no fault.
async fn report_waiting(log: &LogWriter, request: &MachineRequest, error: &VmmError) {
    let most = config_core::format_duration(request.timeout);
    let text = format!("waiting for a VM, {most} at most: {error}");
    log.line(0, LineKind::Warning, &text).await;
    if let VmmError::Full { .. } = error {
        tracing::info!(event = "run.vm_waited_for", order = %request.key, %error, "a job waits for room at the VM manager");
        return;
    }
    tracing::warn!(event = "run.vm_waited_for", order = %request.key, %error, "a job waits for a VM; VMM_API_URL and VMM_AUTH_TOKEN say which manager is asked");
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.lease.abort();
        if !self.returned.get() {
            // The job was dropped (the runner stops): give it back beside.
            let (vmm, id, status) = (self.vmm.clone(), self.id.clone(), self.status.clone());
            actix_rt::spawn(async move {
                if vmm.delete(&id).await.is_err() {
                    status.report_leak();
                }
            });
        }
    }
}
