//! The VM of a job: asked for, held, given back.

use std::sync::Arc;
use std::time::Duration;

use cluster_actors::vm_hosts::{HeldVm, LEASE, MachineType, NoVm, VmHostView, VmHosts, VmRequest};
use http_clients::vmm::{Isolation, VmmClient};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::checkpoint::Checkpoint;
use super::known_causes::KnownCauses;
use super::log_writer::LogWriter;
use super::step_user::MachineUser;
use crate::kept::TakenVm;
use crate::log::LineKind;

/// Memory of a machine with a hosted label where nobody has configured it.
const HOSTED_MIB: u32 = 4096;
/// The same where no host says that it has as much.
const HOSTED_LEAST_MIB: u32 = 1024;
/// Its disk: of the image `full` 14 GiB are free, as GitHub's machines have it. What is not written
/// costs nothing.
const HOSTED_DISK_MIB: u32 = 18_432;
/// The same where the manager allows no more.
const HOSTED_LEAST_DISK_MIB: u32 = 8192;
/// A wait that is not worth a line: most machines take seconds.
const QUIET_WAIT: Duration = Duration::from_secs(10);
/// Tars on their way at once.
const MAX_TRANSFERS: usize = 4;

/// A VM that one job has.
pub(crate) struct JobMachine {
    pub(crate) vmm: VmmClient,
    pub(crate) id: String,
    vm: HeldVm,
    transfers: Arc<Semaphore>,
    /// What its steps were told of their failures.
    pub(super) causes: Mutex<KnownCauses>,
    /// Who its steps are.
    pub(super) user: MachineUser,
    /// It was kept for people before.
    _taken: Option<TakenVm>,
}

/// What a job wants of its machine.
#[derive(Debug, Clone)]
pub(crate) struct MachineRequest {
    /// Who is asked, for whom.
    pub(crate) vm: VmRequest,
    pub(crate) machine: MachineType,
    /// What is asked for before that.
    pub(crate) hosted: Option<MachineType>,
    /// The label that it stands for, where nobody expects it by the label's name.
    pub(crate) unlisted: Option<String>,
    /// Longest wait for room.
    pub(crate) timeout: Duration,
}

impl JobMachine {
    /// Asks for a VM, of one host after the other, until there is one, or its time is over; says
    /// why there is none, once for each reason.
    ///
    /// # Errors
    /// What the managers said last.
    pub(crate) async fn allocate(request: MachineRequest, log: &LogWriter) -> Result<Self, NoVm> {
        let place = request.vm.hosts.enqueue();
        let told = async {
            tokio::time::sleep(QUIET_WAIT).await;
            log.info(0, &waiting(&request.vm.hosts, place.place()))
                .await;
            std::future::pending().await
        };
        tokio::select! {
            asked = Self::ask(&request, log) => asked,
            never = told => never,
        }
    }

    async fn ask(request: &MachineRequest, log: &LogWriter) -> Result<Self, NoVm> {
        let deadline = Instant::now() + request.timeout;
        let told = async |none: &NoVm| report_waiting(log, request, none).await;
        if let Some(hosted) = &request.hosted {
            let most = request.vm.hosts.most_memory(&hosted.host_labels);
            let mut wanted = hosted_machine(hosted, most, HOSTED_DISK_MIB);
            let mut asked = request.vm.ask_until(&wanted, deadline, told).await;
            // The manager may allow less to a single VM.
            for most in [most, None] {
                let less = hosted_machine(hosted, most, HOSTED_LEAST_DISK_MIB);
                if asked.as_ref().is_err_and(|none| !none.is_temporary) && less != wanted {
                    asked = request.vm.ask_until(&less, deadline, told).await;
                    wanted = less;
                }
            }
            match asked {
                Ok(vm) => {
                    if let Some(label) = &request.unlisted {
                        let text = format!(
                            "no machine is configured for the label {label}: it has the image `full`, as at Gitea and Forgejo it has one with the usual programs (`machines.{label}` of the runner's configuration says otherwise)"
                        );
                        log.info(0, &text).await;
                    }
                    return Ok(Self::new(vm, None));
                }
                Err(none) if none.is_temporary => return Err(none),
                Err(none) => {
                    let text = format!(
                        "its label stands for the image `full` (`vm-manager image build full`), which is not to be had, so the machine is the one for all labels: {}",
                        none.reason
                    );
                    log.info(0, &text).await;
                }
            }
        }
        let asked = request.vm.ask_until(&request.machine, deadline, told).await;
        asked.map(|vm| Self::new(vm, None))
    }

