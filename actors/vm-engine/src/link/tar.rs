//! Tars to the agent and from it.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use vm_core::guest::{CHUNK, Channel, ChannelUse, TarSummary, ToGuest, WINDOW};

use super::GuestLink;
use super::answer::{GuestReply, GuestReplyResult};
use super::budget::{ALL_VMS, BudgetReservation};
use super::connection::{ChannelWaiter, SEND_TIMEOUT};
use super::tar_pipe::TarPipe;
use crate::error::MachineError;
use crate::gate::SendWindow;

/// What a tar may hold of the host's memory on its way.
const RESERVED: u64 = WINDOW as u64 + 2 * CHUNK as u64;

impl GuestLink {
    /// Sends a tar to be unpacked; `idle` is the longest time in which the agent takes none of it.
    pub(crate) fn put_tar(
        &self,
        path: &str,
        tar: &mut dyn Read,
        idle: Duration,
    ) -> Result<TarSummary, MachineError> {
        let _reserved = reserve()?;
        let gate = Arc::new(SendWindow::default());
        let (sender, answer) = sync_channel(1);
        let waiter = ChannelWaiter::TarIn(Arc::clone(&gate), sender);
        let channel = self.register(ChannelUse::TarIn { sent: false }, waiter)?;
        self.request(channel, &ToGuest::TarIn(path.to_owned()), SEND_TIMEOUT)?;
        match self.send_tar(channel, &gate, tar, idle) {
            Ok(()) => summary(self.await_answer(channel, &answer, idle)),
            Err(error) => {
                let _ = self.send(channel, &ToGuest::Abort, SEND_TIMEOUT);
                self.abandon(channel);
                // When the guest has refused, that is the reason why no more could be sent.
                summary(answer.try_recv().unwrap_or(Err(error)))
            }
        }
    }

    fn send_tar(
        &self,
        channel: Channel,
        gate: &SendWindow,
        tar: &mut dyn Read,
        idle: Duration,
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
                let granted = gate
                    .take(rest.len(), idle)
                    .ok_or(MachineError::Silent(idle))?;
                if granted == 0 {
                    // The guest has answered already: it refused, or it is gone.
                    return Err(self.connection.terminated());
                }
                let (now, later) = rest.split_at(granted);
                self.send(channel, &ToGuest::Data(now.into()), idle)?;
                rest = later;
            }
        }
    }

    /// From here on the agent may say that it is done.
    fn finish_tar(&self, channel: Channel) -> Result<(), MachineError> {
        if let Some(entry) = self.connection.channels.lock().get_mut(&channel) {
            entry.used = ChannelUse::TarIn { sent: true };
        }
        self.send(channel, &ToGuest::Finish, SEND_TIMEOUT)
    }

    /// Receives a tar; `idle` is the longest time in which the agent sends none of it.
    pub(crate) fn get_tar(
        &self,
        path: &str,
        out: &mut dyn Write,
        idle: Duration,
    ) -> Result<TarSummary, MachineError> {
        let _reserved = reserve()?;
        let pipe = Arc::new(TarPipe::new());
        let channel =
            self.register(ChannelUse::TarOut, ChannelWaiter::TarOut(Arc::clone(&pipe)))?;
        self.request(channel, &ToGuest::TarOut(path.to_owned()), SEND_TIMEOUT)?;
        let outcome = self.receive_tar(channel, &pipe, out, idle);
        if outcome.is_err() && self.connection.channels.lock().contains_key(&channel) {
            let _ = self.send(channel, &ToGuest::Abort, SEND_TIMEOUT);
            self.abandon(channel);
        }
        summary(outcome)
    }

    fn receive_tar(
        &self,
        channel: Channel,
        pipe: &TarPipe,
        out: &mut dyn Write,
        idle: Duration,
    ) -> GuestReplyResult {
        let (mut owed, mut piece) = (0, Vec::new());
        loop {
            match pipe.take(&mut piece, &mut owed, Instant::now() + idle) {
                Ok(None) => {
                    out.write_all(&piece).map_err(MachineError::Tar)?;
                    if owed >= WINDOW / 4 {
                        pipe.repaid(owed);
                        self.send(channel, &ToGuest::Credit(owed), idle)?;
                        owed = 0;
                    }
                }
                Ok(Some(answer)) => {
                    return answer.unwrap_or_else(|| Err(self.connection.terminated()));
                }
                Err(()) => return Err(MachineError::Silent(idle)),
            }
        }
    }
}

/// Memory for a tar on its way.
fn reserve() -> Result<BudgetReservation, MachineError> {
    ALL_VMS.reserve(RESERVED).ok_or(MachineError::NoMemory)
}

fn summary(answer: GuestReplyResult) -> Result<TarSummary, MachineError> {
    Ok(match answer? {
        GuestReply::Done(summary) => summary,
        GuestReply::Clock(_) => TarSummary::default(),
    })
}
