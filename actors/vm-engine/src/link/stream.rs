//! The host's end of a stream: what a program in the VM sends to the proxy, and what it gets.

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use vm_core::guest::{CHUNK, Channel, Credits, STREAM_WINDOW, STREAMS, ToGuest};

use super::{Link, Shared, thread};
use crate::MachineError;
use crate::gate::Gate;
use crate::network::{Uplink, proxy};

/// All streams of one VM, and what serves them.
#[derive(Default)]
pub(super) struct Streams {
    open: Mutex<HashMap<Channel, Arc<Pipe>>>,
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
}

impl Streams {
    /// The connection is gone.
    pub(super) fn end(&self) {
        let open: Vec<_> = self.open.lock().values().cloned().collect();
        for pipe in open {
            pipe.break_off();
        }
    }

    pub(super) fn data(&self, number: Channel, bytes: &[u8]) -> Result<(), String> {
        let Some(pipe) = self.get(number) else {
            return Ok(());
        };
        let mut inbox = pipe.inbox.lock();
        let spent = inbox.credits.spend(bytes.len());
        spent.map_err(|error| error.to_string())?;
        if inbox.finished {
            return Err("a stream went on after its end".to_owned());
        }
        inbox.bytes.extend(bytes);
        pipe.changed.notify_all();
        Ok(())
    }

    pub(super) fn credit(&self, number: Channel, bytes: u32) {
        if let Some(pipe) = self.get(number) {
            pipe.gate.add(bytes);
        }
    }

    pub(super) fn finish(&self, number: Channel) {
        if let Some(pipe) = self.get(number) {
            pipe.inbox.lock().finished = true;
            pipe.changed.notify_all();
        }
    }

    pub(super) fn abort(&self, number: Channel) {
        if let Some(pipe) = self.get(number) {
            pipe.break_off();
        }
    }

    /// One that has ended here is no fault of the agent's: its message was under way.
    fn get(&self, number: Channel) -> Option<Arc<Pipe>> {
        self.open.lock().get(&number).cloned()
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
        self.ask(&order, deadline).map(drop)
    }

    /// How many streams are served.
    #[cfg(test)]
    pub(crate) fn open_streams(&self) -> usize {
        self.shared.streams.open.lock().len()
    }
}

impl Shared {
    /// A program has connected: serves it in a thread. The agent counts a stream until it hears that
    /// it is closed, so more than it may open is no accident.
    pub(super) fn open_stream(self: &Arc<Self>, number: Channel) -> Result<(), String> {
        let Some(uplink) = self.streams.uplink.get() else {
            return Err("a stream was opened in a VM without network".to_owned());
        };
        let pipe = Arc::new(Pipe::new());
        {
            let mut open = self.streams.open.lock();
            if number < STREAMS || open.contains_key(&number) {
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

    /// Wakes whoever waits for it; it ends.
    pub(crate) fn break_off(&self) {
        self.pipe.break_off();
    }

    fn send(&self, message: &ToGuest<'_>) -> Result<(), Broken> {
        self.shared.send(self.number, message).map_err(|_| Broken)
    }
}

impl Inbox {
    /// The credit to give back now.
    fn took(&mut self, count: usize) -> u32 {
        self.owed += u32::try_from(count).unwrap_or(u32::MAX);
        if self.owed < STREAM_WINDOW / 4 {
            return 0;
        }
        self.credits.add(self.owed);
        std::mem::take(&mut self.owed)
    }
}

impl Drop for GuestStream {
    fn drop(&mut self) {
        self.pipe.break_off();
        self.shared.streams.open.lock().remove(&self.number);
        // After it is off the list: the agent may open another when it hears of this.
        let _ = self.send(&ToGuest::Closed);
    }
}
