//! The reading side: what the agent sends, to whom it goes, and how everybody learns of the end.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

use parking_lot::Mutex;
use vm_core::guest::{
    Channel, FrameDecoder, Greeting, STREAMS, TarSummary, ToGuest, ToHost, WINDOW, decode_to_host,
    encode_to_guest,
};
use vm_core::{ExecEnd, FailureReason, Stream};

use super::{Answer, Listener, Piece, Shared, Slot, now};
use crate::{Flow, MachineError};

impl Shared {
    pub(super) fn send(&self, channel: Channel, message: &ToGuest<'_>) -> Result<(), MachineError> {
        let mut bytes = Vec::new();
        encode_to_guest(channel, message, &mut bytes).map_err(|_| MachineError::TooLarge)?;
        let queue = self.queue.lock();
        let sent = queue.as_ref().map(|queue| queue.send(bytes));
        if let Some(Ok(())) = sent {
            Ok(())
        } else {
            Err(self.gone())
        }
    }

    pub(super) fn gone(&self) -> MachineError {
        MachineError::Gone(
            self.ended
                .lock()
                .clone()
                .unwrap_or_else(|| "its connection has ended".to_owned()),
        )
    }

    /// Reads until the end; why it ended.
    pub(super) fn read_all(
        self: &Arc<Self>,
        mut socket: UnixStream,
        hello: &SyncSender<Greeting>,
    ) -> (FailureReason, String) {
        let mut decoder = FrameDecoder::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = match socket.read(&mut buffer) {
                Ok(0) => {
                    return (
                        FailureReason::ProcessGone,
                        "its connection was closed".to_owned(),
                    );
                }
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return (
                        FailureReason::ProcessGone,
                        format!("its connection broke: {error}"),
                    );
                }
            };
            self.last_seen_ms.store(now().0, Ordering::Relaxed);
            decoder.feed(&buffer[..count]);
            if let Err(error) = self.take_frames(&mut decoder, hello) {
                return (FailureReason::BadProtocol, error);
            }
        }
    }

    pub(super) fn take_frames(
        self: &Arc<Self>,
        decoder: &mut FrameDecoder,
        hello: &SyncSender<Greeting>,
    ) -> Result<(), String> {
        while let Some(frame) = decoder.next_frame().map_err(|error| error.to_string())? {
            let channel = frame.channel;
            match decode_to_host(frame).map_err(|error| error.to_string())? {
                ToHost::Hello(greeting) => drop(hello.try_send(greeting)),
                ToHost::Pong => self.answer(channel, Ok(TarSummary::default())),
                ToHost::Finished(summary) => self.answer(channel, Ok(summary)),
                ToHost::Failed(failure) => self.answer(channel, Err(MachineError::Guest(failure))),
                ToHost::Started(_) => {}
                ToHost::Output(stream, bytes) => self.output(channel, stream, &bytes)?,
                ToHost::Ended(end) => self.ended(channel, end),
                ToHost::Data(bytes) if channel >= STREAMS => self.streams.data(channel, &bytes)?,
                ToHost::Data(bytes) => self.data(channel, &bytes)?,
                ToHost::Credit(bytes) if channel >= STREAMS => self.streams.credit(channel, bytes),
                ToHost::Credit(bytes) => {
                    if let Some(Slot::TarIn(gate, _)) = self.slots.lock().get(&channel) {
                        gate.add(bytes);
                    }
                }
                ToHost::Open => self.open_stream(channel)?,
                ToHost::Finish => self.streams.finish(channel),
                ToHost::Abort => self.streams.abort(channel),
            }
        }
        Ok(())
    }

    pub(super) fn answer(&self, channel: Channel, answer: Answer) {
        // What nobody waits for any more was given up by its deadline.
        match self.slots.lock().remove(&channel) {
            Some(Slot::Question(sender)) => drop(sender.try_send(answer)),
            Some(Slot::TarIn(gate, sender)) => {
                let _ = sender.try_send(answer);
                gate.close();
            }
            Some(Slot::TarOut(_, sender)) => drop(sender.send(Piece::End(answer))),
            Some(exec @ Slot::Exec(_)) => {
                // An execution ends with `Ended`; anything else is noise of a hostile guest.
                self.slots.lock().insert(channel, exec);
            }
            None => {}
        }
    }

    pub(super) fn output(
        &self,
        channel: Channel,
        stream: Stream,
        bytes: &[u8],
    ) -> Result<(), String> {
        let listener = match self.slots.lock().get(&channel) {
            Some(Slot::Exec(listener)) => Arc::clone(listener),
            _ => return Ok(()),
        };
        let owed = {
            let mut listener = listener.lock();
            listener
                .credits
                .spend(bytes.len())
                .map_err(|error| error.to_string())?;
            listener.owed += u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            if let Some(sink) = &mut listener.sink {
                listener.held = sink.output(stream, bytes) == Flow::Hold;
            }
            if listener.owed >= WINDOW / 4 {
                listener.repay()
            } else {
                0
            }
        };
        if owed > 0 {
            // If it cannot be sent, the connection ends, and with it the execution.
            let _ = self.send(channel, &ToGuest::Credit(owed));
        }
        Ok(())
    }

    pub(super) fn ended(&self, channel: Channel, end: ExecEnd) {
        let mut slots = self.slots.lock();
        if !matches!(slots.get(&channel), Some(Slot::Exec(_))) {
            return;
        }
        if let Some(Slot::Exec(listener)) = slots.remove(&channel) {
            drop(slots);
            tell_end(&listener, end);
        }
    }

    pub(super) fn data(&self, channel: Channel, bytes: &[u8]) -> Result<(), String> {
        if let Some(Slot::TarOut(credits, sender)) = self.slots.lock().get(&channel) {
            credits
                .lock()
                .spend(bytes.len())
                .map_err(|error| error.to_string())?;
            let _ = sender.send(Piece::Bytes(bytes.to_vec()));
        }
        Ok(())
    }

    /// Tells everybody who waits, once.
    pub(super) fn end(&self, why: &str) {
        let slots = {
            let mut slots = self.slots.lock();
            self.ended.lock().get_or_insert_with(|| why.to_owned());
            std::mem::take(&mut *slots)
        };
        self.queue.lock().take();
        self.streams.end();
        for slot in slots.into_values() {
            match slot {
                // Dropping the senders wakes the waiting.
                Slot::Question(_) | Slot::TarOut(..) => {}
                Slot::TarIn(gate, _) => gate.close(),
                Slot::Exec(listener) => {
                    tell_end(
                        &listener,
                        ExecEnd::Lost {
                            reason: format!("the VM is gone: {why}"),
                        },
                    );
                }
            }
        }
    }
}

fn tell_end(listener: &Mutex<Listener>, end: ExecEnd) {
    if let Some(mut sink) = listener.lock().sink.take() {
        sink.ended(end);
    }
}

impl Listener {
    /// The credit to give back now.
    pub(super) fn repay(&mut self) -> u32 {
        if self.held {
            return 0;
        }
        self.credits.add(self.owed);
        std::mem::take(&mut self.owed)
    }
}
