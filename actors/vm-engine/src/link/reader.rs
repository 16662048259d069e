//! The reading side: what the agent sends, whether it is in turn, to whom it goes, and how
//! everybody learns of the end.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use vm_core::guest::{
    Channel, ChannelTransition, ChannelUse, Credits, FrameDecoder, Greeting, MAX_PAYLOAD_TO_HOST,
    ProtocolViolation, STREAMS, ToGuest, ToHost, WINDOW, decode_to_host,
};
use vm_core::{ExecEnd, FailureReason};

use super::answer::{GuestReply, GuestReplyResult, readable, readable_failure, text};
use super::connection::{
    ChannelWaiter, ExecListener, FIRST_OF_CLONE, LinkConnection, OpenChannel, notify_end,
};
use super::guest_stream::{GuestStream, StreamServer};
use super::tar_pipe::TarPipe;
use super::thread::{now, thread};
use crate::exec::OutputFlow;
use crate::gate::SendWindow;

/// What a clone's agent may still send on the template's channels: a window of each of a few.
const TEMPLATES_LATE: u64 = 4 * WINDOW as u64;

/// Reads what the agent sends, in a thread of its own.
pub(super) struct LinkReader {
    connection: Arc<LinkConnection>,
    /// What serves streams, once the VM has a network.
    server: Arc<OnceLock<StreamServer>>,
    /// The first channel of this connection.
    first: Channel,
    /// Whether the hello has come; a clone's was the template's.
    greeted: bool,
    /// What may still come on channels that the host never opened.
    late: u64,
    hello: SyncSender<Greeting>,
}

impl LinkReader {
    pub(super) fn new(
        connection: Arc<LinkConnection>,
        server: Arc<OnceLock<StreamServer>>,
        first: Channel,
        hello: SyncSender<Greeting>,
    ) -> Self {
        let cloned = first == FIRST_OF_CLONE;
        Self {
            connection,
            server,
            first,
            greeted: cloned,
            late: if cloned { TEMPLATES_LATE } else { 0 },
            hello,
        }
    }

    /// Reads until the end; why it ended.
    pub(super) fn run(mut self, mut socket: UnixStream) -> (FailureReason, String) {
        let mut decoder = FrameDecoder::new(MAX_PAYLOAD_TO_HOST);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let closed = match socket.read(&mut buffer) {
                Ok(0) => "its connection was closed".to_owned(),
                Ok(count) => {
                    decoder.feed(&buffer[..count]);
                    if let Err(error) = self.take_frames(&mut decoder) {
                        return (FailureReason::BadProtocol, error);
                    }
                    continue;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => format!("its connection broke: {error}"),
            };
            // The writer may have closed it, and knows why.
            let verdict = self.connection.verdict.lock().take();
            return verdict.unwrap_or((FailureReason::ProcessGone, closed));
        }
    }

    fn take_frames(&mut self, decoder: &mut FrameDecoder) -> Result<(), String> {
        while let Some(frame) = decoder.next_frame().map_err(|error| error.to_string())? {
            let channel = frame.channel;
            let message = decode_to_host(frame).map_err(|error| error.to_string())?;
            self.take(channel, message)?;
        }
        Ok(())
    }

    fn take(&mut self, channel: Channel, message: ToHost<'_>) -> Result<(), String> {
        let name = message.name();
        if self.greeted == matches!(message, ToHost::Hello(_)) {
            return Err(text(ProtocolViolation::Hello(name)));
        }
        if let ToHost::Hello(greeting) = message {
            self.greeted = true;
            self.connection
                .last_seen_ms
                .store(now().0, Ordering::Relaxed);
            // Who requested the VM may have given up.
            let _ = self.hello.try_send(Greeting {
                kernel: readable(&greeting.kernel),
                ..greeting
            });
            return Ok(());
        }
        if !message.fits(channel) {
            return Err(text(ProtocolViolation::OutOfTurn(name)));
        }
        if channel >= STREAMS {
            return self.stream_message(channel, message);
        }
        let connection = Arc::clone(&self.connection);
        let mut channels = connection.channels.lock();
        let Some(open) = channels.get_mut(&channel) else {
            drop(channels);
            return self.stray(channel, &message).map_err(text);
        };
        match open.used.take(&message).map_err(text)? {
            ChannelTransition::On(used) => {
                open.used = used;
                let receiver = match &mut open.waiter {
                    ChannelWaiter::Exec(listener) => DataReceiver::Exec(Arc::clone(listener)),
                    ChannelWaiter::TarOut(pipe) => DataReceiver::TarOut(Arc::clone(pipe)),
                    ChannelWaiter::TarIn(gate, _) => DataReceiver::TarIn(Arc::clone(gate)),
                    ChannelWaiter::GivenUp(credits) => return spend(credits, &message),
                    ChannelWaiter::Question(_) => return Ok(()),
                };
                drop(channels);
                self.pass_on(channel, receiver, &message)
            }
            ChannelTransition::End => {
                let closed = channels.remove(&channel);
                drop(channels);
                self.finish(closed, message);
                Ok(())
            }
        }
    }

