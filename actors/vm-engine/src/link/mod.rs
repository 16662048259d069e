//! The connection to the agent in a VM: channels, credit, and what becomes of both when it breaks.
//!
//! ```text
//! callers ──frames──▶ outbox ──writer thread──▶ socket ──▶ agent
//! callers ◀─answers── slots  ◀─reader thread─── socket ◀── agent
//! ```
//!
//! The reader never waits: a guest that reads slowly would stop the reading of what it sends, and
//! each would wait for the other. The guest may be hostile: nothing here grows with what it sends or
//! does not read. What is under way on a channel is within its window, what waits to be written is
//! within the outbox, windows of all VMs together are within [`budget`], and what is not in turn ends
//! the VM.

mod budget;
mod clock;
mod outbox;
mod shared;
mod stream;
mod tar;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use vm_core::guest::{Channel, ClockReading, Credits, Failure, Greeting, TarSummary, ToGuest, Use};
use vm_core::{ExecSpec, FailureReason, UnixMs};

use outbox::{Outbox, Refused};
use stream::Streams;
pub(crate) use stream::{Broken, Came, GuestStream};
use tar::TarPipe;

use crate::gate::Gate;
use crate::{ExecSink, ExecTicket, MachineError};

/// Executions and transfers at once in one VM; the agent refuses a few more than these.
const MAX_CHANNELS: usize = 60;
/// How long an agent may take nothing of what waits for it.
const UNREAD: Duration = Duration::from_secs(60);
/// How long a caller without a deadline of its own waits for room in the outbox.
const PATIENCE: Duration = Duration::from_secs(10);

/// The first channel of a VM that was booted.
pub(crate) const FIRST: Channel = 1;
/// The first channel of a clone: its agent may still be busy with the template's last ones.
pub(crate) const FIRST_OF_CLONE: Channel = 10_000;

/// What a question was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Done(TarSummary),
    Clock(ClockReading),
}

/// How a question was answered.
type Answer = Result<Word, MachineError>;

/// Called once, when the connection has ended by itself.
pub(crate) type OnGone = Box<dyn FnOnce(FailureReason, String) -> String + Send>;

/// A channel in use.
struct Entry {
    used: Use,
    slot: Slot,
}

/// What waits on a channel.
enum Slot {
    Question(SyncSender<Answer>),
    Exec(Arc<Mutex<Listener>>),
    TarIn(Arc<Gate>, SyncSender<Answer>),
    TarOut(Arc<TarPipe>),
    /// Nobody waits any more, but the agent's last word is still to come. What it may send until then.
    GivenUp(Credits),
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

/// What both threads and all callers share.
struct Shared {
    slots: Mutex<HashMap<Channel, Entry>>,
    /// The next channel's number.
    next: AtomicU32,
    /// Why the connection has ended.
    ended: Mutex<Option<String>>,
    /// Why it is to end, found by another thread than the reader.
    verdict: Mutex<Option<(FailureReason, String)>>,
    outbox: Outbox,
    /// What programs in the VM have opened.
    streams: Streams,
    /// When a ping was answered last.
    last_seen_ms: AtomicU64,
    socket: UnixStream,
}

/// The connection. Cheap to share.
#[derive(Clone)]
pub(crate) struct Link {
    shared: Arc<Shared>,
}

impl Link {
    /// Serves a connected socket, with channels numbered from `first` on. The receiver gives the
    /// agent's hello.
    pub(crate) fn new(
        socket: UnixStream,
        first: Channel,
        on_gone: OnGone,
    ) -> std::io::Result<(Self, Receiver<Greeting>)> {
        Self::with_patience(socket, first, UNREAD, on_gone)
    }

    fn with_patience(
        socket: UnixStream,
        first: Channel,
        unread: Duration,
        on_gone: OnGone,
    ) -> std::io::Result<(Self, Receiver<Greeting>)> {
        let writing = socket.try_clone()?;
        writing.set_write_timeout(Some(unread))?;
        let reading = socket.try_clone()?;
        let shared = Arc::new(Shared {
            slots: Mutex::default(),
            next: AtomicU32::new(first),
            ended: Mutex::default(),
            verdict: Mutex::default(),
            outbox: Outbox::default(),
            streams: Streams::default(),
            last_seen_ms: AtomicU64::new(now().0),
            socket,
        });
        let (hello, greeting) = sync_channel(1);
        let own = Arc::clone(&shared);
        thread("vm-writer").spawn(move || own.write_all(writing, unread))?;
        let own = Arc::clone(&shared);
        let reader = thread("vm-reader").spawn(move || {
            let (reason, detail) = own.read_all(reading, first, &hello);
            let detail = on_gone(reason, detail);
            own.end(&detail);
        });
        if let Err(error) = reader {
            // The writer waits for something to write, or for this.
            shared.outbox.close();
            return Err(error);
        }
        Ok((Self { shared }, greeting))
    }

    /// Ends the connection; whoever waits is told.
    pub(crate) fn close(&self, why: &str) {
        self.shared.end(why);
        self.shared.hang_up();
    }

