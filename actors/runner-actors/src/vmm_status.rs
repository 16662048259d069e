//! What jobs and the garbage collector last saw of the VM manager.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// How the VM manager is; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct VmmStatus(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Why it gives no VMs.
    trouble: Mutex<Option<String>>,
    /// A VM could not be given back.
    has_leak: AtomicBool,
}

impl VmmStatus {
    /// Says why it gives no VMs, or that it does.
    pub(crate) fn set_trouble(&self, reason: Option<String>) {
        *self.0.trouble.lock() = reason;
    }

    /// Why it gives no VMs.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.0.trouble.lock().clone()
    }

    /// A VM could not be given back.
    pub(crate) fn report_leak(&self) {
        self.0.has_leak.store(true, Ordering::Relaxed);
    }

    /// Whether a VM could not be given back since [`clear_leak`](Self::clear_leak).
    pub(crate) fn has_leak(&self) -> bool {
        self.0.has_leak.load(Ordering::Relaxed)
    }

    /// The manager has released what was stuck.
    pub(crate) fn clear_leak(&self) {
        self.0.has_leak.store(false, Ordering::Relaxed);
    }
}
