//! VMs of failed jobs that are kept for a while, so that somebody can open a shell in them.
//!
//! ```text
//! job ends badly ─keep─▶ KeptVms ◀─open, release─ edge        KeptVmWatcher ─tick─▶ KeptVms (deadlines)
//!                           └─ lease, pause, resume, exec ─▶ VM manager
//! ```
//! Which are kept is known to this process alone. After its end they are left over, and end by the
//! rules for such: the garbage collector's, and their leases.

mod error;
mod restore;
mod settings;
mod shell;
mod watcher;

use std::sync::Arc;

use cluster_actors::vm_hosts::VmHosts;
use http_clients::vmm::{Isolation, VmmClient, VmmError};
use parking_lot::Mutex;
use runner_core::retention::{self, KeptTotal, NotKept, SnapshotLimits};
use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::now_ms;
use crate::job::{Checkpoint, ShellEnvironment};
use crate::log::{LineKind, LogLine, Logs};
use crate::settings::RunnerSettings;

pub use error::ShellOpenError;
pub(crate) use restore::{ResumedVm, TakenVm};
pub use settings::KeepSettings;
pub use shell::{ClosingShell, OpenShell, ShellRequest};
pub(crate) use watcher::KeptVmWatcher;

/// How long after its deadline a VM's lease ends, if nobody has given it back by then.
const LEASE_MARGIN_MS: u64 = 60_000;

/// A kept VM, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct KeptVmView {
    /// The run.
    pub run: String,
    /// The job's name.
    pub job: String,
    /// The job in the plan.
    pub key: String,
    /// Which copy of it, from 0.
    pub instance: usize,
    /// The VM's id.
    pub vm: String,
    /// Since when, in milliseconds since the Unix epoch.
    pub since: u64,
    /// Until when it is kept, the same.
    pub until: u64,
    /// Milliseconds from now until then.
    pub left_ms: u64,
    /// It stands still, and is resumed when a shell is opened.
    pub paused: bool,
    /// Shells that are open.
    pub shells: usize,
    /// Its memory in MiB.
    pub memory_mib: u64,
    /// The steps before which it can be again, in their order.
    pub snapshots: Vec<KeptSnapshotView>,
    /// The step before which it is, since somebody has gone back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_step: Option<u32>,
}

/// A snapshot of a kept VM, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct KeptSnapshotView {
    /// The step that came next, by its number.
    pub step: u32,
    /// Its name.
    pub name: String,
    /// Bytes that it takes on the host's disk.
    pub bytes: u64,
}

/// Whose VM is kept, and what a shell in it begins with.
#[derive(Clone)]
pub(crate) struct KeptJob {
    pub(crate) run: String,
    pub(crate) key: String,
    pub(crate) instance: usize,
    pub(crate) name: String,
    pub(crate) vm: String,
    /// The name of its host.
    pub(crate) host: String,
    /// Which host of that name it is.
    pub(crate) place: String,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) memory_mib: u64,
    /// Nothing of a stranger ran in it, or somebody has approved that.
    pub(crate) trusted: bool,
    /// What a shell in it begins with, as the job failed.
    pub(crate) shell: ShellEnvironment,
    /// What it can go back to, the oldest first.
    pub(crate) checkpoints: Arc<[Checkpoint]>,
}

/// A VM that is kept.
#[derive(Clone)]
struct KeptVm {
    job: KeptJob,
    since: u64,
    until: u64,
    paused: bool,
    shells: usize,
    /// The step before which it is, where somebody has gone back.
    at_step: Option<u32>,
    /// Resuming, opening and pausing of this VM follow each other.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The VMs that are kept; clones share them.
#[derive(Clone)]
pub struct KeptVms {
    settings: Arc<RunnerSettings>,
    hosts: VmHosts,
    logs: Logs,
    vms: Arc<Mutex<Vec<KeptVm>>>,
    /// VMs that were kept and have a job again: host and id.
    taken: Arc<Mutex<Vec<(String, String)>>>,
}

impl KeptVms {
    pub(crate) fn new(settings: &Arc<RunnerSettings>, hosts: &VmHosts, logs: &Logs) -> Self {
        Self {
            settings: Arc::clone(settings),
            hosts: hosts.clone(),
            logs: logs.clone(),
            vms: Arc::default(),
            taken: Arc::default(),
        }
    }

    /// Whether shells have variables whose values hold secrets.
    pub(crate) fn shows_secrets(&self) -> bool {
        self.settings.keep.secrets
    }

