//! What the actors of VMs have published: `GET`s read it without asking anyone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use vm_core::admission::{InUse, Need};
use vm_core::{FailureReason, Source, VmId, VmState};

use crate::slot::VmSlot;

/// All VMs that are given out, by id.
#[derive(Debug, Default)]
pub struct Board {
    vms: RwLock<BTreeMap<VmId, Arc<VmSlot>>>,
    /// What has happened since the start, for metrics.
    pub counters: Counters,
}

impl Board {
    /// The VM of this id.
    #[must_use]
    pub fn get(&self, id: &VmId) -> Option<Arc<VmSlot>> {
        self.vms.read().get(id).cloned()
    }

    /// All VMs, ordered by id.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<VmSlot>> {
        self.vms.read().values().cloned().collect()
    }

    /// Puts a VM on the board.
    pub fn insert(&self, slot: Arc<VmSlot>) {
        self.vms.write().insert(slot.id.clone(), slot);
    }

    /// Takes a VM off the board.
    pub fn remove(&self, id: &VmId) {
        self.vms.write().remove(id);
    }

    /// What VMs use of the host, each with `overhead_mib` of its monitor.
    #[must_use]
    pub fn in_use(&self, overhead_mib: u64) -> InUse {
        let vms = self.vms.read();
        let alive = vms.values().filter(|slot| slot.state().is_alive());
        alive.fold(InUse::default(), |used, slot| {
            used.with(need(slot, overhead_mib))
        })
    }
}

fn need(slot: &VmSlot, overhead_mib: u64) -> Need {
    Need {
        mem_mib: u64::from(slot.spec.mem_mib) + overhead_mib,
        vcpus: u32::from(slot.spec.vcpus),
    }
}

/// Numbers since the start.
#[derive(Debug, Default)]
pub struct Counters {
    allocations: Mutex<BTreeMap<&'static str, (u64, Duration)>>,
    failures: Mutex<BTreeMap<&'static str, u64>>,
    released: Mutex<BTreeMap<&'static str, u64>>,
    refused: AtomicU64,
    execs: AtomicU64,
    output_bytes: AtomicU64,
    leaked: AtomicU64,
}

/// [`Counters`] at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountersView {
    /// VMs given out by source: how many, and the time it took in all.
    pub allocations: BTreeMap<&'static str, (u64, Duration)>,
    /// VMs that could not be given out or broke, by reason.
    pub failures: BTreeMap<&'static str, u64>,
    /// VMs released without having been asked for it, by reason.
    pub released: BTreeMap<&'static str, u64>,
    /// Orders refused because there was no room.
    pub refused: u64,
    /// Commands started.
    pub execs: u64,
    /// Bytes of their output.
    pub output_bytes: u64,
    /// VMs of which something was left after they were killed.
    pub leaked: u64,
}

impl Counters {
    pub(crate) fn allocated(&self, source: Source, took: Duration) {
        let mut allocations = self.allocations.lock();
        let entry = allocations.entry(source_label(source)).or_default();
        entry.0 += 1;
        entry.1 += took;
    }

    pub(crate) fn failed(&self, reason: FailureReason) {
        *self
            .failures
            .lock()
            .entry(reason_label(reason))
            .or_default() += 1;
    }

    pub(crate) fn released(&self, reason: FailureReason) {
        *self
            .released
            .lock()
            .entry(reason_label(reason))
            .or_default() += 1;
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn exec_started(&self) {
        self.execs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn output(&self, bytes: usize) {
        self.output_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn leaked(&self) {
        self.leaked.fetch_add(1, Ordering::Relaxed);
    }

    /// The numbers now.
    #[must_use]
    pub fn view(&self) -> CountersView {
        CountersView {
            allocations: self.allocations.lock().clone(),
            failures: self.failures.lock().clone(),
            released: self.released.lock().clone(),
            refused: self.refused.load(Ordering::Relaxed),
            execs: self.execs.load(Ordering::Relaxed),
            output_bytes: self.output_bytes.load(Ordering::Relaxed),
            leaked: self.leaked.load(Ordering::Relaxed),
        }
    }
}

/// A state as metrics and logs name it.
#[must_use]
pub fn state_label(state: VmState) -> &'static str {
    match state {
        VmState::Starting => "starting",
        VmState::Ready => "ready",
        VmState::Busy => "busy",
        VmState::Stopping => "stopping",
        VmState::Gone => "gone",
        VmState::Failed => "failed",
    }
}

/// A source as metrics and logs name it.
#[must_use]
pub fn source_label(source: Source) -> &'static str {
    match source {
        Source::Pool => "pool",
        Source::Clone => "clone",
        Source::Cold => "cold",
    }
}

/// A reason as metrics and logs name it.
#[must_use]
pub fn reason_label(reason: FailureReason) -> &'static str {
    match reason {
        FailureReason::NotStarted => "not_started",
        FailureReason::BootDeadline => "boot_deadline",
        FailureReason::GuestSilent => "guest_silent",
        FailureReason::ProcessGone => "process_gone",
        FailureReason::BadProtocol => "bad_protocol",
        FailureReason::ClockWrong => "clock_wrong",
        FailureReason::LeaseOver => "lease_over",
        FailureReason::LeftBehind => "left_behind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_of_the_json() {
        use FailureReason as R;
        for reason in [
            R::NotStarted,
            R::BootDeadline,
            R::GuestSilent,
            R::ProcessGone,
            R::BadProtocol,
            R::ClockWrong,
            R::LeaseOver,
            R::LeftBehind,
        ] {
            let json = serde_json::to_string(&reason).unwrap();
            assert_eq!(json, format!("\"{}\"", reason_label(reason)));
        }
        for source in [Source::Pool, Source::Clone, Source::Cold] {
            let json = serde_json::to_string(&source).unwrap();
            assert_eq!(json, format!("\"{}\"", source_label(source)));
        }
        use VmState as S;
        for state in [
            S::Starting,
            S::Ready,
            S::Busy,
            S::Stopping,
            S::Gone,
            S::Failed,
        ] {
            let json = serde_json::to_string(&state).unwrap();
            assert_eq!(json, format!("\"{}\"", state_label(state)));
        }
    }
}
