//! A request for a VM: of one host after the other, until there is one, or its time is over.

use std::time::Duration;

use http_clients::vmm::{AllocationView, NewVm, VmmClient, VmmError};
use tokio::time::Instant;
use vmm_api_core::MachineType;
use vmm_api_core::placement::{HostRejection, Placement};

use crate::vm_hosts::held_vm::{HeldVm, LEASE};
use crate::vm_hosts::registry::VmHosts;
use crate::vm_hosts::slot::HostSlot;

/// Longest wait for one answer to a request for a VM.
const CREATE_TIMEOUT: Duration = Duration::from_secs(120);
/// The first pause between two rounds of questions, and the longest that we choose.
const MIN_ROUND_INTERVAL: Duration = Duration::from_millis(500);
const MAX_ROUND_INTERVAL: Duration = Duration::from_secs(10);
/// Keys that one order may use up beside its own.
const MAX_FURTHER_KEYS: u32 = 3;
/// The longest pause that a manager can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Who wants a VM, and who is asked.
#[derive(Debug, Clone)]
pub struct VmRequest {
    /// The same key gives the same VM.
    pub key: String,
    /// Whose work it is, as `owner/name`: spread over the hosts.
    pub repository: String,
    /// Who is asked; told why there is none, and when one could not be given back.
    pub hosts: VmHosts,
}

/// Why there is no VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoVm {
    /// What the hosts said, or why they were not asked.
    pub reason: String,
    /// Whether asking again can help.
    pub is_temporary: bool,
    /// No host has failed: they have no room, or take no jobs.
    pub is_full: bool,
    /// When to ask again.
    after: Option<Duration>,
}

impl VmRequest {
    /// Asks until there is a VM, until asking again cannot help, or until `deadline`. `told` hears
    /// why there is none yet, once for each reason.
    ///
    /// # Errors
    /// What the managers said last.
    pub async fn ask_until(
        &self,
        machine: &MachineType,
        deadline: Instant,
        mut told: impl AsyncFnMut(&NoVm),
    ) -> Result<HeldVm, NoVm> {
        let mut pause = MIN_ROUND_INTERVAL;
        let mut last_reason = String::new();
        loop {
            let changed = self.hosts.changed();
            let mut list = self.hosts.list_changes();
            let none = match self.ask_hosts(machine).await {
                Ok(vm) => return Ok(vm),
                Err(none) => none,
            };
            if !none.is_temporary || Instant::now() >= deadline {
                return Err(none);
            }
            if none.reason != last_reason {
                told(&none).await;
                last_reason.clone_from(&none.reason);
            }
            let wait = none.after.unwrap_or(pause).min(LONGEST_WAIT);
            pause = (pause * 2).min(MAX_ROUND_INTERVAL);
            if self.hosts.count() > 1 {
                // Room on any of them will do.
                let _ = tokio::time::timeout(wait, changed).await;
            } else {
                // The only host says itself when to ask again; another one is asked at once.
                let _ = tokio::time::timeout(wait, list.changed()).await;
            }
        }
    }

