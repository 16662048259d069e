//! The connection to the agent in a VM: channels, credit, and what becomes of both when it breaks.
//!
//! ```text
//! callers ──frames──▶ queue ──writer thread──▶ socket ──▶ agent
//! callers ◀─answers── slots ◀─reader thread─── socket ◀── agent
//! ```
//!
//! The reader never writes to the socket itself: a guest that reads slowly would stop the reading of
//! what it sends, and each would wait for the other.

mod shared;
mod stream;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use vm_core::guest::{CHUNK, Channel, Credits, Greeting, TarSummary, ToGuest, WINDOW};
use vm_core::{ExecSpec, FailureReason, UnixMs};

use stream::Streams;
pub(crate) use stream::{Broken, Came, GuestStream};

use crate::gate::Gate;
use crate::{ExecSink, ExecTicket, Identity, MachineError};

/// Executions and transfers at once in one VM; the agent refuses a few more than these.
const MAX_CHANNELS: usize = 60;

/// The first channel of a VM that was booted.
pub(crate) const FIRST: Channel = 1;
/// The first channel of a clone: its agent may still be busy with the template's last ones.
pub(crate) const FIRST_OF_CLONE: Channel = 10_000;

/// How a question was answered.
type Answer = Result<TarSummary, MachineError>;

/// Called once, when the connection has ended by itself.
pub(crate) type OnGone = Box<dyn FnOnce(FailureReason, String) -> String + Send>;

/// What waits on a channel.
enum Slot {
    Question(SyncSender<Answer>),
    Exec(Arc<Mutex<Listener>>),
    TarIn(Arc<Gate>, SyncSender<Answer>),
    TarOut(Arc<Mutex<Credits>>, Sender<Piece>),
}

/// Who listens to an execution.
struct Listener {
    /// Taken when the end was told.
    sink: Option<Box<dyn ExecSink>>,
    credits: Credits,
    /// Bytes taken for which no credit was given back yet.
    owed: u32,
    held: bool,
}

/// What comes of a tar.
enum Piece {
    Bytes(Vec<u8>),
    End(Answer),
}

/// What both threads and all callers share.
struct Shared {
    slots: Mutex<HashMap<Channel, Slot>>,
    /// Why the connection has ended.
    ended: Mutex<Option<String>>,
    queue: Mutex<Option<Sender<Vec<u8>>>>,
    /// What programs in the VM have opened.
    streams: Streams,
    last_seen_ms: AtomicU64,
}

/// The connection. Cheap to share.
#[derive(Clone)]
pub(crate) struct Link {
    shared: Arc<Shared>,
    next: Arc<AtomicU32>,
    socket: Arc<UnixStream>,
}

impl Link {
    /// Serves a connected socket, with channels numbered from `first` on. The receiver gives the
    /// agent's hello.
    pub(crate) fn new(
        socket: UnixStream,
        first: Channel,
        on_gone: OnGone,
    ) -> std::io::Result<(Self, Receiver<Greeting>)> {
        let (queue, frames) = channel::<Vec<u8>>();
        let shared = Arc::new(Shared {
            slots: Mutex::default(),
            ended: Mutex::default(),
            queue: Mutex::new(Some(queue)),
            streams: Streams::default(),
            last_seen_ms: AtomicU64::new(now().0),
        });
        let (hello, greeting) = sync_channel(1);
        let writing = socket.try_clone()?;
        let reading = socket.try_clone()?;
        thread("vm-writer").spawn(move || write_all(writing, &frames))?;
        let own = Arc::clone(&shared);
        thread("vm-reader").spawn(move || {
            let (reason, detail) = own.read_all(reading, &hello);
            let detail = on_gone(reason, detail);
            own.end(&detail);
        })?;
        let link = Self {
            shared,
            next: Arc::new(AtomicU32::new(first)),
            socket: Arc::new(socket),
        };
        Ok((link, greeting))
    }

    /// Ends the connection; whoever waits is told.
    pub(crate) fn close(&self, why: &str) {
        self.shared.end(why);
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }

    /// When the agent was last heard.
    pub(crate) fn last_seen(&self) -> UnixMs {
        UnixMs(self.shared.last_seen_ms.load(Ordering::Relaxed))
    }

