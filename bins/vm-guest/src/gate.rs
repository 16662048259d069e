//! Credit that threads wait for.

use std::sync::{Condvar, Mutex, PoisonError};

use vm_core::guest::Credits;

/// What may still be sent on one channel, shared by those who send and the one who hears of more.
#[derive(Debug, Default)]
pub(crate) struct GuestSendWindow {
    state: Mutex<(Credits, bool)>,
    changed: Condvar,
}

impl GuestSendWindow {
    /// With a window of its own.
    pub(crate) fn new(credits: Credits) -> Self {
        Self {
            state: Mutex::new((credits, false)),
            changed: Condvar::new(),
        }
    }

    /// Waits for credit; how many of `wanted` bytes may be sent, 0 once the gate is closed.
    pub(crate) fn take(&self, wanted: usize) -> usize {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.1 {
                return 0;
            }
            let granted = state.0.take(wanted);
            if granted > 0 || wanted == 0 {
                return granted;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// More may be sent.
    pub(crate) fn add(&self, bytes: u32) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .add(bytes)
            // The host counts: what it gives back was sent.
            .unwrap_or_default();
        self.changed.notify_all();
    }

    /// Nothing may be sent any more.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.changed.notify_all();
    }

    /// Whether nothing may be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}
