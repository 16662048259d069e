//! The VM of a job: asked for, kept by its lease, given back.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http_clients::vmm::{Allocated, Isolation, NewVm, VmmClient, VmmError};
use runner_core::placement::Placement;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::checkpoint::Checkpoint;
use super::log_writer::LogWriter;
use crate::kept::TakenVm;
use crate::log::LineKind;
use crate::vm_hosts::{HostSlot, MachineType, VmHosts};

/// A lease is asked for this long and extended three times in it.
const LEASE: Duration = Duration::from_secs(300);
/// Longest wait for one answer to a request for a VM.
const CREATE_TIMEOUT: Duration = Duration::from_secs(120);

/// Tars on their way at once.
const MAX_TRANSFERS: usize = 4;

/// A VM that one job has.
pub(crate) struct Machine {
    pub(crate) vmm: VmmClient,
    pub(crate) id: String,
    /// The name of its host.
    pub(crate) host: String,
    pub(crate) isolation: Option<Isolation>,
    /// Its memory.
    pub(crate) mem_mib: u32,
    transfers: Arc<Semaphore>,
    lease: tokio::task::JoinHandle<()>,
    /// It was kept for people before.
    _taken: Option<TakenVm>,
    returned: Rc<Cell<bool>>,
    hosts: VmHosts,
    index: usize,
    _slot: HostSlot,
}

/// What a job wants of its machine.
#[derive(Debug, Clone)]
pub(crate) struct MachineRequest {
    /// The same key gives the same VM.
    pub(crate) key: String,
    pub(crate) machine: MachineType,
    /// What is asked for before that.
    pub(crate) hosted: Option<MachineType>,
    /// Whose job it is.
    pub(crate) repository: String,
    /// Longest wait for room.
    pub(crate) timeout: Duration,
    /// Who is asked; told why there is none, and when one could not be given back.
    pub(crate) hosts: VmHosts,
}

/// Why there is no machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoMachine {
    pub(crate) reason: String,
    /// Whether asking again can help.
    pub(crate) is_temporary: bool,
    /// No host has failed: they have no room, or take no jobs.
    is_full: bool,
    /// When to ask again.
    after: Option<Duration>,
}

impl Machine {
    /// Asks for a VM, of one host after the other, until there is one, or its time is over; says
    /// why there is none, once for each reason.
    ///
    /// # Errors
    /// What the managers said last.
    pub(crate) async fn allocate(
        request: MachineRequest,
        log: &LogWriter,
    ) -> Result<Self, NoMachine> {
        let deadline = tokio::time::Instant::now() + request.timeout;
        let mut pause = Duration::from_millis(500);
        let mut last_reason = String::new();
        let mut hosted = request.hosted.as_ref();
        loop {
            let changed = request.hosts.changed();
            let wanted = hosted.unwrap_or(&request.machine);
            let none = match request.ask_hosts(wanted).await {
                Ok(machine) => return Ok(machine),
                Err(none) => none,
            };
            if hosted.is_some() && !none.is_temporary {
                hosted = None;
                let text = format!(
                    "its label stands for the image `full` (`vm-manager image build full`), which is not to be had, so the machine is the one for all labels: {}",
                    none.reason
                );
                log.info(0, &text).await;
                continue;
            }
            if !none.is_temporary || tokio::time::Instant::now() >= deadline {
                return Err(none);
            }
            if none.reason != last_reason {
                report_waiting(log, &request, &none).await;
                last_reason.clone_from(&none.reason);
            }
            let wait = none.after.unwrap_or(pause).min(Duration::from_secs(30));
            pause = (pause * 2).min(Duration::from_secs(10));
            if request.hosts.count() > 1 {
                // Room on any of them will do.
                let _ = tokio::time::timeout(wait, changed).await;
            } else {
                sleep(wait).await;
            }
        }
    }

    /// Room for one more tar on its way to the VM or out of it: the manager refuses more than four
    /// at once, and steps run beside each other.
    pub(crate) async fn transfer(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.transfers).acquire_owned().await.ok()
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
            self.hosts.report_leak(self.index);
            tracing::warn!(event = "run.vm_not_returned", vm = %self.id, %error, "a VM could not be given back; its lease ends it");
        }
    }
}

/// Extends a VM's lease until this is aborted.
fn extend_lease(vmm: &VmmClient, vm: &str) -> tokio::task::JoinHandle<()> {
    let (client, id) = (vmm.clone(), vm.to_owned());
    actix_rt::spawn(async move {
        loop {
            sleep(LEASE / 3).await;
            // A VM that is gone shows itself at the next call.
            let _ = client.lease(&id, LEASE.as_secs()).await;
        }
    })
}

impl MachineRequest {
    /// The VM that was kept of an earlier attempt, as it was before the step; it runs.
    ///
    /// # Errors
    /// Why the job cannot have it, for its log.
    pub(crate) async fn take_up(
        &self,
        taken: TakenVm,
        checkpoint: &Checkpoint,
    ) -> Result<Machine, String> {
        let job = taken.job();
        let index = self.hosts.find(Some(&job.host));
        let index = index.ok_or_else(|| format!("its host {} is not configured", job.host))?;
        let (vmm, id) = (self.hosts.client(index), job.vm.clone());
        let (host, isolation) = (job.host.clone(), job.isolation);
        let mem_mib = u32::try_from(job.memory_mib).unwrap_or(u32::MAX);
        let mut machine = self.machine.clone();
        machine.vm.mem_mib = Some(mem_mib);
        let slot = HostSlot::take(&self.hosts, index, &machine, &self.repository);
        let machine = Machine {
            transfers: Arc::new(Semaphore::new(MAX_TRANSFERS)),
            lease: extend_lease(&vmm, &id),
            vmm,
            id,
            host,
            isolation,
            mem_mib,
            _taken: Some(taken),
            returned: Rc::new(Cell::new(false)),
            hosts: self.hosts.clone(),
            index,
            _slot: slot,
        };
        let (vmm, id) = (&machine.vmm, &machine.id);
        let restored = async {
            vmm.lease(id, LEASE.as_secs()).await?;
            vmm.restore_snapshot(id, &checkpoint.snapshot).await
        };
        match restored.await {
            Ok(()) => Ok(machine),
            Err(error) => {
                machine.give_back().await;
                Err(error.to_string())
            }
        }
    }