    /// Asks for a sign of life.
    pub(crate) fn ping(&self, deadline: Duration) -> Result<Duration, MachineError> {
        let start = Instant::now();
        self.ask(&ToGuest::Ping, deadline)?;
        Ok(start.elapsed())
    }

    /// Sets clock, randomness and host name.
    pub(crate) fn identify(
        &self,
        identity: &Identity,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let orders = [
            ToGuest::SetClock(identity.clock_ns),
            ToGuest::Reseed(identity.seed[..].into()),
            ToGuest::Hostname(identity.hostname.clone()),
        ];
        // All three are under way before the first answer is awaited.
        let asked: Vec<_> = orders
            .iter()
            .map(|order| self.begin(order))
            .collect::<Result<_, _>>()?;
        let start = Instant::now();
        for (channel, answer) in asked {
            self.await_answer(channel, &answer, deadline.saturating_sub(start.elapsed()))?;
        }
        Ok(())
    }

    /// Starts something.
    pub(crate) fn exec(
        &self,
        spec: ExecSpec,
        sink: Box<dyn ExecSink>,
    ) -> Result<ExecTicket, MachineError> {
        let listener = Listener {
            sink: Some(sink),
            credits: Credits::default(),
            owed: 0,
            held: false,
        };
        let channel = self.enter(Slot::Exec(Arc::new(Mutex::new(listener))))?;
        if let Err(error) = self.send(channel, &ToGuest::Exec(spec)) {
            self.shared.slots.lock().remove(&channel);
            return Err(error);
        }
        Ok(ExecTicket(channel))
    }

    /// Kills an execution; one that has ended is left alone.
    pub(crate) fn kill_exec(&self, ticket: ExecTicket) -> Result<(), MachineError> {
        if self.shared.slots.lock().contains_key(&ticket.0) {
            self.send(ticket.0, &ToGuest::Kill)
        } else {
            Ok(())
        }
    }

    /// Gives the credit that a sink has held back.
    pub(crate) fn resume_output(&self, ticket: ExecTicket) -> Result<(), MachineError> {
        let listener = match self.shared.slots.lock().get(&ticket.0) {
            Some(Slot::Exec(listener)) => Arc::clone(listener),
            _ => return Ok(()),
        };
        let owed = {
            let mut listener = listener.lock();
            listener.held = false;
            listener.repay()
        };
        if owed > 0 {
            self.send(ticket.0, &ToGuest::Credit(owed))
        } else {
            Ok(())
        }
    }

    /// Sends a tar to be unpacked.
    pub(crate) fn put_tar(&self, path: &str, tar: &mut dyn Read, deadline: Duration) -> Answer {
        let start = Instant::now();
        let gate = Arc::new(Gate::default());
        let (sender, answer) = sync_channel(1);
        let channel = self.enter(Slot::TarIn(Arc::clone(&gate), sender))?;
        let sent = self
            .send(channel, &ToGuest::TarIn(path.to_owned()))
            .and_then(|()| self.send_tar(channel, &gate, tar, start, deadline));
        match sent {
            Ok(()) => self.await_answer(channel, &answer, deadline.saturating_sub(start.elapsed())),
            Err(error) => {
                let _ = self.send(channel, &ToGuest::Abort);
                self.shared.slots.lock().remove(&channel);
                // When the guest has refused, that is the reason why no more could be sent.
                answer.try_recv().unwrap_or(Err(error))
            }
        }
    }

