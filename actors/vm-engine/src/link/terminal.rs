//! What is typed on the terminal of an execution, within its window.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vm_core::TerminalSize;
use vm_core::guest::{CHUNK, ToGuest};

use super::GuestLink;
use super::connection::{ChannelWaiter, OpenChannel, SEND_TIMEOUT};
use crate::error::MachineError;
use crate::exec::ExecTicket;
use crate::gate::SendWindow;

impl GuestLink {
    /// Types, as far as the program reads within the deadline; how many bytes were taken. What has
    /// ended takes all of it, and nobody reads it.
    pub(crate) fn type_in(
        &self,
        ticket: ExecTicket,
        bytes: &[u8],
        deadline: Duration,
    ) -> Result<usize, MachineError> {
        let Some(gate) = self.input_of(ticket)? else {
            return Ok(bytes.len());
        };
        let until = Instant::now() + deadline;
        let mut taken = 0;
        while taken < bytes.len() {
            let left = until.saturating_duration_since(Instant::now());
            let wanted = (bytes.len() - taken).min(CHUNK);
            match gate.take(wanted, left) {
                // It has ended.
                Some(0) => return Ok(bytes.len()),
                Some(count) => {
                    let piece = &bytes[taken..taken + count];
                    let message = ToGuest::Data(piece.into());
                    self.send(ticket.0, &message, SEND_TIMEOUT)?;
                    taken += count;
                }
                None => break,
            }
        }
        Ok(taken)
    }

    /// Tells of another size.
    pub(crate) fn resize_terminal(
        &self,
        ticket: ExecTicket,
        size: TerminalSize,
    ) -> Result<(), MachineError> {
        match self.input_of(ticket)? {
            Some(_) => self.send(ticket.0, &ToGuest::Resize(size), SEND_TIMEOUT),
            None => Ok(()),
        }
    }

    /// The credit of its input; `None` when it has ended.
    fn input_of(&self, ticket: ExecTicket) -> Result<Option<Arc<SendWindow>>, MachineError> {
        let channels = self.connection.channels.lock();
        match channels.get(&ticket.0) {
            Some(OpenChannel {
                waiter: ChannelWaiter::Exec(listener),
                ..
            }) => {
                let listener = Arc::clone(listener);
                drop(channels);
                let input = listener.lock().input.clone();
                let none = MachineError::Unsupported("type where there is no terminal");
                input.map(Some).ok_or(none)
            }
            _ => Ok(None),
        }
    }
}