    /// What the snapshots of one job may cost.
    pub(crate) fn snapshot_limits(&self) -> SnapshotLimits {
        self.settings.keep.snapshot_limits
    }

    fn now(&self) -> u64 {
        (self.settings.keep.now_ms)()
    }

    /// Keeps a VM, if the budget allows it: its lease reaches to its deadline, and it stands still.
    /// Gives what is to be said about it; the VM is not kept when that is an error.
    pub(crate) async fn keep(&self, vmm: &VmmClient, job: KeptJob) -> Result<String, String> {
        let (run, name, vm) = (job.run.clone(), job.name.clone(), job.vm.clone());
        let back = job.checkpoints.last().map(|last| last.step);
        let until = self.admit(job).map_err(|refused| refused.to_string())?;
        let lease_s = (until.saturating_sub(self.now()) + LEASE_MARGIN_MS).div_ceil(1000);
        if let Err(error) = vmm.lease(&vm, lease_s).await {
            self.forget(&vm);
            return Err(format!("its lease cannot be extended: {error}"));
        }
        let paused = vmm.pause(&vm, true).await;
        self.change(&vm, |kept| kept.paused = paused.is_ok());
        let time = config_core::format_duration(self.settings.keep.time);
        let mut shell = format!("`workflow-runner shell {run} '{name}'` opens a shell in it");
        if let Some(step) = back {
            shell += &format!(", and with `--before-step {step}` as it was before that step");
        }
        Ok(match paused {
            Ok(()) => format!("its VM {vm} is kept for {time}: {shell}"),
            Err(error) => {
                format!("its VM {vm} is kept for {time}, and goes on running ({error}): {shell}")
            }
        })
    }

    /// Writes it down, if the budget allows it; until when it is kept.
    fn admit(&self, job: KeptJob) -> Result<u64, NotKept> {
        let keep = &self.settings.keep;
        let mut vms = self.vms.lock();
        let total = KeptTotal {
            vms: vms.len(),
            memory_mib: vms.iter().map(|kept| kept.job.memory_mib).sum(),
        };
        retention::admit(keep.limits, total, job.memory_mib, job.trusted)?;
        let since = self.now();
        let time = u64::try_from(keep.time.as_millis()).unwrap_or(u64::MAX);
        let until = since.saturating_add(time);
        vms.push(KeptVm {
            job,
            since,
            until,
            paused: false,
            shells: 0,
            at_step: None,
            turn: Arc::default(),
        });
        Ok(until)
    }

    /// Those of a run; all without one.
    #[must_use]
    pub fn list(&self, run: Option<&str>) -> Vec<KeptVmView> {
        let now = self.now();
        let vms = self.vms.lock();
        let wanted = vms
            .iter()
            .filter(|kept| run.is_none_or(|run| kept.job.run == run));
        wanted
            .map(|kept| KeptVmView {
                run: kept.job.run.clone(),
                job: kept.job.name.clone(),
                key: kept.job.key.clone(),
                instance: kept.job.instance,
                vm: kept.job.vm.clone(),
                since: kept.since,
                until: kept.until,
                left_ms: kept.until.saturating_sub(now),
                paused: kept.paused,
                shells: kept.shells,
                memory_mib: kept.job.memory_mib,
                snapshots: kept.snapshots(),
                at_step: kept.at_step,
            })
            .collect()
    }

    /// Gives back the VM of a job now, or that of the only job when none is named. `by`: who asks.
    ///
    /// # Errors
    /// See [`ShellOpenError`].
    pub async fn release(
        &self,
        run: &str,
        job: Option<&str>,
        by: &str,
    ) -> Result<(), ShellOpenError> {
        let kept = self.find(run, job)?;
        self.release_vm(&kept.job, &format!("released by {by}"))
            .await;
        Ok(())
    }

    /// Gives a VM back, and says why in the run's log.
    async fn release_vm(&self, job: &KeptJob, why: &str) {
        if !self.forget(&job.vm) {
            return;
        }
        self.log_line(job, &format!("the kept VM {} is given back: {why}", job.vm))
            .await;
        let given_back = match self.client(job) {
            Ok(vmm) => vmm.delete(&job.vm).await,
            Err(error) => Err(error),
        };
        if let Err(error) = given_back {
            tracing::warn!(event = "run.vm_not_returned", vm = %job.vm, %error, "a kept VM could not be given back; the garbage collector tries again");
        }
    }