    fn send_tar(
        &self,
        channel: Channel,
        gate: &Gate,
        tar: &mut dyn Read,
        start: Instant,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = match tar.read(&mut buffer) {
                Ok(0) => return self.send(channel, &ToGuest::Finish),
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(MachineError::Tar(error)),
            };
            let mut rest = &buffer[..count];
            while !rest.is_empty() {
                let left = deadline.saturating_sub(start.elapsed());
                let granted = gate
                    .take(rest.len(), left)
                    .ok_or(MachineError::Silent(deadline))?;
                if granted == 0 {
                    // The guest has answered already: it refused, or it is gone.
                    return Err(self.shared.gone());
                }
                let (now, later) = rest.split_at(granted);
                self.send(channel, &ToGuest::Data(now.into()))?;
                rest = later;
            }
        }
    }

    /// Receives a tar.
    pub(crate) fn get_tar(&self, path: &str, out: &mut dyn Write, deadline: Duration) -> Answer {
        let start = Instant::now();
        let (sender, pieces) = channel();
        let credits = Arc::new(Mutex::new(Credits::default()));
        let channel = self.enter(Slot::TarOut(Arc::clone(&credits), sender))?;
        let outcome = self
            .send(channel, &ToGuest::TarOut(path.to_owned()))
            .and_then(|()| self.receive_tar(channel, &credits, &pieces, out, start, deadline));
        if outcome.is_err() {
            let _ = self.send(channel, &ToGuest::Abort);
        }
        self.shared.slots.lock().remove(&channel);
        outcome
    }

    fn receive_tar(
        &self,
        channel: Channel,
        credits: &Mutex<Credits>,
        pieces: &Receiver<Piece>,
        out: &mut dyn Write,
        start: Instant,
        deadline: Duration,
    ) -> Answer {
        let mut owed = 0;
        loop {
            match pieces.recv_timeout(deadline.saturating_sub(start.elapsed())) {
                Ok(Piece::Bytes(bytes)) => {
                    out.write_all(&bytes).map_err(MachineError::Tar)?;
                    owed += u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                    if owed >= WINDOW / 4 {
                        credits.lock().add(owed);
                        self.send(channel, &ToGuest::Credit(owed))?;
                        owed = 0;
                    }
                }
                Ok(Piece::End(answer)) => return answer,
                Err(RecvTimeoutError::Timeout) => return Err(MachineError::Silent(deadline)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.shared.gone()),
            }
        }
    }

    fn ask(&self, order: &ToGuest<'_>, deadline: Duration) -> Answer {
        let (channel, answer) = self.begin(order)?;
        self.await_answer(channel, &answer, deadline)
    }

    fn begin(&self, order: &ToGuest<'_>) -> Result<(Channel, Receiver<Answer>), MachineError> {
        let (sender, answer) = sync_channel(1);
        let channel = self.enter(Slot::Question(sender))?;
        self.send(channel, order)?;
        Ok((channel, answer))
    }

    fn await_answer(
        &self,
        channel: Channel,
        answer: &Receiver<Answer>,
        deadline: Duration,
    ) -> Answer {
        match answer.recv_timeout(deadline) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => Err(self.shared.gone()),
            Err(RecvTimeoutError::Timeout) => {
                self.shared.slots.lock().remove(&channel);
                Err(MachineError::Silent(deadline))
            }
        }
    }

    fn enter(&self, slot: Slot) -> Result<Channel, MachineError> {
        let mut slots = self.shared.slots.lock();
        if self.shared.ended.lock().is_some() {
            return Err(self.shared.gone());
        }
        if slots.len() >= MAX_CHANNELS {
            return Err(MachineError::Busy(MAX_CHANNELS));
        }
        let channel = self.next.fetch_add(1, Ordering::Relaxed);
        slots.insert(channel, slot);
        Ok(channel)
    }

    fn send(&self, channel: Channel, message: &ToGuest<'_>) -> Result<(), MachineError> {
        self.shared.send(channel, message)
    }
}

fn write_all(mut socket: UnixStream, frames: &Receiver<Vec<u8>>) {
    while let Ok(bytes) = frames.recv() {
        // When it cannot be written, the reader finds the connection closed.
        if socket.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// A thread with a small stack: there are two for each VM.
fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(256 * 1024)
}

/// The host's clock.
pub(crate) fn now() -> UnixMs {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Told when a hello does not come as it should.
pub(crate) fn await_hello(
    greeting: &Receiver<Greeting>,
    deadline: Duration,
) -> Result<Greeting, Failed> {
    match greeting.recv_timeout(deadline) {
        Ok(greeting) => Ok(greeting),
        Err(RecvTimeoutError::Timeout) => Err(Failed::Deadline),
        Err(RecvTimeoutError::Disconnected) => Err(Failed::Gone),
    }
}

/// Why no hello came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// Not in time.
    Deadline,
    /// The connection ended before.
    Gone,
}
