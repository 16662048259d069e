//! The host's end of a stream: what a program in the VM sends to the proxy, and what it gets.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vm_core::guest::{CHUNK, Channel, STREAM_WINDOW, ToGuest};
use vm_core::network::request::MAX_HEAD;

use super::budget::{ALL_VMS, BudgetReservation};
use super::connection::LinkConnection;
use super::streams::StreamPipe;

/// What a stream may hold of the host's memory: its window, a piece each way, and a head.
const RESERVED: u64 = STREAM_WINDOW as u64 + 2 * CHUNK as u64 + 2 * MAX_HEAD as u64;
/// How long a stream waits for room among what the agent has not read.
const ROOM_TIMEOUT: Duration = Duration::from_secs(60);

/// What was read of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamRead {
    /// The next bytes; not none.
    Bytes(Vec<u8>),
    /// The program has sent all it had.
    End,
    /// Nothing came in time.
    TimedOut,
}

/// The stream is gone, or takes nothing in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StreamBroken;

/// A stream that is served. Dropping it ends it, and tells the agent.
pub(crate) struct GuestStream {
    number: Channel,
    pipe: Arc<StreamPipe>,
    connection: Arc<LinkConnection>,
    /// Its part of what all VMs may hold; none left means that it is refused.
    reserved: Option<BudgetReservation>,
}

/// Serves the streams of one VM.
pub(crate) struct StreamServer {
    /// The most that are open at once.
    pub(crate) streams: u16,
    /// Serves one to its end; called in a thread of its own.
    pub(crate) serve: Arc<dyn Fn(&GuestStream) + Send + Sync>,
}

impl GuestStream {
    pub(super) fn new(
        number: Channel,
        pipe: Arc<StreamPipe>,
        connection: Arc<LinkConnection>,
    ) -> Self {
        Self {
            number,
            pipe,
            connection,
            reserved: ALL_VMS.reserve(RESERVED),
        }
    }

    /// Ends with this stream from now on.
    ///
    /// # Errors
    /// [`StreamBroken`] when the stream is gone, or the system has no handle for it.
    pub(crate) fn tie(&self, peer: &TcpStream) -> Result<(), StreamBroken> {
        *self.pipe.peer.lock() = Some(peer.try_clone().map_err(|_| StreamBroken)?);
        if self.pipe.inbox.lock().broken {
            self.break_off();
            return Err(StreamBroken);
        }
        Ok(())
    }

    /// What came next, at most [`CHUNK`] bytes of it.
    ///
    /// # Errors
    /// [`StreamBroken`] when the stream is gone.
    pub(crate) fn read(&self, deadline: Duration) -> Result<StreamRead, StreamBroken> {
        let until = Instant::now() + deadline;
        let mut inbox = self.pipe.inbox.lock();
        loop {
            if inbox.broken {
                return Err(StreamBroken);
            }
            if !inbox.bytes.is_empty() {
                let count = inbox.bytes.len().min(CHUNK);
                let bytes: Vec<u8> = inbox.bytes.drain(..count).collect();
                let credit = inbox.consume(count);
                drop(inbox);
                if credit > 0 {
                    self.send(&ToGuest::Credit(credit))?;
                }
                return Ok(StreamRead::Bytes(bytes));
            }
            if inbox.finished {
                return Ok(StreamRead::End);
            }
            if self.pipe.changed.wait_until(&mut inbox, until).timed_out() {
                return Ok(StreamRead::TimedOut);
            }
        }
    }

    /// Sends all of it, as the program takes it.
    ///
    /// # Errors
    /// [`StreamBroken`] when the stream is gone, or nothing was taken for so long.
    pub(crate) fn write(&self, mut bytes: &[u8], deadline: Duration) -> Result<(), StreamBroken> {
        while !bytes.is_empty() {
            let granted = self.pipe.gate.take(bytes.len().min(CHUNK), deadline);
            let Some(granted @ 1..) = granted else {
                return Err(StreamBroken);
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
    /// [`StreamBroken`] when the stream was broken off: that is not to look like an end.
    pub(crate) fn finish(&self) -> Result<(), StreamBroken> {
        if self.pipe.inbox.lock().broken {
            return Err(StreamBroken);
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

    fn send(&self, message: &ToGuest<'_>) -> Result<(), StreamBroken> {
        self.connection
            .send(self.number, message, ROOM_TIMEOUT)
            .map_err(|_| StreamBroken)
    }
}

impl Drop for GuestStream {
    fn drop(&mut self) {
        self.pipe.break_off();
        self.connection.streams.closed(self.number);
        // After it is off the list: the agent may open another when it hears of this. It may be the
        // reader that drops it, so this does not wait.
        if let Err(breach) = self.connection.send_now(self.number, &ToGuest::Closed) {
            let reason = vm_core::FailureReason::BadProtocol;
            self.connection.fail(reason, breach.to_string());
        }
    }
}