    /// Asks each host that may have room, the best first; of several not those that do not answer,
    /// which would only cost time: their watcher says when they do.
    async fn ask_hosts(&self, machine: &MachineType) -> Result<HeldVm, NoVm> {
        let mut placement = self.hosts.place(machine, &self.repository);
        if self.hosts.count() == 1 {
            // It has a queue of its own.
            placement.order.append(&mut placement.full);
        }
        let is_doubtful = placement.retry_images();
        let mut none = self.without_asking(&placement);
        for index in placement.order {
            let name = self.hosts.name(index);
            if let Some(trouble) = self.hosts.known_trouble(index) {
                none.pass_over(&self.hosts.labelled(&name, &trouble));
                continue;
            }
            let slot = HostSlot::take(&self.hosts, index, machine, &self.repository);
            let vmm = self.hosts.client(index);
            let answer = tokio::select! {
                biased;
                answer = self.ask(&vmm, &machine.vm) => answer,
                // Another host may have room; a VM that is made all the same is given back.
                trouble = self.hosts.silence(index) => {
                    slot.fail();
                    none.pass_over(&self.hosts.labelled(&name, &trouble));
                    continue;
                }
            };
            match answer {
                Ok(vm) => {
                    self.hosts.record_trouble(index, None);
                    let known = (vm.id, vm.isolation);
                    return Ok(HeldVm::new(&self.hosts, (index, slot), known, machine));
                }
                Err(error) if is_of_later_version(&error) => {
                    slot.fail();
                    let version = self.hosts.version(index).unwrap_or_default();
                    let said = format!(
                        "its VM manager {version} is older than this program and does not know \
                         all that was asked ({error}): upgrade VM managers first"
                    );
                    none.pass_over(&self.hosts.labelled(&name, &said));
                }
                Err(error) => {
                    slot.fail();
                    let is_full = matches!(error, VmmError::Full { .. });
                    // That it cannot look for an image now is nothing that other jobs mind.
                    if error.is_temporary() && !is_full && !is_doubtful {
                        self.hosts.record_trouble(index, Some(error.to_string()));
                    }
                    none.add(&self.hosts.labelled(&name, &error.to_string()), &error);
                }
            }
        }
        Err(none)
    }

    async fn ask(&self, vmm: &VmmClient, vm: &NewVm) -> Result<AllocationView, VmmError> {
        let vm = NewVm {
            lease_s: Some(LEASE.as_secs()),
            ..vm.clone()
        };
        let mut asked = vmm.create(&self.key, &vm, CREATE_TIMEOUT).await;
        for number in 1..=MAX_FURTHER_KEYS {
            // The VM of this key has ended, as one does whose answer was lost for longer than a
            // lease: the same order with another key.
            if !matches!(asked, Err(VmmError::NotFound(_))) {
                break;
            }
            let key = format!("{}+{number}", self.key);
            asked = vmm.create(&key, &vm, CREATE_TIMEOUT).await;
        }
        asked
    }

    /// What the hosts that are not asked are not asked for.
    fn without_asking(&self, placement: &Placement) -> NoVm {
        let hosts = &self.hosts;
        let full = placement.full.iter();
        let full = full.map(|index| format!("{}: it has no room now", hosts.name(*index)));
        let unfit = placement.unfit.iter();
        let unfit = unfit.map(|(index, why)| format!("{}: {why}", hosts.name(*index)));
        let mut reasons: Vec<String> = full.chain(unfit).collect();
        if hosts.count() == 0 {
            reasons.push("no host of VMs is listed".to_owned());
        }
        let may_pass = |(_, why): &(usize, _)| HostRejection::is_temporary(why);
        NoVm {
            reason: reasons.join("; "),
            is_temporary: !placement.full.is_empty() || placement.unfit.iter().any(may_pass),
            is_full: true,
            after: None,
        }
    }
}

impl NoVm {
    fn with_reason(&mut self, said: &str) {
        if !self.reason.is_empty() {
            self.reason.push_str("; ");
        }
        self.reason.push_str(said);
    }

    /// One host more is not asked now.
    fn pass_over(&mut self, said: &str) {
        self.with_reason(said);
        self.is_temporary = true;
        self.is_full = false;
    }

    /// One host more has none.
    fn add(&mut self, said: &str, error: &VmmError) {
        self.with_reason(said);
        self.is_temporary |= error.is_temporary();
        match error {
            VmmError::Full { after, .. } => {
                self.after = self.after.into_iter().chain(*after).min();
            }
            _ => self.is_full = false,
        }
    }
}

/// Whether a manager knows less than was asked of it: requests are refused for fields that it does
/// not know.
fn is_of_later_version(error: &VmmError) -> bool {
    matches!(error, VmmError::Refused(reason) if reason.contains("unknown field"))
}

#[cfg(test)]
mod tests;
