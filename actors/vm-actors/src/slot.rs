//! One VM on the board: written by its actor, read by anybody.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use supervision::ChildRef;
use tokio::sync::watch;
use vm_core::{
    DriverName, ExecEnd, ExecId, FailureReason, Isolation, Lease, Source, UnixMs, VmEvent, VmId,
    VmSpec, VmState, stuck, wire,
};
use vm_engine::ExecTicket;

use crate::log::OutputLog;
use crate::vm::Vm;

/// A VM that is given out.
#[derive(Debug)]
pub struct VmSlot {
    /// Its id.
    pub id: VmId,
    /// What it was ordered as.
    pub spec: VmSpec,
    /// Whose token ordered it: others do not see it.
    pub subject: String,
    /// When it was ordered.
    pub created: UnixMs,
    /// What runs it.
    pub driver: DriverName,
    /// What separates it from the host.
    pub isolation: Isolation,
    /// Its actor.
    actor: OnceLock<ChildRef<Vm>>,
    record: Mutex<Record>,
    /// Counts changes of the state.
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct Record {
    state: VmState,
    /// Why it failed, as a kind and in words.
    failure: Option<(FailureReason, String)>,
    /// What its failure says about the order.
    unborn: Unborn,
    source: Source,
    lease: Lease,
    last_seen: Option<UnixMs>,
    /// From the order to being ready.
    took: Option<Duration>,
    execs: BTreeMap<ExecId, Arc<ExecRecord>>,
}

/// What a VM that did not start says about its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unborn {
    /// Something is broken.
    Broken,
    /// The driver cannot do what was ordered.
    Unsupported,
    /// The machine has too little of something at the moment: it may work later.
    Shortage,
}

/// A command in a VM, running or ended.
#[derive(Debug)]
pub struct ExecRecord {
    /// Its id.
    pub id: ExecId,
    /// Running number, for the order.
    pub number: u64,
    /// What it writes, and how it ends.
    pub log: Arc<OutputLog>,
    /// Its name in the machine, once it was started there.
    pub ticket: OnceLock<ExecTicket>,
}

impl ExecRecord {
    /// As the API shows it.
    #[must_use]
    pub fn view(&self) -> wire::Exec {
        wire::Exec::new(self.log.end().as_ref(), self.log.sizes().1)
    }
}

impl VmSlot {
    /// A VM that is about to start.
    #[must_use]
    pub(crate) fn new(
        id: VmId,
        spec: VmSpec,
        subject: String,
        source: Source,
        lease: Lease,
        (driver, isolation): (DriverName, Isolation),
    ) -> Arc<Self> {
        let record = Record {
            state: VmState::Starting,
            failure: None,
            unborn: Unborn::Broken,
            source,
            lease,
            last_seen: None,
            took: None,
            execs: BTreeMap::new(),
        };
        Arc::new(Self {
            id,
            spec,
            subject,
            created: lease.granted,
            driver,
            isolation,
            actor: OnceLock::new(),
            record: Mutex::new(record),
            changed: watch::Sender::new(0),
        })
    }

    /// Its actor; none before that was started.
    #[must_use]
    pub fn actor(&self) -> Option<&ChildRef<Vm>> {
        self.actor.get()
    }

    pub(crate) fn set_actor(&self, actor: ChildRef<Vm>) {
        // Set once, by the desk that started it.
        let _ = self.actor.set(actor);
    }

    /// Where it is in its life.
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
    pub fn view(&self) -> wire::Vm {
        let record = self.record.lock();
        wire::Vm {
            id: self.id.clone(),
            state: record.state,
            reason: record.failure.as_ref().map(|(reason, _)| *reason),
            driver: self.driver,
            isolation: self.isolation,
            image: self.spec.image.clone(),
            mem_mib: self.spec.mem_mib,
            vcpus: self.spec.vcpus,
            disk_mib: self.spec.disk_mib,
            network: self.spec.network,
            allow: self.spec.allow.clone(),
            created_at: self.created,
            lease_until: Some(record.lease.until),
            owner: Some(self.spec.owner.clone()),
            last_seen: record.last_seen,
            source: record.source,
        }
    }

