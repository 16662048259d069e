//! Credit that a sender waits for.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vm_core::guest::{Credits, ExcessCredit};

/// What may still be sent on one channel.
#[derive(Debug, Default)]
pub(crate) struct SendWindow {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    credits: Credits,
    closed: bool,
}

impl SendWindow {
    /// With a window of its own.
    pub(crate) fn new(credits: Credits) -> Self {
        Self {
            state: Mutex::new(State {
                credits,
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for credit: how many of `wanted` bytes may be sent, 0 once the gate is closed, `None`
    /// when none came in time.
    pub(crate) fn take(&self, wanted: usize, deadline: Duration) -> Option<usize> {
        let until = Instant::now() + deadline;
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return Some(0);
            }
            let granted = state.credits.take(wanted);
            if granted > 0 {
                return Some(granted);
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                return None;
            }
        }
    }

    /// More may be sent.
    ///
    /// # Errors
    /// [`ExcessCredit`] when the other side allows more than it was sent.
    pub(crate) fn add(&self, bytes: u32) -> Result<(), ExcessCredit> {
        let added = self.state.lock().credits.add(bytes);
        self.changed.notify_all();
        added
    }

    /// Nothing may be sent any more.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }
}
