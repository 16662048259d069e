//! Tars to the agent and from it.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vm_core::guest::{CHUNK, Channel, Credits, Overrun, TarSummary, ToGuest, Use, WINDOW};

use super::{Answer, Link, PATIENCE, Slot, Word, budget};
use crate::MachineError;
use crate::gate::Gate;

/// What a tar may hold of the host's memory on its way.
const RESERVED: u64 = WINDOW as u64 + 2 * CHUNK as u64;

/// A tar on its way from the agent: never more than its window, in one buffer, so that frames of a
/// byte each cost no more than their bytes.
pub(super) struct TarPipe {
    state: Mutex<Incoming>,
    changed: Condvar,
}

#[derive(Default)]
struct Incoming {
    bytes: VecDeque<u8>,
    credits: Credits,
    /// The agent's last word, or `None` in it when the connection ended.
    end: Option<Option<Answer>>,
}

impl TarPipe {
    fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn data(&self, bytes: &[u8]) -> Result<(), Overrun> {
        let mut state = self.state.lock();
        state.credits.spend(bytes.len())?;
        state.bytes.extend(bytes);
        self.changed.notify_all();
        Ok(())
    }

    pub(super) fn end(&self, answer: Option<Answer>) {
        self.state.lock().end.get_or_insert(answer);
        self.changed.notify_all();
    }

    pub(super) fn credits(&self) -> Credits {
        self.state.lock().credits
    }

    /// The next bytes in `into`, and `None` until they end; gives the credit to send for them.
    fn take(
        &self,
        into: &mut Vec<u8>,
        owed: &mut u32,
        until: Instant,
    ) -> Result<Option<Option<Answer>>, ()> {
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

impl Link {
    /// Sends a tar to be unpacked.
    pub(crate) fn put_tar(
        &self,
        path: &str,
        tar: &mut dyn Read,
        deadline: Duration,
    ) -> Result<TarSummary, MachineError> {
        let start = Instant::now();
        let _held = budget::IN_ALL
            .reserve(RESERVED)
            .ok_or(MachineError::NoMemory)?;
        let gate = Arc::new(Gate::default());
        let (sender, answer) = sync_channel(1);
        let slot = Slot::TarIn(Arc::clone(&gate), sender);
        let channel = self.enter(Use::TarIn { sent: false }, slot)?;
        self.order(channel, &ToGuest::TarIn(path.to_owned()), PATIENCE)?;
        match self.send_tar(channel, &gate, tar, start, deadline) {
            Ok(()) => {
                let left = deadline.saturating_sub(start.elapsed());
                summary(self.await_answer(channel, &answer, left))
            }
            Err(error) => {
                let _ = self.send(channel, &ToGuest::Abort, PATIENCE);
                self.give_up(channel);
                // When the guest has refused, that is the reason why no more could be sent.
                summary(answer.try_recv().unwrap_or(Err(error)))
            }
        }
    }

    fn send_tar(
        &self,
        channel: Channel,
        gate: &Gate,
        tar: &mut dyn Read,
        start: Instant,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = match tar.read(&mut buffer) {
                Ok(0) => return self.finish_tar(channel),
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(MachineError::Tar(error)),
            };
            let mut rest = &buffer[..count];
            while !rest.is_empty() {
                let left = deadline.saturating_sub(start.elapsed());
                let granted = gate
                    .take(rest.len(), left)
                    .ok_or(MachineError::Silent(deadline))?;
                if granted == 0 {
                    // The guest has answered already: it refused, or it is gone.
                    return Err(self.shared.gone());
                }
                let (now, later) = rest.split_at(granted);
                self.send(channel, &ToGuest::Data(now.into()), left)?;
                rest = later;
            }
        }
    }

    /// From here on the agent may say that it is done.
    fn finish_tar(&self, channel: Channel) -> Result<(), MachineError> {
        if let Some(entry) = self.shared.slots.lock().get_mut(&channel) {
            entry.used = Use::TarIn { sent: true };
        }
        self.send(channel, &ToGuest::Finish, PATIENCE)
    }

    /// Receives a tar.
    pub(crate) fn get_tar(
        &self,
        path: &str,
        out: &mut dyn Write,
        deadline: Duration,
    ) -> Result<TarSummary, MachineError> {
        let start = Instant::now();
        let _held = budget::IN_ALL
            .reserve(RESERVED)
            .ok_or(MachineError::NoMemory)?;
        let pipe = Arc::new(TarPipe::new());
        let channel = self.enter(Use::TarOut, Slot::TarOut(Arc::clone(&pipe)))?;
        self.order(channel, &ToGuest::TarOut(path.to_owned()), PATIENCE)?;
        let outcome = self.receive_tar(channel, &pipe, out, start, deadline);
        if outcome.is_err() && self.shared.slots.lock().contains_key(&channel) {
            let _ = self.send(channel, &ToGuest::Abort, PATIENCE);
            self.give_up(channel);
        }
        summary(outcome)
    }

    fn receive_tar(
        &self,
        channel: Channel,
        pipe: &TarPipe,
        out: &mut dyn Write,
        start: Instant,
        deadline: Duration,
    ) -> Answer {
        let (mut owed, mut piece) = (0, Vec::new());
        loop {
            match pipe.take(&mut piece, &mut owed, start + deadline) {
                Ok(None) => {
                    out.write_all(&piece).map_err(MachineError::Tar)?;
                    if owed >= WINDOW / 4 {
                        // More than was spent cannot be owed.
                        let _ = pipe.state.lock().credits.add(owed);
                        let left = deadline.saturating_sub(start.elapsed());
                        self.send(channel, &ToGuest::Credit(owed), left)?;
                        owed = 0;
                    }
                }
                Ok(Some(answer)) => return answer.unwrap_or_else(|| Err(self.shared.gone())),
                Err(()) => return Err(MachineError::Silent(deadline)),
            }
        }
    }
}

fn summary(answer: Answer) -> Result<TarSummary, MachineError> {
    Ok(match answer? {
        Word::Done(summary) => summary,
        Word::Clock(_) => TarSummary::default(),
    })
}
