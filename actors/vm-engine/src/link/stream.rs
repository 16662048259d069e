//! The host's end of a stream: what a program in the VM sends to the proxy, and what it gets.

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vm_core::guest::{Breach, CHUNK, Channel, Credits, STREAM_WINDOW, ToGuest, ToHost, Turn, Use};
use vm_core::network::request::MAX_HEAD;

use super::budget::{IN_ALL, Reserved};
use super::shared::text;
use super::{Link, Shared, thread};
use crate::MachineError;
use crate::gate::Gate;
use crate::network::{Uplink, proxy};

/// What a stream may hold of the host's memory: its window, a piece each way, and a head.
const RESERVED: u64 = STREAM_WINDOW as u64 + 2 * CHUNK as u64 + 2 * MAX_HEAD as u64;
/// What may still come on a stream that was closed here: what its credit allows, and a few words.
const LATE: u64 = STREAM_WINDOW as u64 + 16;
/// What may come on closed streams at most, however many were closed.
const MOST_LATE: u64 = 256 * LATE;
/// How long a stream waits for room among what the agent has not read.
const ROOM: Duration = Duration::from_secs(60);

/// All streams of one VM, and what serves them.
#[derive(Default)]
pub(super) struct Streams {
    open: Mutex<HashMap<Channel, Arc<Pipe>>>,
    /// What may still come on streams that were closed.
    late: Mutex<u64>,
    uplink: OnceLock<Arc<Uplink>>,
}

/// What both sides of a stream share: the connection's reader fills it, a thread of the proxy
/// empties it.
struct Pipe {
    inbox: Mutex<Inbox>,
    changed: Condvar,
    gate: Gate,
    /// Ended with the stream, whatever waits for it.
    peer: Mutex<Option<TcpStream>>,
}

/// Never more than the window: what is sent beyond the credit ends the VM. One buffer, so that
/// frames of a byte each cost no more than their bytes.
struct Inbox {
    bytes: VecDeque<u8>,
    credits: Credits,
    /// Bytes taken for which no credit was given back yet.
    owed: u32,
    /// How far the agent is.
    used: Use,
    finished: bool,
    broken: bool,
}

/// What was read of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// The next bytes; not none.
    Bytes(Vec<u8>),
    /// The program has sent all it had.
    End,
    /// Nothing came in time.
    Nothing,
}

/// The stream is gone, or takes nothing in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken;

/// A stream that is served. Dropping it ends it, and tells the agent.
pub(crate) struct GuestStream {
    number: Channel,
    pipe: Arc<Pipe>,
    shared: Arc<Shared>,
    /// Its part of what all VMs may hold; none left means that it is refused.
    reserved: Option<Reserved>,
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
    fn closed(&self, number: Channel) {
        let mut open = self.open.lock();
        open.remove(&number);
        let mut late = self.late.lock();
        *late = (*late + LATE).min(MOST_LATE);
    }