    fn new(vm: HeldVm, taken: Option<TakenVm>) -> Self {
        Self {
            vmm: vm.vmm.clone(),
            id: vm.id.clone(),
            vm,
            transfers: Arc::new(Semaphore::new(MAX_TRANSFERS)),
            causes: Mutex::default(),
            user: MachineUser::default(),
            _taken: taken,
        }
    }

    /// The name of its host.
    pub(crate) fn host(&self) -> &str {
        &self.vm.host
    }

    /// The name of its host, and which host of that name it is, for records.
    pub(crate) fn recorded_host(&self) -> (String, String) {
        (self.vm.host.clone(), self.vm.place.clone())
    }

    /// What separates it from its host.
    pub(crate) fn isolation(&self) -> Option<Isolation> {
        self.vm.isolation
    }

    /// Its memory in MiB.
    pub(crate) fn mem_mib(&self) -> u32 {
        self.vm.mem_mib
    }

    /// Room for one more tar on its way to the VM or out of it: the manager refuses more than four
    /// at once, and steps run beside each other.
    pub(crate) async fn transfer(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.transfers).acquire_owned().await.ok()
    }

    /// Leaves the VM as it is, with the lease that somebody else has given it.
    pub(crate) fn detach(self) {
        self.vm.detach();
    }

    /// Gives the VM back.
    pub(crate) async fn release(self) {
        self.vm.release().await;
    }
}

/// The machine of a hosted label with memory and disk where nobody has configured them: most of
/// what such jobs do fits, and only what is used of it is taken from the host; not more memory than
/// a host has for all.
fn hosted_machine(hosted: &MachineType, most_mib: Option<u64>, disk_mib: u32) -> MachineType {
    let known = most_mib.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
    let mem_mib = known.map_or(HOSTED_LEAST_MIB, |most| {
        most.clamp(HOSTED_LEAST_MIB, HOSTED_MIB)
    });
    let mut machine = hosted.clone();
    machine.vm.mem_mib.get_or_insert(mem_mib);
    machine.vm.disk_mib.get_or_insert(disk_mib);
    machine
}

impl MachineRequest {
    /// The VM that was kept of an earlier attempt, as it was before the step; it runs.
    ///
    /// # Errors
    /// Why the job cannot have it, for its log.
    pub(crate) async fn resume(
        &self,
        taken: TakenVm,
        checkpoint: &Checkpoint,
    ) -> Result<JobMachine, String> {
        let (job, hosts) = (taken.job(), &self.vm.hosts);
        let found = hosts.find(Some(&job.host), Some(&job.place));
        let index = found.filter(|index| hosts.is_listed(*index));
        let index = index.ok_or_else(|| {
            format!(
                "its host {} is not configured, or at another address",
                job.host
            )
        })?;
        let mut machine = self.machine.clone();
        machine.vm.mem_mib = Some(u32::try_from(job.memory_mib).unwrap_or(u32::MAX));
        let known = (job.vm.clone(), job.isolation);
        let vm = HeldVm::take_over(hosts, index, known, (&machine, &self.vm.repository));
        let machine = JobMachine::new(vm, Some(taken));
        let (vmm, id) = (&machine.vmm, &machine.id);
        let restored = async {
            vmm.lease(id, LEASE.as_secs()).await?;
            vmm.restore_snapshot(id, &checkpoint.snapshot).await
        };
        match restored.await {
            Ok(()) => Ok(machine),
            Err(error) => {
                machine.release().await;
                Err(error.to_string())
            }
        }
    }
}

/// What is known of the hosts while a job waits for a VM.
fn waiting(hosts: &VmHosts, place: usize) -> String {
    let hosts: Vec<String> = hosts.list().iter().map(room).collect();
    format!(
        "waits for a VM, place {place} among this runner's jobs: {}",
        hosts.join("; ")
    )
}

