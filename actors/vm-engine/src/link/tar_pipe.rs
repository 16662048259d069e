//! What the agent sends of a tar, until its caller takes it.

use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use vm_core::guest::{CHUNK, Credits, WindowOverrun};

use super::answer::GuestReplyResult;

/// A tar on its way from the agent: never more than its window, in one buffer, so that frames of a
/// byte each cost no more than their bytes.
pub(super) struct TarPipe {
    state: Mutex<TarState>,
    changed: Condvar,
}

#[derive(Default)]
struct TarState {
    bytes: VecDeque<u8>,
    credits: Credits,
    /// The agent's last word, or `None` in it when the connection ended.
    end: Option<Option<GuestReplyResult>>,
}

impl TarPipe {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn data(&self, bytes: &[u8]) -> Result<(), WindowOverrun> {
        let mut state = self.state.lock();
        state.credits.consume(bytes.len())?;
        state.bytes.extend(bytes);
        self.changed.notify_all();
        Ok(())
    }

    pub(super) fn end(&self, answer: Option<GuestReplyResult>) {
        self.state.lock().end.get_or_insert(answer);
        self.changed.notify_all();
    }

    pub(super) fn credits(&self) -> Credits {
        self.state.lock().credits
    }

    /// Credit was given back for so many bytes.
    pub(super) fn repaid(&self, bytes: u32) {
        // More than was spent cannot be owed.
        let _ = self.state.lock().credits.add(bytes);
    }

    /// The next bytes in `into`, and `None` until they end; gives the credit to send for them.
    pub(super) fn take(
        &self,
        into: &mut Vec<u8>,
        owed: &mut u32,
        until: Instant,
    ) -> Result<Option<Option<GuestReplyResult>>, ()> {
        let mut state = self.state.lock();
        loop {
            into.clear();
            if !state.bytes.is_empty() {
                let count = state.bytes.len().min(CHUNK);
                into.extend(state.bytes.drain(..count));
                *owed += u32::try_from(count).unwrap_or(u32::MAX);
                return Ok(None);
            }
            if let Some(end) = state.end.take() {
                return Ok(Some(end));
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                return Err(());
            }
        }
    }
}
