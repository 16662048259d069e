//! The reading side: what the agent sends, whether it is in turn, to whom it goes, and how everybody
//! learns of the end.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use parking_lot::Mutex;
use vm_core::guest::{
    Breach, Channel, Credits, FrameDecoder, Greeting, MAX_PAYLOAD_TO_HOST, STREAMS, ToGuest,
    ToHost, Turn, Use, WINDOW, decode_to_host, encode_to_guest,
};
use vm_core::{ExecEnd, FailureReason};

use super::{
    Answer, Entry, FIRST_OF_CLONE, Listener, Refused, Shared, Slot, Word, now, readable,
    readable_failure,
};
use crate::{Flow, MachineError};

/// What a clone's agent may still send on the template's channels: a window of each of a few.
const TEMPLATES_LATE: u64 = 4 * WINDOW as u64;

/// What only the reader knows.
struct Reading<'a> {
    /// The first channel of this connection.
    first: Channel,
    /// Whether the hello has come; a clone's was the template's.
    greeted: bool,
    /// What may still come on channels that the host never opened.
    late: u64,
    hello: &'a SyncSender<Greeting>,
}

impl Shared {
    /// Sends a message when there is room for it.
    pub(super) fn send(
        &self,
        channel: Channel,
        message: &ToGuest<'_>,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let mut bytes = Vec::new();
        encode_to_guest(channel, message, &mut bytes).map_err(|_| MachineError::TooLarge)?;
        self.outbox
            .put(&bytes, deadline)
            .map_err(|refused| match refused {
                Refused::Closed => self.gone(),
                Refused::Full(_) => MachineError::Silent(deadline),
            })
    }