    fn stream_message(&self, number: Channel, message: ToHost<'_>) -> Result<(), String> {
        match message {
            ToHost::Open => self.open_stream(number),
            message => self.connection.streams.take(number, &message),
        }
    }

    /// A program has connected: serves it in a thread. The agent counts a stream until it hears
    /// that it is closed, so more than it may open is no accident.
    fn open_stream(&self, number: Channel) -> Result<(), String> {
        let Some(server) = self.server.get() else {
            return Err("a stream was opened in a VM without network".to_owned());
        };
        let pipe = self.connection.streams.open(number, server.streams)?;
        let stream = GuestStream::new(number, pipe, Arc::clone(&self.connection));
        let serve = Arc::clone(&server.serve);
        // Without a thread it is dropped, which closes it.
        let _ = thread("vm-stream").spawn(move || serve(&stream));
        Ok(())
    }

    /// A message on a channel that is not in use.
    fn stray(&mut self, channel: Channel, message: &ToHost<'_>) -> Result<(), ProtocolViolation> {
        if channel >= self.connection.next.load(Ordering::SeqCst) {
            return Err(ProtocolViolation::Unknown(message.name()));
        }
        if channel >= self.first {
            return Err(ProtocolViolation::Ended(message.name()));
        }
        let left = self.late.checked_sub(message.weight());
        self.late = left.ok_or(ProtocolViolation::Late)?;
        Ok(())
    }

    fn pass_on(
        &self,
        channel: Channel,
        receiver: DataReceiver,
        message: &ToHost<'_>,
    ) -> Result<(), String> {
        match (receiver, message) {
            (DataReceiver::Exec(listener), ToHost::Output(stream, bytes)) => {
                let owed = {
                    let mut listener = listener.lock();
                    listener.credits.consume(bytes.len()).map_err(text)?;
                    listener.owed += u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                    if let Some(sink) = &mut listener.sink {
                        listener.held = sink.output(*stream, bytes) == OutputFlow::Hold;
                    }
                    if listener.owed >= WINDOW / 4 {
                        listener.repay()
                    } else {
                        0
                    }
                };
                if owed > 0 {
                    self.connection
                        .send_now(channel, &ToGuest::Credit(owed))
                        .map_err(text)?;
                }
                Ok(())
            }
            (DataReceiver::Exec(listener), ToHost::Credit(bytes)) => {
                let input = listener.lock().input.clone();
                input.map_or(Ok(()), |input| input.add(*bytes).map_err(text))
            }
            (DataReceiver::TarOut(pipe), ToHost::Data(bytes)) => pipe.data(bytes).map_err(text),
            (DataReceiver::TarIn(gate), ToHost::Credit(bytes)) => gate.add(*bytes).map_err(text),
            // That an execution has begun is of no interest.
            _ => Ok(()),
        }
    }

    /// The agent's last word on a channel.
    fn finish(&self, closed: Option<OpenChannel>, message: ToHost<'_>) {
        let Some(OpenChannel { used, waiter }) = closed else {
            return;
        };
        if matches!(used, ChannelUse::Ping(_)) {
            self.connection
                .last_seen_ms
                .store(now().0, Ordering::Relaxed);
        }
        let answer: GuestReplyResult = match message {
            ToHost::Ended(end) => {
                if let ChannelWaiter::Exec(listener) = waiter {
                    notify_end(&listener, readable_end(end));
                }
                return;
            }
            ToHost::Finished(summary) => Ok(GuestReply::Done(summary)),
            ToHost::Failed(failure) => Err(readable_failure(&failure)),
            ToHost::Clock(reading) => Ok(GuestReply::Clock(reading)),
            _ => Ok(GuestReply::Done(Default::default())),
        };
        match waiter {
            // Nobody waits any more when it cannot be sent.
            ChannelWaiter::Question(sender) => drop(sender.try_send(answer)),
            ChannelWaiter::TarIn(gate, sender) => {
                let _ = sender.try_send(answer);
                gate.close();
            }
            ChannelWaiter::TarOut(pipe) => pipe.end(Some(answer)),
            ChannelWaiter::Exec(_) | ChannelWaiter::GivenUp(_) => {}
        }
    }
}

/// Who receives the data of a channel.
enum DataReceiver {
    Exec(Arc<Mutex<ExecListener>>),
    TarOut(Arc<TarPipe>),
    TarIn(Arc<SendWindow>),
}

/// What comes where nobody waits any more is within the window as well.
fn spend(credits: &mut Credits, message: &ToHost<'_>) -> Result<(), String> {
    match message {
        ToHost::Data(bytes) => credits.consume(bytes.len()).map_err(text),
        _ => Ok(()),
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