    /// The VM manager that has a kept VM.
    fn client(&self, job: &KeptJob) -> Result<VmmClient, VmmError> {
        self.hosts.client_of(Some(&job.host), Some(&job.place))
    }

    /// Whether a VM is kept: the garbage collector leaves it alone. By the name of its host: at
    /// another address it may be the same machine.
    pub(crate) fn contains(&self, host: &str, vm: &str) -> bool {
        let is_it = |job: &KeptJob| job.vm == vm && job.host == host;
        let is_taken = {
            let taken = self.taken.lock();
            taken
                .iter()
                .any(|job| job == &(host.to_owned(), vm.to_owned()))
        };
        is_taken || self.vms.lock().iter().any(|kept| is_it(&kept.job))
    }

    /// Gives back the VMs that are kept on a host, but for those in which a shell is open; how many
    /// such there are.
    pub async fn release_host(&self, host: &str, by: &str) -> usize {
        let (open, unused): (Vec<KeptVm>, Vec<KeptVm>) = {
            let vms = self.vms.lock();
            let there = vms.iter().filter(|kept| kept.job.host == host);
            there.cloned().partition(|kept| kept.shells > 0)
        };
        for kept in unused {
            let why = format!("{by} drains its host {host}");
            self.release_vm(&kept.job, &why).await;
        }
        open.len()
    }

    /// Gives back what has been kept for long enough.
    async fn release_overdue(&self) {
        let now = self.now();
        let overdue: Vec<KeptJob> = {
            let vms = self.vms.lock();
            let overdue = vms.iter().filter(|kept| kept.until <= now);
            overdue.map(|kept| kept.job.clone()).collect()
        };
        for job in overdue {
            self.release_vm(&job, "its time is over").await;
        }
    }

    /// Notes which the manager has ended: others needed their room, or they broke.
    async fn notice_gone(&self) {
        let all: Vec<KeptJob> = {
            let vms = self.vms.lock();
            vms.iter().map(|kept| kept.job.clone()).collect()
        };
        for job in all {
            let found = match self.client(&job) {
                Ok(vmm) => vmm.get(&job.vm).await,
                Err(error) => Err(error),
            };
            let gone = match found {
                Ok(vm) => !matches!(vm.state.as_str(), "ready" | "busy"),
                Err(VmmError::NotFound(_)) => true,
                // Asked again.
                Err(_) => false,
            };
            if gone && self.forget(&job.vm) {
                let text = format!(
                    "the kept VM {} is gone: the VM manager needed its room, or it broke",
                    job.vm
                );
                self.log_line(&job, &text).await;
            }
        }
    }

    fn find(&self, run: &str, job: Option<&str>) -> Result<KeptVm, ShellOpenError> {
        let vms = self.vms.lock();
        let mut of_run = vms.iter().filter(|kept| kept.job.run == run);
        let Some(job) = job else {
            let first = of_run.next().ok_or_else(|| ShellOpenError::none(run))?;
            return match of_run.next() {
                None => Ok(first.clone()),
                Some(_) => Err(ShellOpenError::Which(run.to_owned())),
            };
        };
        let named = |kept: &&KeptVm| kept.job.name == job || kept.job.key == job;
        let found = of_run.find(named);
        found.cloned().ok_or_else(|| ShellOpenError::NoVm {
            run: run.to_owned(),
            job: job.to_owned(),
        })
    }

    fn change(&self, vm: &str, change: impl FnOnce(&mut KeptVm)) {
        let mut vms = self.vms.lock();
        if let Some(kept) = vms.iter_mut().find(|kept| kept.job.vm == vm) {
            change(kept);
        }
    }

    /// False when it was not kept any more.
    fn forget(&self, vm: &str) -> bool {
        let mut vms = self.vms.lock();
        let before = vms.len();
        vms.retain(|kept| kept.job.vm != vm);
        vms.len() < before
    }

    async fn log_line(&self, job: &KeptJob, text: &str) {
        tracing::info!(event = "run.kept_vm", run = %job.run, job = %job.name, vm = %job.vm, "{text}");
        let line = LogLine {
            at: now_ms(),
            job: job.name.clone(),
            step: 0,
            kind: LineKind::Info,
            text: text.to_owned(),
        };
        self.logs.write(&job.run, line).await;
        self.logs.flush().await;
    }
}

impl std::fmt::Debug for KeptVms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptVms").finish_non_exhaustive()
    }
}
