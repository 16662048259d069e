//! What the actor of a VM publishes: written by the actor, read by anybody.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use vm_core::network::AllowList;
use vm_core::{
    DriverName, ExecEnd, ExecId, FailureReason, Isolation, Lease, SnapshotName, UnixMs, VmEvent,
    VmId, VmSource, VmSpec, VmState, stuck,
};
use vm_engine::ExecTicket;
use vmm_api_core::{ExecReport, SnapshotView};

use crate::log::OutputLog;
use crate::messages::{AllocatedVm, CreateFailure};
use crate::refused_requests::RefusedRequests;

/// When to come again after the machine had too little of something.
const SHORTAGE_RETRY_AFTER: Duration = Duration::from_secs(10);

/// A VM that is given out.
#[derive(Debug)]
pub struct VmEntry {
    /// Its id.
    pub id: VmId,
    /// What was requested.
    pub spec: VmSpec,
    /// Whose token requested it: others do not see it.
    pub subject: String,
    /// When it was requested.
    pub created: UnixMs,
    /// What runs it.
    pub driver: DriverName,
    /// What separates it from the host.
    pub isolation: Isolation,
    /// What its network has refused it.
    pub(crate) refused: Arc<RefusedRequests>,
    record: Mutex<Record>,
    /// Counts changes of the state.
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct Record {
    state: VmState,
    /// Why it failed, as a kind and in words.
    failure: Option<(FailureReason, String)>,
    /// What its failure says about the request.
    start_failure: StartFailure,
    source: VmSource,
    lease: Lease,
    last_seen: Option<UnixMs>,
    /// From the request to being ready.
    took: Option<Duration>,
    execs: BTreeMap<ExecId, Arc<ExecRecord>>,
    /// It stands still.
    paused: Option<Pause>,
    /// What it can go back to, the oldest first.
    snapshots: Vec<SnapshotView>,
}

/// A VM that stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pause {
    /// Since when.
    pub(crate) since: UnixMs,
    /// It may be ended when others need its room.
    pub(crate) reclaimable: bool,
}

/// What a VM that did not start says about its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartFailure {
    /// It failed by itself.
    Failed,
    /// The driver cannot do what was requested.
    Unsupported,
    /// The machine has too little of something at the moment: it may work later.
    Shortage,
}

/// A command in a VM, running or ended.
#[derive(Debug)]
pub struct ExecRecord {
    /// Its id.
    pub id: ExecId,
    /// Running number.
    pub number: u64,
    /// What it writes, and how it ends.
    pub log: Arc<OutputLog>,
    /// Its name in the machine, once it was started there.
    pub ticket: OnceLock<ExecTicket>,
}

impl ExecRecord {
    /// As the API shows it.
    #[must_use]
    pub fn view(&self) -> ExecReport {
        ExecEnd::report(self.log.end().as_ref(), self.log.sizes().1)
    }
}

impl VmEntry {
    /// A VM that is about to start.
    #[must_use]
    pub(crate) fn new(
        id: VmId,
        spec: VmSpec,
        subject: String,
        source: VmSource,
        lease: Lease,
        (driver, isolation): (DriverName, Isolation),
    ) -> Arc<Self> {
        let record = Record {
            state: VmState::Starting,
            failure: None,
            start_failure: StartFailure::Failed,
            source,
            lease,
            last_seen: None,
            took: None,
            execs: BTreeMap::new(),
            paused: None,
            snapshots: Vec::new(),
        };
        Arc::new(Self {
            id,
            spec,
            subject,
            created: lease.granted,
            driver,
            isolation,
            refused: Arc::default(),
            record: Mutex::new(record),
            changed: watch::Sender::new(0),
        })
    }

    /// Where it is in its lifecycle.
    #[must_use]
    pub fn state(&self) -> VmState {
        self.record.lock().state
    }

    /// Why it failed, in words.
    #[must_use]
    pub fn failure(&self) -> Option<(FailureReason, String)> {
        self.record.lock().failure.clone()
    }