    /// Asks each host that may have room, the best first; of several not those that do not answer,
    /// for which it would wait in vain: their watcher says when they do.
    async fn ask_hosts(&self, machine: &MachineType) -> Result<Machine, NoMachine> {
        let mut placement = self.hosts.place(machine, &self.repository);
        if self.hosts.count() == 1 {
            // It has a queue of its own.
            placement.order.append(&mut placement.full);
        }
        let mut none = self.without_asking(&placement);
        for index in &placement.order {
            if let Some(trouble) = self.hosts.known_trouble(*index) {
                none.pass_over(&self.hosts.labelled(self.hosts.name(*index), &trouble));
                continue;
            }
            let slot = HostSlot::take(&self.hosts, *index, machine, &self.repository);
            let vmm = self.hosts.client(*index);
            match self.ask(&vmm, &machine.vm).await {
                Ok(allocated) => {
                    self.hosts.note_trouble(*index, None);
                    let mem_mib = machine.vm.mem_mib.unwrap_or(NewVm::MEM_MIB);
                    let slot = (slot, mem_mib);
                    return Ok(self.keep(vmm, *index, slot, allocated));
                }
                Err(error) => {
                    slot.fail();
                    let is_full = matches!(error, VmmError::Full { .. });
                    if error.is_temporary() && !is_full {
                        self.hosts.note_trouble(*index, Some(error.to_string()));
                    }
                    none.add(
                        &self
                            .hosts
                            .labelled(self.hosts.name(*index), &error.to_string()),
                        &error,
                    );
                }
            }
        }
        Err(none)
    }

    async fn ask(&self, vmm: &VmmClient, vm: &NewVm) -> Result<Allocated, VmmError> {
        let vm = NewVm {
            lease_s: Some(LEASE.as_secs()),
            ..vm.clone()
        };
        vmm.create(&self.key, &vm, CREATE_TIMEOUT).await
    }

    /// What the hosts that are not asked are not asked for.
    fn without_asking(&self, placement: &Placement) -> NoMachine {
        let hosts = &self.hosts;
        let full = placement.full.iter();
        let full = full.map(|index| format!("{}: it has no room now", hosts.name(*index)));
        let unfit = placement.unfit.iter();
        let unfit = unfit.map(|(index, why)| format!("{}: {why}", hosts.name(*index)));
        let reasons: Vec<String> = full.chain(unfit).collect();
        let may_pass = |(_, why): &(usize, _)| runner_core::placement::Unfit::is_temporary(why);
        NoMachine {
            reason: reasons.join("; "),
            is_temporary: !placement.full.is_empty() || placement.unfit.iter().any(may_pass),
            is_full: true,
            after: None,
        }
    }

    fn keep(
        &self,
        vmm: VmmClient,
        index: usize,
        (slot, mem_mib): (HostSlot, u32),
        vm: Allocated,
    ) -> Machine {
        let lease = extend_lease(&vmm, &vm.id);
        Machine {
            vmm,
            id: vm.id,
            host: self.hosts.name(index).to_owned(),
            isolation: vm.isolation,
            mem_mib,
            transfers: Arc::new(Semaphore::new(MAX_TRANSFERS)),
            lease,
            _taken: None,
            returned: Rc::new(Cell::new(false)),
            hosts: self.hosts.clone(),
            index,
            _slot: slot,
        }
    }
}

impl NoMachine {
    fn say(&mut self, said: &str) {
        if !self.reason.is_empty() {
            self.reason.push_str("; ");
        }
        self.reason.push_str(said);
    }

    /// One host more is not asked now.
    fn pass_over(&mut self, said: &str) {
        self.say(said);
        self.is_temporary = true;
        self.is_full = false;
    }

    /// One host more has none.
    fn add(&mut self, said: &str, error: &VmmError) {
        self.say(said);
        self.is_temporary |= error.is_temporary();
        match error {
            VmmError::Full { after, .. } => {
                self.after = self.after.into_iter().chain(*after).min();
            }
            _ => self.is_full = false,
        }
    }
}

/// Says why a job has no VM yet: in the run's log, and to the operator. A manager that is full is
/// no fault.
async fn report_waiting(log: &LogWriter, request: &MachineRequest, none: &NoMachine) {
    let most = config_core::format_duration(request.timeout);
    let reason = &none.reason;
    let text = format!("waiting for a VM, {most} at most: {reason}");
    log.line(0, LineKind::Warning, &text).await;
    if none.is_full {
        tracing::info!(event = "run.vm_waited_for", order = %request.key, reason, "a job waits for room on the VM hosts");
        return;
    }
    tracing::warn!(event = "run.vm_waited_for", order = %request.key, reason, "a job waits for a VM; [vm_hosts], or VMM_API_URL and VMM_AUTH_TOKEN, say which managers are asked");
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.lease.abort();
        if !self.returned.get() {
            // The job was dropped (the runner stops): give it back beside.
            let (vmm, id) = (self.vmm.clone(), self.id.clone());
            let (hosts, index) = (self.hosts.clone(), self.index);
            actix_rt::spawn(async move {
                if vmm.delete(&id).await.is_err() {
                    hosts.report_leak(index);
                }
            });
        }
    }
}
