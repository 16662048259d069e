//! The connection to the agent in a VM: channels, credit, and what becomes of both when it breaks.
//!
//! ```text
//! callers ──frames──▶ outbox ──writer thread──▶ socket ──▶ agent
//! callers ◀─answers── channels ◀reader thread─── socket ◀── agent
//! ```
//!
//! The reader never waits: a guest that reads slowly would stop the reading of what it sends, and
//! each would wait for the other. The guest may be hostile: nothing here grows with what it sends
//! or does not read. What is under way on a channel is within its window, what waits to be written
//! is within the outbox, windows of all VMs together are within [`budget`], and what is not in turn
//! ends the VM.

mod answer;
mod budget;
mod clock;
mod connection;
mod guest_stream;
mod outbox;
mod reader;
mod streams;
mod tar;
mod tar_pipe;
mod terminal;
mod thread;

#[cfg(test)]
mod tests;

use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use vm_core::guest::{Channel, ChannelUse, Credits, Greeting, TERMINAL_WINDOW, ToGuest};
use vm_core::{ExecSpec, FailureReason, UnixMs};

use answer::{GuestReply, GuestReplyResult};
pub use budget::bound_buffers;
use connection::{ChannelWaiter, ExecListener, LinkConnection, OpenChannel, SEND_TIMEOUT};
use reader::LinkReader;
use thread::thread;

pub(crate) use connection::{FIRST, FIRST_OF_CLONE};
pub(crate) use guest_stream::{GuestStream, StreamBroken, StreamRead, StreamServer};

use crate::error::MachineError;
use crate::exec::{ExecSink, ExecTicket};
use crate::gate::SendWindow;

/// Called once, when the connection has ended by itself.
pub(crate) type OnDisconnect = Box<dyn FnOnce(FailureReason, String) -> String + Send>;

/// Executions and transfers at once in one VM; the agent refuses a few more than these.
const MAX_CHANNELS: usize = 60;
/// Time between two looks whether anything is under way.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// How long an agent may take nothing of what waits for it.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(60);

/// The connection. Cheap to share.
#[derive(Clone)]
pub(crate) struct GuestLink {
    connection: Arc<LinkConnection>,
    /// What serves streams, once the VM has a network.
    server: Arc<OnceLock<StreamServer>>,
}

impl GuestLink {
    /// Serves a connected socket, with channels numbered from `first` on. The receiver gives the
    /// agent's hello.
    pub(crate) fn new(
        socket: UnixStream,
        first: Channel,
        on_disconnect: OnDisconnect,
    ) -> std::io::Result<(Self, Receiver<Greeting>)> {
        Self::with_read_timeout(socket, first, UNREAD_TIMEOUT, on_disconnect)
    }

    fn with_read_timeout(
        socket: UnixStream,
        first: Channel,
        unread: Duration,
        on_disconnect: OnDisconnect,
    ) -> std::io::Result<(Self, Receiver<Greeting>)> {
        let writing = socket.try_clone()?;
        writing.set_write_timeout(Some(unread))?;
        let reading = socket.try_clone()?;
        let connection = Arc::new(LinkConnection::new(socket, first));
        let server = Arc::default();
        let (hello, greeting) = sync_channel(1);
        let own = Arc::clone(&connection);
        thread("vm-writer").spawn(move || own.write_all(writing, unread))?;
        let own = Arc::clone(&connection);
        let reader = LinkReader::new(Arc::clone(&own), Arc::clone(&server), first, hello);
        let reader = thread("vm-reader").spawn(move || {
            let (reason, detail) = reader.run(reading);
            let detail = on_disconnect(reason, detail);
            own.end(&detail);
        });
        if let Err(error) = reader {
            // The writer waits for something to write, or for this.
            connection.outbox.close();
            return Err(error);
        }
        Ok((Self { connection, server }, greeting))
    }

    /// Lets the VM open streams, served by `server`.
    pub(crate) fn open_network(
        &self,
        server: StreamServer,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let request = ToGuest::Network(server.streams);
        if self.server.set(server).is_err() {
            return Err(MachineError::Unsupported("give a VM a second network"));
        }
        self.ask(ChannelUse::Request, &request, deadline).map(drop)
    }

    /// Waits until nothing is under way: no execution, no request, no stream, and nothing to be
    /// written or read. What the guest sends afterwards is not held back by this.
    ///
    /// # Errors
    /// [`MachineError::InUse`] when something still is after `deadline`.
    pub(crate) fn await_rest(&self, deadline: Duration) -> Result<(), MachineError> {
        let start = Instant::now();
        // Twice: what was read the first time may not have been looked at.
        let mut at_rest = 0;
        loop {
            match self.connection.under_way() {
                None if at_rest == 1 => return Ok(()),
                None => at_rest += 1,
                Some(what) if start.elapsed() >= deadline => return Err(MachineError::InUse(what)),
                Some(_) => at_rest = 0,
            }
            std::thread::park_timeout(LOOK_INTERVAL);
        }
    }

    /// How many streams are served.
    #[cfg(test)]
    pub(crate) fn open_streams(&self) -> usize {
        self.connection.streams.len()
    }

    /// Ends the connection; whoever waits is told.
    pub(crate) fn close(&self, why: &str) {
        self.connection.end(why);
        self.connection.disconnect();
    }

    /// When the agent last answered a ping, or the connection began.
    pub(crate) fn last_seen(&self) -> UnixMs {
        UnixMs(self.connection.last_seen_ms.load(Ordering::Relaxed))
    }

    /// Pings the agent.
    pub(crate) fn ping(&self, deadline: Duration) -> Result<Duration, MachineError> {
        let start = Instant::now();
        let nonce = nonce();
        self.ask(ChannelUse::Ping(nonce), &ToGuest::Ping(nonce), deadline)?;
        Ok(start.elapsed())
    }