    /// When its lease ends.
    #[must_use]
    pub fn lease(&self) -> Lease {
        self.record.lock().lease
    }

    /// The command of this id.
    #[must_use]
    pub fn exec(&self, id: &ExecId) -> Option<Arc<ExecRecord>> {
        self.record.lock().execs.get(id).cloned()
    }

    /// As the API shows it.
    #[must_use]
    pub fn view(&self) -> vmm_api_core::VmView {
        let record = self.record.lock();
        let labelled = |(reason, _): &(FailureReason, String)| reason.label().to_owned();
        let patterns = |list: &AllowList| list.0.iter().map(ToString::to_string).collect();
        let runs = |exec: &&Arc<ExecRecord>| exec.log.end().is_none();
        let running = record.execs.values().filter(runs).count();
        vmm_api_core::VmView {
            id: self.id.to_string(),
            state: record.state.label().to_owned(),
            reason: record.failure.as_ref().map(labelled),
            driver: self.driver.label().to_owned(),
            isolation: self.isolation,
            image: self.spec.image.to_string(),
            mem_mib: self.spec.mem_mib,
            vcpus: self.spec.vcpus.into(),
            disk_mib: self.spec.disk_mib,
            network: self.spec.network.label().to_owned(),
            allow: self.spec.allow.as_ref().map(patterns),
            created_at: Some(self.created),
            lease_until: Some(record.lease.until),
            owner: Some(self.spec.owner.to_string()),
            last_seen: record.last_seen,
            source: Some(record.source),
            running,
            ended: record.execs.len() - running,
            paused: record.paused.is_some(),
            refused: self.refused.view(),
        }
    }

    /// As the answer to its request shows it.
    fn allocated(&self) -> AllocatedVm {
        let record = self.record.lock();
        AllocatedVm {
            id: self.id.clone(),
            state: record.state,
            source: record.source,
            isolation: self.isolation,
            lease_until: record.lease.until,
            took: record.took.unwrap_or_default(),
        }
    }

    /// Why it is to be released, if it is.
    #[must_use]
    pub fn verdict(&self, now: UnixMs, deadlines: stuck::Deadlines) -> Option<FailureReason> {
        let record = self.record.lock();
        if record.state == VmState::Failed {
            // The verdict knows no more than that it broke; the record does.
            return record.failure.as_ref().map(|(reason, _)| *reason);
        }
        let facts = stuck::VmObservation {
            state: record.state,
            started: self.created,
            lease_until: Some(record.lease.until),
            last_seen: record.last_seen.unwrap_or(self.created),
            process_alive: true,
            paused: record.paused.is_some(),
        };
        stuck::verdict(&facts, now, deadlines)
    }