    /// A message about a stream. One that has ended here is no fault of the agent's: its message was
    /// under way.
    fn take(&self, number: Channel, message: &ToHost<'_>) -> Result<(), String> {
        let open = self.open.lock();
        let Some(pipe) = open.get(&number).cloned() else {
            let mut late = self.late.lock();
            let left = late.checked_sub(message.weight());
            *late = left.ok_or_else(|| text(Breach::Late))?;
            return Ok(());
        };
        drop(open);
        let mut inbox = pipe.inbox.lock();
        if let Turn::On(used) = inbox.used.take(message).map_err(text)? {
            inbox.used = used;
        }
        match message {
            ToHost::Data(bytes) => {
                inbox.credits.spend(bytes.len()).map_err(text)?;
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
}

impl Link {
    /// Lets the VM open streams, served by `uplink`.
    pub(crate) fn open_network(
        &self,
        uplink: Arc<Uplink>,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let order = ToGuest::Network(uplink.limits.streams);
        if self.shared.streams.uplink.set(uplink).is_err() {
            return Err(MachineError::Unsupported("give a VM a second network"));
        }
        self.ask(Use::Order, &order, deadline).map(drop)
    }

    /// How many streams are served.
    #[cfg(test)]
    pub(crate) fn open_streams(&self) -> usize {
        self.shared.streams.open.lock().len()
    }
}

impl Shared {
    pub(super) fn stream_message(
        self: &Arc<Self>,
        number: Channel,
        message: ToHost<'_>,
    ) -> Result<(), String> {
        match message {
            ToHost::Open => self.open_stream(number),
            message => self.streams.take(number, &message),
        }
    }

    /// A program has connected: serves it in a thread. The agent counts a stream until it hears that
    /// it is closed, so more than it may open is no accident.
    fn open_stream(self: &Arc<Self>, number: Channel) -> Result<(), String> {
        let Some(uplink) = self.streams.uplink.get() else {
            return Err("a stream was opened in a VM without network".to_owned());
        };
        let pipe = Arc::new(Pipe::new());
        {
            let mut open = self.streams.open.lock();
            if open.contains_key(&number) {
                return Err(format!("a stream was opened with the number {number}"));
            }
            if open.len() >= usize::from(uplink.limits.streams) {
                return Err(format!("more than {} streams", uplink.limits.streams));
            }
            open.insert(number, Arc::clone(&pipe));
        }
        let stream = GuestStream {
            number,
            pipe,
            shared: Arc::clone(self),
            reserved: IN_ALL.reserve(RESERVED),
        };
        let uplink = Arc::clone(uplink);
        // Without a thread it is dropped, which closes it.
        let _ = thread("vm-stream").spawn(move || proxy::serve(&uplink, &stream));
        Ok(())
    }
}

impl Pipe {
    fn new() -> Self {
        let credits = Credits::of(STREAM_WINDOW);
        Self {
            inbox: Mutex::new(Inbox {
                bytes: VecDeque::new(),
                credits,
                owed: 0,
                used: Use::Stream { finished: false },
                finished: false,
                broken: false,
            }),
            changed: Condvar::new(),
            gate: Gate::new(credits),
            peer: Mutex::new(None),
        }
    }

    fn break_off(&self) {
        self.inbox.lock().broken = true;
        self.changed.notify_all();
        self.gate.close();
        if let Some(peer) = &*self.peer.lock() {
            let _ = peer.shutdown(Shutdown::Both);
        }
    }
}

impl GuestStream {
    /// Ends with this stream from now on.
    ///
    /// # Errors
    /// [`Broken`] when the stream is gone, or the system has no handle for it.
    pub(crate) fn tie(&self, peer: &TcpStream) -> Result<(), Broken> {
        *self.pipe.peer.lock() = Some(peer.try_clone().map_err(|_| Broken)?);
        if self.pipe.inbox.lock().broken {
            self.break_off();
            return Err(Broken);
        }
        Ok(())
    }

    /// What came next, at most [`CHUNK`] bytes of it.
    ///
    /// # Errors
    /// [`Broken`] when the stream is gone.
    pub(crate) fn read(&self, deadline: Duration) -> Result<Came, Broken> {
        let until = Instant::now() + deadline;
        let mut inbox = self.pipe.inbox.lock();
        loop {
            if inbox.broken {
                return Err(Broken);
            }
            if !inbox.bytes.is_empty() {
                let count = inbox.bytes.len().min(CHUNK);
                let bytes: Vec<u8> = inbox.bytes.drain(..count).collect();
                let credit = inbox.took(count);
                drop(inbox);
                if credit > 0 {
                    self.send(&ToGuest::Credit(credit))?;
                }
                return Ok(Came::Bytes(bytes));
            }
            if inbox.finished {
                return Ok(Came::End);
            }
            if self.pipe.changed.wait_until(&mut inbox, until).timed_out() {
                return Ok(Came::Nothing);
            }
        }
    }

    /// Sends all of it, as the program takes it.
    ///
    /// # Errors
    /// [`Broken`] when the stream is gone, or nothing was taken for so long.
    pub(crate) fn write(&self, mut bytes: &[u8], deadline: Duration) -> Result<(), Broken> {
        while !bytes.is_empty() {
            let granted = self.pipe.gate.take(bytes.len().min(CHUNK), deadline);
            let Some(granted @ 1..) = granted else {
                return Err(Broken);
            };
            let (now, later) = bytes.split_at(granted);
            self.send(&ToGuest::Data(now.into()))?;
            bytes = later;
        }
        Ok(())
    }

    /// Nothing more will be written.
    ///
    /// # Errors
    /// [`Broken`] when the stream was broken off: that is not to look like an end.
    pub(crate) fn finish(&self) -> Result<(), Broken> {
        if self.pipe.inbox.lock().broken {
            return Err(Broken);
        }
        self.send(&ToGuest::Finish)
    }

    /// Whether there was memory for it among that of all VMs.
    pub(crate) fn has_room(&self) -> bool {
        self.reserved.is_some()
    }

    /// Wakes whoever waits for it; it ends.
    pub(crate) fn break_off(&self) {
        self.pipe.break_off();
    }

    fn send(&self, message: &ToGuest<'_>) -> Result<(), Broken> {
        self.shared
            .send(self.number, message, ROOM)
            .map_err(|_| Broken)
    }
}

impl Inbox {
    /// The credit to give back now.
    fn took(&mut self, count: usize) -> u32 {
        self.owed += u32::try_from(count).unwrap_or(u32::MAX);
        if self.owed < STREAM_WINDOW / 4 {
            return 0;
        }
        // More than was spent cannot be owed.
        let _ = self.credits.add(self.owed);
        std::mem::take(&mut self.owed)
    }
}

impl Drop for GuestStream {
    fn drop(&mut self) {
        self.pipe.break_off();
        self.shared.streams.closed(self.number);
        // After it is off the list: the agent may open another when it hears of this. It may be the
        // reader that drops it, so this does not wait.
        if let Err(breach) = self.shared.send_now(self.number, &ToGuest::Closed) {
            let reason = vm_core::FailureReason::BadProtocol;
            self.shared.condemn(reason, breach.to_string());
        }
    }
}