    /// Starts something.
    pub(crate) fn exec(
        &self,
        spec: ExecSpec,
        sink: Box<dyn ExecSink>,
    ) -> Result<ExecTicket, MachineError> {
        let typing = Credits::new(TERMINAL_WINDOW);
        let listener = ExecListener {
            sink: Some(sink),
            credits: Credits::default(),
            owed: 0,
            held: false,
            input: spec.terminal.map(|_| Arc::new(SendWindow::new(typing))),
        };
        let used = match spec.terminal {
            Some(_) => ChannelUse::Terminal { started: false },
            None => ChannelUse::Exec { started: false },
        };
        let waiter = ChannelWaiter::Exec(Arc::new(Mutex::new(listener)));
        let channel = self.register(used, waiter)?;
        self.request(channel, &ToGuest::Exec(spec), SEND_TIMEOUT)?;
        Ok(ExecTicket(channel))
    }

    /// Kills an execution, after so long to clean up; one that has ended is left alone.
    pub(crate) fn kill_exec(
        &self,
        ticket: ExecTicket,
        grace: Duration,
    ) -> Result<(), MachineError> {
        let message = match u32::try_from(grace.as_millis()) {
            Ok(0) => ToGuest::Kill,
            ms => ToGuest::Terminate(ms.unwrap_or(u32::MAX)),
        };
        if self.connection.channels.lock().contains_key(&ticket.0) {
            self.send(ticket.0, &message, SEND_TIMEOUT)
        } else {
            Ok(())
        }
    }

    /// Gives the credit that a sink has held back.
    pub(crate) fn resume_output(&self, ticket: ExecTicket) -> Result<(), MachineError> {
        let listener = match self.connection.channels.lock().get(&ticket.0) {
            Some(OpenChannel {
                waiter: ChannelWaiter::Exec(listener),
                ..
            }) => Arc::clone(listener),
            _ => return Ok(()),
        };
        let owed = {
            let mut listener = listener.lock();
            listener.held = false;
            listener.repay()
        };
        if owed > 0 {
            self.send(ticket.0, &ToGuest::Credit(owed), SEND_TIMEOUT)
        } else {
            Ok(())
        }
    }

    /// A request that is done, or not.
    fn ask(
        &self,
        used: ChannelUse,
        request: &ToGuest<'_>,
        deadline: Duration,
    ) -> Result<GuestReply, MachineError> {
        let start = Instant::now();
        let (channel, answer) = self.start_request(used, request, deadline)?;
        self.await_answer(channel, &answer, deadline.saturating_sub(start.elapsed()))
    }

    fn start_request(
        &self,
        used: ChannelUse,
        request: &ToGuest<'_>,
        deadline: Duration,
    ) -> Result<(Channel, Receiver<GuestReplyResult>), MachineError> {
        let (sender, answer) = sync_channel(1);
        let channel = self.register(used, ChannelWaiter::Question(sender))?;
        self.request(channel, request, deadline)?;
        Ok((channel, answer))
    }

    fn await_answer(
        &self,
        channel: Channel,
        answer: &Receiver<GuestReplyResult>,
        deadline: Duration,
    ) -> GuestReplyResult {
        match answer.recv_timeout(deadline) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => Err(self.connection.terminated()),
            Err(RecvTimeoutError::Timeout) => {
                self.abandon(channel);
                // It may have come this moment.
                answer
                    .try_recv()
                    .unwrap_or(Err(MachineError::Silent(deadline)))
            }
        }
    }

    fn register(&self, used: ChannelUse, waiter: ChannelWaiter) -> Result<Channel, MachineError> {
        let mut channels = self.connection.channels.lock();
        if self.connection.ended.lock().is_some() {
            return Err(self.connection.terminated());
        }
        if channels.len() >= MAX_CHANNELS {
            return Err(MachineError::Busy(MAX_CHANNELS));
        }
        let channel = self.connection.next.fetch_add(1, Ordering::SeqCst);
        channels.insert(channel, OpenChannel { used, waiter });
        Ok(channel)
    }

    /// Nobody waits for this channel any more; the agent's last word on it may still come.
    fn abandon(&self, channel: Channel) {
        if let Some(open) = self.connection.channels.lock().get_mut(&channel) {
            let credits = match &open.waiter {
                ChannelWaiter::TarOut(pipe) => pipe.credits(),
                _ => Credits::default(),
            };
            open.waiter = ChannelWaiter::GivenUp(credits);
        }
    }

    /// Sends the first message of a channel; without it the channel is not in use.
    fn request(
        &self,
        channel: Channel,
        message: &ToGuest<'_>,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let sent = self.send(channel, message, deadline);
        if sent.is_err() {
            self.connection.channels.lock().remove(&channel);
        }
        sent
    }

    fn send(
        &self,
        channel: Channel,
        message: &ToGuest<'_>,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        self.connection.send(channel, message, deadline)
    }
}

/// A number that a guest cannot guess: it was to be read to be said.
fn nonce() -> u64 {
    getrandom::u64().expect("Linux gives random bytes to whoever asks")
}

/// Told when a hello does not come as it should.
pub(crate) fn await_hello(
    greeting: &Receiver<Greeting>,
    deadline: Duration,
) -> Result<Greeting, HelloFailure> {
    match greeting.recv_timeout(deadline) {
        Ok(greeting) => Ok(greeting),
        Err(RecvTimeoutError::Timeout) => Err(HelloFailure::Deadline),
        Err(RecvTimeoutError::Disconnected) => Err(HelloFailure::Disconnected),
    }
}

/// Why no hello came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HelloFailure {
    /// Not in time.
    Deadline,
    /// The connection ended before.
    Disconnected,
}