    /// Resolves when it is no longer starting.
    async fn settled(&self) -> VmState {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let state = self.state();
            if state != VmState::Starting {
                return state;
            }
            // Cannot fail: the sender is borrowed here.
            let _ = changed.changed().await;
        }
    }

    /// Waits until it can be given work, or never will be.
    pub(crate) async fn allocation(&self) -> Result<AllocatedVm, CreateFailure> {
        match self.settled().await {
            VmState::Ready | VmState::Busy => Ok(self.allocated()),
            VmState::Starting | VmState::Stopping => Err(CreateFailure::Interrupted),
            VmState::Failed | VmState::Gone => match self.failure() {
                Some((reason, detail)) => Err(match self.start_failure() {
                    StartFailure::Unsupported => CreateFailure::Unsupported(detail),
                    StartFailure::Shortage => CreateFailure::Shortage {
                        detail,
                        retry_after: SHORTAGE_RETRY_AFTER,
                    },
                    StartFailure::Failed => CreateFailure::NotStarted { reason, detail },
                }),
                None => Err(CreateFailure::Interrupted),
            },
        }
    }

    /// Moves on. An event that cannot happen is a mistake of ours: logged, and nothing changes.
    pub(crate) fn apply(&self, event: VmEvent) -> VmState {
        let mut record = self.record.lock();
        match event.apply_to(record.state) {
            Ok(next) => record.state = next,
            Err(error) => {
                tracing::error!(event = "vm.confused", vm = %self.id, %error);
            }
        }
        let state = record.state;
        drop(record);
        self.changed
            .send_modify(|version| *version = version.wrapping_add(1));
        state
    }

    /// Whether it stands still, and how.
    pub(crate) fn paused(&self) -> Option<Pause> {
        self.record.lock().paused
    }

    pub(crate) fn set_paused(&self, paused: Option<Pause>) {
        self.record.lock().paused = paused;
    }

    /// What it can go back to, the oldest first.
    #[must_use]
    pub fn snapshots(&self) -> Vec<SnapshotView> {
        self.record.lock().snapshots.clone()
    }

    pub(crate) fn has_snapshot(&self, name: &SnapshotName) -> bool {
        let record = self.record.lock();
        let mut known = record.snapshots.iter();
        known.any(|known| known.name == name.as_str())
    }

    pub(crate) fn add_snapshot(&self, view: SnapshotView) {
        self.record.lock().snapshots.push(view);
    }

    pub(crate) fn forget_snapshot(&self, name: &SnapshotName) {
        let mut record = self.record.lock();
        record.snapshots.retain(|known| known.name != name.as_str());
    }

    pub(crate) fn set_failure(&self, reason: FailureReason, detail: String) {
        self.record.lock().failure.get_or_insert((reason, detail));
    }

    pub(crate) fn set_start_failure(&self, failure: StartFailure) {
        self.record.lock().start_failure = failure;
    }

    /// What its failure says about the request.
    pub(crate) fn start_failure(&self) -> StartFailure {
        self.record.lock().start_failure
    }

    pub(crate) fn set_source(&self, source: VmSource) {
        self.record.lock().source = source;
    }

    pub(crate) fn set_took(&self, took: Duration) {
        self.record.lock().took = Some(took);
    }

    pub(crate) fn set_lease(&self, lease: Lease) {
        self.record.lock().lease = lease;
    }

    /// Its agent was heard.
    pub(crate) fn record_contact(&self, at: UnixMs) {
        let mut record = self.record.lock();
        record.last_seen = record.last_seen.max(Some(at));
    }

    /// Adds a command; the oldest ended ones beyond `most` are forgotten. `None` when as many run.
    pub(crate) fn add_exec(&self, exec: Arc<ExecRecord>, most: usize) -> Option<()> {
        let mut record = self.record.lock();
        let ended: Vec<ExecId> = by_age(&record.execs, |exec| exec.log.end().is_some());
        if record.execs.len() - ended.len() >= most {
            return None;
        }
        for id in ended.iter().take(ended.len().saturating_sub(most)) {
            record.execs.remove(id);
        }
        record.execs.insert(exec.id.clone(), exec);
        trim_output(&record.execs);
        Some(())
    }

    pub(crate) fn remove_exec(&self, id: &ExecId) {
        self.record.lock().execs.remove(id);
    }

    /// Whether a command runs.
    pub(crate) fn is_working(&self) -> bool {
        let record = self.record.lock();
        record.execs.values().any(|exec| exec.log.end().is_none())
    }

    /// Ends what still runs as lost: its machine is gone.
    pub(crate) fn lose_execs(&self, reason: &str) {
        for exec in self.record.lock().execs.values() {
            let reason = reason.to_owned();
            exec.log.finish(ExecEnd::Lost { reason });
        }
    }
}

/// What the output of all ended commands of a VM may cost together; the oldest is forgotten first.
const ENDED_OUTPUT: usize = 8 << 20;

/// Forgets output of ended commands, oldest first, until the rest is within [`ENDED_OUTPUT`].
fn trim_output(execs: &BTreeMap<ExecId, Arc<ExecRecord>>) {
    let ended = by_age(execs, |exec| exec.log.end().is_some());
    let mut left = ENDED_OUTPUT;
    for exec in ended.iter().rev().filter_map(|id| execs.get(id)) {
        exec.log.trim(left);
        left -= exec.log.cost();
    }
}