fn room(host: &VmHostView) -> String {
    let mut text = format!(
        "{}: {} jobs of this runner have a VM there or ask for one",
        host.name, host.jobs
    );
    let facts = host.facts.as_ref();
    if let Some((free, all)) = facts.and_then(|facts| facts.free_mem_mib.zip(facts.mem_mib)) {
        text += &format!(", {free} of {all} MiB memory free");
    }
    if let Some((free, all)) = facts.and_then(|facts| facts.free_vcpus.zip(facts.vcpus)) {
        text += &format!(", {free} of {all} processors free");
    }
    if let Some(free) = facts.and_then(|facts| facts.free_vms) {
        text += &format!(", room for {free} more");
    }
    text
}

/// Says why a job has no VM yet: in the run's log, and to the operator. A manager that is full is
/// no fault.
async fn report_waiting(log: &LogWriter, request: &MachineRequest, none: &NoVm) {
    let most = config_core::format_duration(request.timeout);
    let (reason, order) = (&none.reason, &request.vm.key);
    let text = format!("waiting for a VM, {most} at most: {reason}");
    log.line(0, LineKind::Warning, &text).await;
    if none.is_full {
        tracing::info!(event = "run.vm_waited_for", %order, reason, "a job waits for room on the VM hosts");
        return;
    }
    tracing::warn!(event = "run.vm_waited_for", %order, reason, "a job waits for a VM; [vm_hosts], or VMM_API_URL and VMM_AUTH_TOKEN, say which managers are asked");
}

#[cfg(test)]
mod tests {
    use http_clients::vmm::NewVm;

    use super::*;

    #[test]
    fn i17_a_wait_for_a_vm_says_what_the_hosts_have() {
        let facts = |free_vms| {
            serde_json::json!({
                "isolation": "emulated-vm", "driver": "qemu", "version": "1", "images": [],
                "fetchable": [], "free_vms": free_vms, "free_mem_mib": 96, "mem_mib": 2048,
            })
        };
        let host = |name: &str, facts| {
            let view = serde_json::json!({
                "name": name, "url": "http://x", "labels": [], "jobs": 2, "facts": facts,
            });
            serde_json::from_value::<VmHostView>(view).unwrap()
        };
        assert_eq!(
            room(&host("east", facts(0))),
            "east: 2 jobs of this runner have a VM there or ask for one, 96 of 2048 MiB memory free, room for 0 more"
        );
        let unasked = host("west", serde_json::Value::Null);
        assert_eq!(
            room(&unasked),
            "west: 2 jobs of this runner have a VM there or ask for one"
        );
    }

    /// A hosted label had 1 GiB whatever its host has, and `npm install` was killed.
    #[test]
    fn i17_a_hosted_label_has_memory_as_its_host_has_it() {
        let free = MachineType::from(NewVm::default());
        for (most, memory) in [
            (None, 1024),
            (Some(512), 1024),
            (Some(3000), 3000),
            (Some(4096), 4096),
            (Some(1 << 40), 4096),
            (Some(262_144), 4096),
        ] {
            let vm = hosted_machine(&free, most, HOSTED_DISK_MIB).vm;
            assert_eq!(vm.mem_mib, Some(memory));
        }
        let set = MachineType::from(NewVm {
            mem_mib: Some(2048),
            disk_mib: Some(4096),
            ..NewVm::default()
        });
        let found = hosted_machine(&set, Some(262_144), HOSTED_DISK_MIB);
        assert_eq!(found, set);
    }

    /// It had 8 GiB, of which the image `full` leaves 5.
    #[test]
    fn i17_of_the_disk_of_a_hosted_label_14_gib_are_free() {
        let free = MachineType::from(NewVm::default());
        let disk = hosted_machine(&free, None, HOSTED_DISK_MIB).vm.disk_mib;
        // One 64th is of inodes, and the image holds 3.0 GB.
        let disk = u64::from(disk.unwrap()) << 20;
        assert!(disk - disk / 64 - 3_000_000_000 >= 14 << 30, "{disk}");
    }
}
