//! The streams that programs in a VM have opened: what came on them and was not read yet.

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use vm_core::guest::{
    Channel, ChannelTransition, ChannelUse, Credits, ProtocolViolation, STREAM_WINDOW, ToHost,
};

use super::answer::text;
use crate::gate::SendWindow;

/// What may still come on a stream that was closed here: what its credit allows, and a few words.
const LATE: u64 = STREAM_WINDOW as u64 + 16;
/// What may come on closed streams at most, however many were closed.
const MOST_LATE: u64 = 256 * LATE;
/// All streams of one VM.
#[derive(Default)]
pub(super) struct Streams {
    open: Mutex<HashMap<Channel, Arc<StreamPipe>>>,
    /// What may still come on streams that were closed.
    late: Mutex<u64>,
}

/// What both sides of a stream share: the connection's reader fills it, a thread of the proxy
/// empties it.
pub(super) struct StreamPipe {
    pub(super) inbox: Mutex<StreamInbox>,
    pub(super) changed: Condvar,
    pub(super) gate: SendWindow,
    /// Ended with the stream, whatever waits for it.
    pub(super) peer: Mutex<Option<TcpStream>>,
}

/// Never more than the window: what is sent beyond the credit ends the VM. One buffer, so that
/// frames of a byte each cost no more than their bytes.
pub(super) struct StreamInbox {
    pub(super) bytes: VecDeque<u8>,
    credits: Credits,
    /// Bytes taken for which no credit was given back yet.
    owed: u32,
    /// How far the agent is.
    used: ChannelUse,
    pub(super) finished: bool,
    pub(super) broken: bool,
}

impl Streams {
    /// The connection is gone.
    pub(super) fn end(&self) {
        let open: Vec<_> = self.open.lock().values().cloned().collect();
        for pipe in open {
            pipe.break_off();
        }
    }

    /// Forgets one, and remembers what may still be under way on it.
    pub(super) fn closed(&self, number: Channel) {
        let mut open = self.open.lock();
        open.remove(&number);
        let mut late = self.late.lock();
        *late = (*late + LATE).min(MOST_LATE);
    }

    /// A message about a stream. One that has ended here is no fault of the agent's: its message
    /// was under way.
    pub(super) fn take(&self, number: Channel, message: &ToHost<'_>) -> Result<(), String> {
        let open = self.open.lock();
        let Some(pipe) = open.get(&number).cloned() else {
            let mut late = self.late.lock();
            let left = late.checked_sub(message.weight());
            *late = left.ok_or_else(|| text(ProtocolViolation::Late))?;
            return Ok(());
        };
        drop(open);
        let mut inbox = pipe.inbox.lock();
        if let ChannelTransition::On(used) = inbox.used.take(message).map_err(text)? {
            inbox.used = used;
        }
        match message {
            ToHost::Data(bytes) => {
                inbox.credits.consume(bytes.len()).map_err(text)?;
                inbox.bytes.extend(&bytes[..]);
            }
            ToHost::Finish => inbox.finished = true,
            ToHost::Credit(bytes) => {
                drop(inbox);
                return pipe.gate.add(*bytes).map_err(text);
            }
            _ => {
                drop(inbox);
                pipe.break_off();
                return Ok(());
            }
        }
        drop(inbox);
        pipe.changed.notify_all();
        Ok(())
    }

    /// A program has connected: a stream of this number, unless `most` are open.
    pub(super) fn open(&self, number: Channel, most: u16) -> Result<Arc<StreamPipe>, String> {
        let mut open = self.open.lock();
        if open.contains_key(&number) {
            return Err(format!("a stream was opened with the number {number}"));
        }
        if open.len() >= usize::from(most) {
            return Err(format!("more than {most} streams"));
        }
        let pipe = Arc::new(StreamPipe::new());
        open.insert(number, Arc::clone(&pipe));
        Ok(pipe)
    }

    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.open.lock().len()
    }
}

impl StreamPipe {
    fn new() -> Self {
        let credits = Credits::new(STREAM_WINDOW);
        Self {
            inbox: Mutex::new(StreamInbox {
                bytes: VecDeque::new(),
                credits,
                owed: 0,
                used: ChannelUse::Stream { finished: false },
                finished: false,
                broken: false,
            }),
            changed: Condvar::new(),
            gate: SendWindow::new(credits),
            peer: Mutex::new(None),
        }
    }

    pub(super) fn break_off(&self) {
        self.inbox.lock().broken = true;
        self.changed.notify_all();
        self.gate.close();
        if let Some(peer) = &*self.peer.lock() {
            let _ = peer.shutdown(Shutdown::Both);
        }
    }
}

impl StreamInbox {
    /// The credit to give back now.
    pub(super) fn consume(&mut self, count: usize) -> u32 {
        self.owed += u32::try_from(count).unwrap_or(u32::MAX);
        if self.owed < STREAM_WINDOW / 4 {
            return 0;
        }
        // More than was spent cannot be owed.
        let _ = self.credits.add(self.owed);
        std::mem::take(&mut self.owed)
    }
}