/// The ids of those that are `wanted`, oldest first.
fn by_age(
    execs: &BTreeMap<ExecId, Arc<ExecRecord>>,
    wanted: impl Fn(&ExecRecord) -> bool,
) -> Vec<ExecId> {
    let mut found: Vec<_> = execs.values().filter(|exec| wanted(exec)).collect();
    found.sort_by_key(|exec| exec.number);
    found.into_iter().map(|exec| exec.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vm_core::LeaseLimits;
    use vmm_api_core::NewVm;

    fn entry() -> Arc<VmEntry> {
        let spec = VmSpec::from(NewVm::default());
        let limits = LeaseLimits {
            longest: Duration::from_secs(60),
            total: Duration::from_secs(60),
        };
        let lease = Lease::grant(UnixMs(1000), spec.lease, limits);
        let ids = (DriverName::Scripted, Isolation::EmulatedVm);
        let id = "vm-1".parse().unwrap();
        VmEntry::new(id, spec, "runner".to_owned(), VmSource::Cold, lease, ids)
    }

    fn exec(number: u64) -> Arc<ExecRecord> {
        Arc::new(ExecRecord {
            id: format!("ex-{number}").parse().unwrap(),
            number,
            log: OutputLog::new(0, Duration::ZERO),
            ticket: OnceLock::new(),
        })
    }

    #[test]
    fn commands_are_bounded_and_the_oldest_ended_ones_are_forgotten() {
        let entry = entry();
        let all: Vec<_> = (0..12).map(exec).collect();
        for exec in &all[..2] {
            entry.add_exec(Arc::clone(exec), 2).unwrap();
        }
        assert!(entry.add_exec(Arc::clone(&all[2]), 2).is_none(), "two run");
        for exec in &all[2..] {
            all[exec.number as usize - 2].log.finish(ExecEnd::Killed);
            entry.add_exec(Arc::clone(exec), 2).unwrap();
        }
        assert!(entry.is_working());
        assert!(entry.exec(&all[7].id).is_none(), "forgotten");
        assert!(entry.exec(&all[8].id).is_some(), "ended, remembered");
        entry.lose_execs("gone");
        assert!(!entry.is_working());
        assert_eq!(all[11].view().reason.as_deref(), Some("gone"));
        assert_eq!(all[3].view().state, vm_core::ExecState::Killed);
    }

    #[test]
    fn an_impossible_event_changes_nothing() {
        let entry = entry();
        assert_eq!(entry.apply(VmEvent::WorkStarted), VmState::Starting);
        assert_eq!(entry.apply(VmEvent::AgentReady), VmState::Ready);
        assert_eq!(entry.apply(VmEvent::WorkStarted), VmState::Busy);
    }

    #[test]
    fn verdicts_come_from_the_record() {
        let entry = entry();
        let deadlines = stuck::Deadlines::default();
        assert_eq!(entry.verdict(UnixMs(1000), deadlines), None);
        let late = UnixMs(1000 + 30_000);
        assert_eq!(
            entry.verdict(late, deadlines),
            Some(FailureReason::BootDeadline)
        );
        entry.apply(VmEvent::AgentReady);
        entry.record_contact(UnixMs(30_000));
        assert_eq!(entry.verdict(late, deadlines), None);
        let over = UnixMs(61_000);
        assert_eq!(
            entry.verdict(over, deadlines),
            Some(FailureReason::LeaseOver)
        );
        entry.set_failure(FailureReason::GuestSilent, "no answer".to_owned());
        entry.apply(VmEvent::Broke);
        assert_eq!(
            entry.verdict(over, deadlines),
            Some(FailureReason::GuestSilent)
        );
        assert_eq!(entry.view().reason.as_deref(), Some("guest_silent"));
    }
}