    /// Sends a small message from a thread that must not wait. An agent that reads always leaves room
    /// for it.
    pub(super) fn send_now(&self, channel: Channel, message: &ToGuest<'_>) -> Result<(), Breach> {
        let mut bytes = Vec::new();
        // Small ones always fit into a frame.
        let _ = encode_to_guest(channel, message, &mut bytes);
        match self.outbox.put_now(&bytes) {
            // What has ended is told by whoever has ended it.
            Ok(()) | Err(Refused::Closed) => Ok(()),
            Err(Refused::Full(waiting)) => Err(Breach::Unread(waiting)),
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
        first: Channel,
        hello: &SyncSender<Greeting>,
    ) -> (FailureReason, String) {
        let cloned = first == FIRST_OF_CLONE;
        let mut reading = Reading {
            first,
            greeted: cloned,
            late: if cloned { TEMPLATES_LATE } else { 0 },
            hello,
        };
        let mut decoder = FrameDecoder::new(MAX_PAYLOAD_TO_HOST);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let closed = match socket.read(&mut buffer) {
                Ok(0) => "its connection was closed".to_owned(),
                Ok(count) => {
                    decoder.feed(&buffer[..count]);
                    if let Err(error) = self.take_frames(&mut decoder, &mut reading) {
                        return (FailureReason::BadProtocol, error);
                    }
                    continue;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => format!("its connection broke: {error}"),
            };
            // The writer may have closed it, and knows why.
            let verdict = self.verdict.lock().take();
            return verdict.unwrap_or((FailureReason::ProcessGone, closed));
        }
    }

    fn take_frames(
        self: &Arc<Self>,
        decoder: &mut FrameDecoder,
        reading: &mut Reading<'_>,
    ) -> Result<(), String> {
        while let Some(frame) = decoder.next_frame().map_err(|error| error.to_string())? {
            let channel = frame.channel;
            let message = decode_to_host(frame).map_err(|error| error.to_string())?;
            self.take(channel, message, reading)?;
        }
        Ok(())
    }

    fn take(
        self: &Arc<Self>,
        channel: Channel,
        message: ToHost<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<(), String> {
        let name = message.name();
        if reading.greeted == matches!(message, ToHost::Hello(_)) {
            return Err(text(Breach::Hello(name)));
        }
        if let ToHost::Hello(greeting) = message {
            reading.greeted = true;
            self.last_seen_ms.store(now().0, Ordering::Relaxed);
            // Who ordered the VM may have given up.
            let _ = reading.hello.try_send(Greeting {
                kernel: readable(&greeting.kernel),
                ..greeting
            });
            return Ok(());
        }
        if !message.fits(channel) {
            return Err(text(Breach::OutOfTurn(name)));
        }
        if channel >= STREAMS {
            return self.stream_message(channel, message);
        }
        let mut slots = self.slots.lock();
        let Some(entry) = slots.get_mut(&channel) else {
            drop(slots);
            return self.stray(channel, &message, reading).map_err(text);
        };
        match entry.used.take(&message).map_err(text)? {
            Turn::On(used) => {
                entry.used = used;
                let what = match &mut entry.slot {
                    Slot::Exec(listener) => Going::Exec(Arc::clone(listener)),
                    Slot::TarOut(pipe) => Going::TarOut(Arc::clone(pipe)),
                    Slot::TarIn(gate, _) => Going::TarIn(Arc::clone(gate)),
                    Slot::GivenUp(credits) => return spend(credits, &message),
                    Slot::Question(_) => return Ok(()),
                };
                drop(slots);
                self.goes_on(channel, what, &message)
            }
            Turn::End => {
                let entry = slots.remove(&channel);
                drop(slots);
                self.ends(entry, message);
                Ok(())
            }
        }
    }

    /// A message on a channel that is not in use.
    fn stray(
        &self,
        channel: Channel,
        message: &ToHost<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<(), Breach> {
        if channel >= self.next.load(Ordering::SeqCst) {
            return Err(Breach::Unknown(message.name()));
        }
        if channel >= reading.first {
            return Err(Breach::Ended(message.name()));
        }
        let left = reading.late.checked_sub(message.weight());
        reading.late = left.ok_or(Breach::Late)?;
        Ok(())
    }

    fn goes_on(&self, channel: Channel, what: Going, message: &ToHost<'_>) -> Result<(), String> {
        match (what, message) {
            (Going::Exec(listener), ToHost::Output(stream, bytes)) => {
                let owed = {
                    let mut listener = listener.lock();
                    listener.credits.spend(bytes.len()).map_err(text)?;
                    listener.owed += u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                    if let Some(sink) = &mut listener.sink {
                        listener.held = sink.output(*stream, bytes) == Flow::Hold;
                    }
                    if listener.owed >= WINDOW / 4 {
                        listener.repay()
                    } else {
                        0
                    }
                };
                if owed > 0 {
                    self.send_now(channel, &ToGuest::Credit(owed))
                        .map_err(text)?;
                }
                Ok(())
            }
            (Going::TarOut(pipe), ToHost::Data(bytes)) => pipe.data(bytes).map_err(text),
            (Going::TarIn(gate), ToHost::Credit(bytes)) => gate.add(*bytes).map_err(text),
            // That an execution has begun is of no interest.
            _ => Ok(()),
        }
    }

    /// The agent's last word on a channel.
    fn ends(&self, entry: Option<Entry>, message: ToHost<'_>) {
        let Some(Entry { used, slot }) = entry else {
            return;
        };
        if matches!(used, Use::Ping(_)) {
            self.last_seen_ms.store(now().0, Ordering::Relaxed);
        }
        let answer: Answer = match message {
            ToHost::Ended(end) => {
                if let Slot::Exec(listener) = slot {
                    tell_end(&listener, readable_end(end));
                }
                return;
            }
            ToHost::Finished(summary) => Ok(Word::Done(summary)),
            ToHost::Failed(failure) => Err(readable_failure(&failure)),
            ToHost::Clock(reading) => Ok(Word::Clock(reading)),
            _ => Ok(Word::Done(Default::default())),
        };
        match slot {
            // Nobody waits any more when it cannot be sent.
            Slot::Question(sender) => drop(sender.try_send(answer)),
            Slot::TarIn(gate, sender) => {
                let _ = sender.try_send(answer);
                gate.close();
            }
            Slot::TarOut(pipe) => pipe.end(Some(answer)),
            Slot::Exec(_) | Slot::GivenUp(_) => {}
        }
    }

    /// Tells everybody who waits, once.
    pub(super) fn end(&self, why: &str) {
        let slots = {
            let mut slots = self.slots.lock();
            self.ended.lock().get_or_insert_with(|| why.to_owned());
            std::mem::take(&mut *slots)
        };
        self.outbox.close();
        self.streams.end();
        for entry in slots.into_values() {
            match entry.slot {
                // Dropping the sender wakes the waiting.
                Slot::Question(_) | Slot::GivenUp(_) => {}
                Slot::TarOut(pipe) => pipe.end(None),
                Slot::TarIn(gate, _) => gate.close(),
                Slot::Exec(listener) => {
                    let reason = format!("the VM is gone: {why}");
                    tell_end(&listener, ExecEnd::Lost { reason });
                }
            }
        }
    }
}

/// Who takes what goes on.
enum Going {
    Exec(Arc<Mutex<Listener>>),
    TarOut(Arc<super::TarPipe>),
    TarIn(Arc<crate::gate::Gate>),
}

/// What comes where nobody waits any more is within the window as well.
fn spend(credits: &mut Credits, message: &ToHost<'_>) -> Result<(), String> {
    match message {
        ToHost::Data(bytes) => credits.spend(bytes.len()).map_err(text),
        _ => Ok(()),
    }
}

pub(super) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn tell_end(listener: &Mutex<Listener>, end: ExecEnd) {
    if let Some(mut sink) = listener.lock().sink.take() {
        sink.ended(end);
    }
}

fn readable_end(end: ExecEnd) -> ExecEnd {
    match end {
        ExecEnd::Lost { reason } => ExecEnd::Lost {
            reason: readable(&reason),
        },
        ExecEnd::NotStarted { reason } => ExecEnd::NotStarted {
            reason: readable(&reason),
        },
        end => end,
    }
}

impl Listener {
    /// The credit to give back now.
    pub(super) fn repay(&mut self) -> u32 {
        if self.held {
            return 0;
        }
        // More than was spent cannot be owed.
        let _ = self.credits.add(self.owed);
        std::mem::take(&mut self.owed)
    }
}