    /// As the answer to its order shows it.
    #[must_use]
    pub fn created_view(&self) -> wire::Created {
        let record = self.record.lock();
        let took = record.took.unwrap_or_default();
        wire::Created {
            id: self.id.clone(),
            state: record.state,
            source: record.source,
            isolation: self.isolation,
            lease_until: record.lease.until,
            alloc_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
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
        let facts = stuck::Facts {
            state: record.state,
            started: self.created,
            lease_until: Some(record.lease.until),
            last_seen: record.last_seen.unwrap_or(self.created),
            process_alive: true,
            paused: false,
        };
        stuck::verdict(&facts, now, deadlines)
    }

    /// Resolves when it is no longer starting.
    pub async fn settled(&self) -> VmState {
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

    /// Moves on. An event that cannot happen is a mistake of ours: logged, and nothing changes.
    pub(crate) fn apply(&self, event: VmEvent) -> VmState {
        let mut record = self.record.lock();
        match record.state.after(event) {
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

    pub(crate) fn set_failure(&self, reason: FailureReason, detail: String) {
        self.record.lock().failure.get_or_insert((reason, detail));
    }

    pub(crate) fn set_unborn(&self, unborn: Unborn) {
        self.record.lock().unborn = unborn;
    }

    /// What its failure says about the order.
    pub(crate) fn unborn(&self) -> Unborn {
        self.record.lock().unborn
    }

    pub(crate) fn set_source(&self, source: Source) {
        self.record.lock().source = source;
    }

    pub(crate) fn set_took(&self, took: Duration) {
        self.record.lock().took = Some(took);
    }

    pub(crate) fn set_lease(&self, lease: Lease) {
        self.record.lock().lease = lease;
    }

    /// Its agent was heard.
    pub(crate) fn seen(&self, at: UnixMs) {
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
        trim(&record.execs);
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
fn trim(execs: &BTreeMap<ExecId, Arc<ExecRecord>>) {
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
    use vm_core::{LeaseLimits, wire::CreateVm};

    fn slot() -> Arc<VmSlot> {
        let order: CreateVm = serde_json::from_str(r#"{"owner":"me"}"#).unwrap();
        let spec = VmSpec::from(order);
        let limits = LeaseLimits {
            longest: Duration::from_secs(60),
            total: Duration::from_secs(60),
        };
        let lease = Lease::grant(UnixMs(1000), spec.lease, limits);
        let ids = (DriverName::Scripted, Isolation::EmulatedVm);
        let id = "vm-1".parse().unwrap();
        VmSlot::new(id, spec, "runner".to_owned(), Source::Cold, lease, ids)
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
        let slot = slot();
        let all: Vec<_> = (0..12).map(exec).collect();
        for exec in &all[..2] {
            slot.add_exec(Arc::clone(exec), 2).unwrap();
        }
        assert!(slot.add_exec(Arc::clone(&all[2]), 2).is_none(), "two run");
        for exec in &all[2..] {
            all[exec.number as usize - 2].log.finish(ExecEnd::Killed);
            slot.add_exec(Arc::clone(exec), 2).unwrap();
        }
        assert!(slot.is_working());
        assert!(slot.exec(&all[7].id).is_none(), "forgotten");
        assert!(slot.exec(&all[8].id).is_some(), "ended, remembered");
        slot.lose_execs("gone");
        assert!(!slot.is_working());
        assert_eq!(all[11].view().reason.as_deref(), Some("gone"));
        assert_eq!(all[3].view().state, vm_core::ExecState::Killed);
    }

    #[test]
    fn an_impossible_event_changes_nothing() {
        let slot = slot();
        assert_eq!(slot.apply(VmEvent::WorkStarted), VmState::Starting);
        assert_eq!(slot.apply(VmEvent::AgentReady), VmState::Ready);
        assert_eq!(slot.apply(VmEvent::WorkStarted), VmState::Busy);
    }

    #[test]
    fn verdicts_come_from_the_record() {
        let slot = slot();
        let deadlines = stuck::Deadlines::default();
        assert_eq!(slot.verdict(UnixMs(1000), deadlines), None);
        let late = UnixMs(1000 + 30_000);
        assert_eq!(
            slot.verdict(late, deadlines),
            Some(FailureReason::BootDeadline)
        );
        slot.apply(VmEvent::AgentReady);
        slot.seen(UnixMs(30_000));
        assert_eq!(slot.verdict(late, deadlines), None);
        let over = UnixMs(61_000);
        assert_eq!(
            slot.verdict(over, deadlines),
            Some(FailureReason::LeaseOver)
        );
        slot.set_failure(FailureReason::GuestSilent, "no answer".to_owned());
        slot.apply(VmEvent::Broke);
        assert_eq!(
            slot.verdict(over, deadlines),
            Some(FailureReason::GuestSilent)
        );
        assert_eq!(slot.view().reason, Some(FailureReason::GuestSilent));
    }
}