    /// When the agent last answered a ping, or the connection began.
    pub(crate) fn last_seen(&self) -> UnixMs {
        UnixMs(self.shared.last_seen_ms.load(Ordering::Relaxed))
    }

    /// Asks for a sign of life.
    pub(crate) fn ping(&self, deadline: Duration) -> Result<Duration, MachineError> {
        let start = Instant::now();
        let nonce = nonce();
        self.ask(Use::Ping(nonce), &ToGuest::Ping(nonce), deadline)?;
        Ok(start.elapsed())
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
        let slot = Slot::Exec(Arc::new(Mutex::new(listener)));
        let channel = self.enter(Use::Exec { started: false }, slot)?;
        self.order(channel, &ToGuest::Exec(spec), PATIENCE)?;
        Ok(ExecTicket(channel))
    }

    /// Kills an execution; one that has ended is left alone.
    pub(crate) fn kill_exec(&self, ticket: ExecTicket) -> Result<(), MachineError> {
        if self.shared.slots.lock().contains_key(&ticket.0) {
            self.send(ticket.0, &ToGuest::Kill, PATIENCE)
        } else {
            Ok(())
        }
    }

    /// Gives the credit that a sink has held back.
    pub(crate) fn resume_output(&self, ticket: ExecTicket) -> Result<(), MachineError> {
        let listener = match self.shared.slots.lock().get(&ticket.0) {
            Some(Entry {
                slot: Slot::Exec(listener),
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
            self.send(ticket.0, &ToGuest::Credit(owed), PATIENCE)
        } else {
            Ok(())
        }
    }

    /// An order that is done, or not.
    fn ask(
        &self,
        used: Use,
        order: &ToGuest<'_>,
        deadline: Duration,
    ) -> Result<Word, MachineError> {
        let start = Instant::now();
        let (channel, answer) = self.begin(used, order, deadline)?;
        self.await_answer(channel, &answer, deadline.saturating_sub(start.elapsed()))
    }

    fn begin(
        &self,
        used: Use,
        order: &ToGuest<'_>,
        deadline: Duration,
    ) -> Result<(Channel, Receiver<Answer>), MachineError> {
        let (sender, answer) = sync_channel(1);
        let channel = self.enter(used, Slot::Question(sender))?;
        self.order(channel, order, deadline)?;
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
                self.give_up(channel);
                // It may have come this moment.
                answer
                    .try_recv()
                    .unwrap_or(Err(MachineError::Silent(deadline)))
            }
        }
    }

    fn enter(&self, used: Use, slot: Slot) -> Result<Channel, MachineError> {
        let mut slots = self.shared.slots.lock();
        if self.shared.ended.lock().is_some() {
            return Err(self.shared.gone());
        }
        if slots.len() >= MAX_CHANNELS {
            return Err(MachineError::Busy(MAX_CHANNELS));
        }
        let channel = self.shared.next.fetch_add(1, Ordering::SeqCst);
        slots.insert(channel, Entry { used, slot });
        Ok(channel)
    }

    /// Nobody waits for this channel any more; the agent's last word on it may still come.
    fn give_up(&self, channel: Channel) {
        if let Some(entry) = self.shared.slots.lock().get_mut(&channel) {
            let credits = match &entry.slot {
                Slot::TarOut(pipe) => pipe.credits(),
                _ => Credits::default(),
            };
            entry.slot = Slot::GivenUp(credits);
        }
    }

    /// Sends the first message of a channel; without it the channel is not in use.
    fn order(
        &self,
        channel: Channel,
        message: &ToGuest<'_>,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        let sent = self.send(channel, message, deadline);
        if sent.is_err() {
            self.shared.slots.lock().remove(&channel);
        }
        sent
    }

    fn send(
        &self,
        channel: Channel,
        message: &ToGuest<'_>,
        deadline: Duration,
    ) -> Result<(), MachineError> {
        self.shared.send(channel, message, deadline)
    }
}

impl Shared {
    /// Writes what waits, until the connection ends.
    fn write_all(&self, mut socket: UnixStream, unread: Duration) {
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
                        return self.condemn(FailureReason::GuestSilent, detail);
                    }
                    // The reader finds the connection closed.
                    Ok(0) | Err(_) => return,
                }
            }
        }
    }

    /// Ends the connection for this reason, unless there is one already: the reader tells it.
    fn condemn(&self, reason: FailureReason, detail: String) {
        self.verdict.lock().get_or_insert((reason, detail));
        self.hang_up();
    }

    fn hang_up(&self) {
        // One that is closed already needs no closing.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

/// A thread with a small stack: there are two for each VM.
fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(256 * 1024)
}

/// A number that a guest cannot guess: it was to be read to be said. The standard library's hashes
/// have keys of the system's randomness.
fn nonce() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
    hasher.finish()
}

/// The host's clock.
pub(crate) fn now() -> UnixMs {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// What a guest says in words, as it may be shown: short, and in one line.
fn readable(text: &str) -> String {
    let most = 2000;
    let shown = text.chars().take(most);
    shown
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect()
}

fn readable_failure(failure: &Failure) -> MachineError {
    MachineError::Guest(Failure {
        kind: failure.kind,
        what: readable(&failure.what),
    })
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
