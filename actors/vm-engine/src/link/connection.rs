//! What the threads of a connection and all its callers have in common: the channels in use, what
//! waits to be written, and why it ended.

use std::collections::HashMap;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use parking_lot::Mutex;
use vm_core::guest::{Channel, ChannelUse, Credits, ProtocolViolation, ToGuest, encode_to_guest};
use vm_core::{ExecEnd, FailureReason};

use super::answer::GuestReplyResult;
use super::outbox::{Outbox, OutboxRefusal};
use super::streams::Streams;
use super::tar_pipe::TarPipe;
use super::thread::now;
use crate::error::MachineError;
use crate::exec::ExecSink;
use crate::gate::SendWindow;

/// The first channel of a VM that was booted.
pub(crate) const FIRST: Channel = 1;
/// The first channel of a clone: its agent may still be busy with the template's last ones.
pub(crate) const FIRST_OF_CLONE: Channel = 10_000;

/// How long a caller without a deadline of its own waits for room in the outbox.
pub(super) const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// A channel in use.
pub(super) struct OpenChannel {
    pub(super) used: ChannelUse,
    pub(super) waiter: ChannelWaiter,
}

/// What waits on a channel.
pub(super) enum ChannelWaiter {
    Question(SyncSender<GuestReplyResult>),
    Exec(Arc<Mutex<ExecListener>>),
    TarIn(Arc<SendWindow>, SyncSender<GuestReplyResult>),
    TarOut(Arc<TarPipe>),
    /// Nobody waits any more, but the agent's last word is still to come. What it may send until
    /// then.
    GivenUp(Credits),
}

/// Who listens to an execution.
pub(super) struct ExecListener {
    /// Taken when the end was told.
    pub(super) sink: Option<Box<dyn ExecSink>>,
    pub(super) credits: Credits,
    /// Bytes taken for which no credit was given back yet.
    pub(super) owed: u32,
    pub(super) held: bool,
    /// What may be typed on its terminal, when it has one.
    pub(super) input: Option<Arc<SendWindow>>,
}

/// What both threads and all callers share.
pub(super) struct LinkConnection {
    pub(super) channels: Mutex<HashMap<Channel, OpenChannel>>,
    /// The next channel's number.
    pub(super) next: AtomicU32,
    /// Why the connection has ended.
    pub(super) ended: Mutex<Option<String>>,
    /// Why it is to end, found by another thread than the reader.
    pub(super) verdict: Mutex<Option<(FailureReason, String)>>,
    pub(super) outbox: Outbox,
    /// What programs in the VM have opened.
    pub(super) streams: Streams,
    /// When a ping was answered last.
    pub(super) last_seen_ms: AtomicU64,
    pub(super) socket: UnixStream,
}

impl LinkConnection {
    pub(super) fn new(socket: UnixStream, first: Channel) -> Self {
        Self {
            channels: Mutex::default(),
            next: AtomicU32::new(first),
            ended: Mutex::default(),
            verdict: Mutex::default(),
            outbox: Outbox::default(),
            streams: Streams::default(),
            last_seen_ms: AtomicU64::new(now().0),
            socket,
        }
    }

    /// Writes what waits, until the connection ends.
    pub(super) fn write_all(&self, mut socket: UnixStream, unread: Duration) {
        use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        let mut piece = Vec::new();
        while self.outbox.take(&mut piece) {
            let mut rest = &piece[..];
            while !rest.is_empty() {
                match socket.write(rest) {
                    Ok(count @ 1..) => rest = &rest[count..],
                    Err(error) if error.kind() == Interrupted => {}
                    Err(error) if matches!(error.kind(), WouldBlock | TimedOut) => {
                        let waiting = self.outbox.waiting() + rest.len();
                        let detail = format!(
                            "its agent has read nothing for {} ms, and {waiting} bytes wait for it",
                            unread.as_millis()
                        );
                        return self.fail(FailureReason::GuestSilent, detail);
                    }
                    // The reader finds the connection closed.
                    Ok(0) | Err(_) => return,
                }
            }
        }
    }

    /// Ends the connection for this reason, unless there is one already: the reader tells it.
    pub(super) fn fail(&self, reason: FailureReason, detail: String) {
        self.verdict.lock().get_or_insert((reason, detail));
        self.disconnect();
    }

    pub(super) fn disconnect(&self) {
        // One that is closed already needs no closing.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }

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
                OutboxRefusal::Closed => self.terminated(),
                OutboxRefusal::Full(_) => MachineError::Silent(deadline),
            })
    }

    /// Sends a small message from a thread that must not wait. An agent that reads always leaves
    /// room for it.
    pub(super) fn send_now(
        &self,
        channel: Channel,
        message: &ToGuest<'_>,
    ) -> Result<(), ProtocolViolation> {
        let mut bytes = Vec::new();
        // Small ones always fit into a frame.
        let _ = encode_to_guest(channel, message, &mut bytes);
        match self.outbox.put_now(&bytes) {
            // What has ended is told by whoever has ended it.
            Ok(()) | Err(OutboxRefusal::Closed) => Ok(()),
            Err(OutboxRefusal::Full(waiting)) => Err(ProtocolViolation::Unread(waiting)),
        }
    }

    /// What is under way on this connection, for people.
    pub(super) fn under_way(&self) -> Option<&'static str> {
        let unread = rustix::io::ioctl_fionread(&self.socket).unwrap_or(0);
        if !self.channels.lock().is_empty() {
            Some("something runs in this VM, or files are on their way")
        } else if self.streams.len() > 0 {
            Some("a program in this VM has a connection open")
        } else if self.outbox.waiting() > 0 || unread > 0 {
            Some("this VM and its manager have something to say to each other")
        } else {
            None
        }
    }

    pub(super) fn terminated(&self) -> MachineError {
        MachineError::Terminated(
            self.ended
                .lock()
                .clone()
                .unwrap_or_else(|| "its connection has ended".to_owned()),
        )
    }

    /// Tells everybody who waits, once.
    pub(super) fn end(&self, why: &str) {
        let channels = {
            let mut channels = self.channels.lock();
            self.ended.lock().get_or_insert_with(|| why.to_owned());
            std::mem::take(&mut *channels)
        };
        self.outbox.close();
        self.streams.end();
        for channel in channels.into_values() {
            match channel.waiter {
                // Dropping the sender wakes the waiting.
                ChannelWaiter::Question(_) | ChannelWaiter::GivenUp(_) => {}
                ChannelWaiter::TarOut(pipe) => pipe.end(None),
                ChannelWaiter::TarIn(gate, _) => gate.close(),
                ChannelWaiter::Exec(listener) => {
                    let reason = format!("the VM is gone: {why}");
                    notify_end(&listener, ExecEnd::Lost { reason });
                }
            }
        }
    }
}

pub(super) fn notify_end(listener: &Mutex<ExecListener>, end: ExecEnd) {
    let mut listener = listener.lock();
    if let Some(input) = &listener.input {
        input.close();
    }
    if let Some(mut sink) = listener.sink.take() {
        sink.ended(end);
    }
}

impl ExecListener {
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
