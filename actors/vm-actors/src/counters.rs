//! What has happened since the start, for metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use vm_core::{FailureReason, VmSource};

/// Numbers since the start.
#[derive(Debug, Default)]
pub(crate) struct VmCounters {
    allocations: Mutex<BTreeMap<&'static str, (u64, Duration)>>,
    failures: Mutex<BTreeMap<&'static str, u64>>,
    released: Mutex<BTreeMap<&'static str, u64>>,
    refused: AtomicU64,
    execs: AtomicU64,
    output_bytes: AtomicU64,
    leaked: AtomicU64,
}

/// `VmCounters` at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountersView {
    /// VMs given out by source: how many, and the time it took in all.
    pub allocations: BTreeMap<&'static str, (u64, Duration)>,
    /// VMs that could not be given out or broke, by reason.
    pub failures: BTreeMap<&'static str, u64>,
    /// VMs released without having been asked for it, by reason.
    pub released: BTreeMap<&'static str, u64>,
    /// Requests refused because there was no room.
    pub refused: u64,
    /// Commands started.
    pub execs: u64,
    /// Bytes of their output.
    pub output_bytes: u64,
    /// VMs of which something was left after they were killed.
    pub leaked: u64,
}

impl VmCounters {
    pub(crate) fn allocated(&self, source: VmSource, took: Duration) {
        let mut allocations = self.allocations.lock();
        let entry = allocations.entry(source.label()).or_default();
        entry.0 += 1;
        entry.1 += took;
    }

    pub(crate) fn failed(&self, reason: FailureReason) {
        *self.failures.lock().entry(reason.label()).or_default() += 1;
    }

    pub(crate) fn released(&self, reason: FailureReason) {
        *self.released.lock().entry(reason.label()).or_default() += 1;
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
    pub(crate) fn view(&self) -> CountersView {
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
