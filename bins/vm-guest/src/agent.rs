//! The one reader of the port: every message of the host goes through here.

use std::collections::HashMap;
use std::fs;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use vm_core::ExecEnd;
use vm_core::guest::{
    Channel, FailureKind, FrameDecoder, Greeting, GuestFailure, STREAMS, TarSummary, ToGuest,
    ToHost, VERSION, decode_to_guest,
};

use crate::confine::Spawner;
use crate::error::{AgentError, ErrorContext as _};
use crate::exec::Exec;
use crate::gate::GuestSendWindow;
use crate::network::GuestNetwork;
use crate::port::Port;
use crate::reaper::ProcessReaper;
use crate::thread::thread;
use crate::transfer::{self, TarChunk};
use crate::{cgroup, system};

/// Things that run and transfers at once; the host keeps below it.
const MAX_CHANNELS: usize = 64;

/// What a channel is used for.
enum GuestChannelUse {
    Exec(Arc<Exec>),
    TarIn(Sender<TarChunk>),
    TarOut(Arc<GuestSendWindow>),
}

/// Channels in use, by number.
type Channels = Arc<Mutex<HashMap<Channel, GuestChannelUse>>>;

/// Everything that messages act on.
pub(crate) struct GuestAgent {
    port: Arc<Port>,
    reaper: Arc<ProcessReaper>,
    spawner: Arc<Spawner>,
    channels: Channels,
    /// Set when the host gives the VM a network.
    network: OnceLock<Arc<GuestNetwork>>,
}

impl GuestAgent {
    /// Says hello: from here on the host can send work.
    pub(crate) fn start(port: Port, spawner: Spawner) -> Result<Self, AgentError> {
        let reaper = ProcessReaper::start().context("starting the reaper")?;
        let agent = Self {
            port: Arc::new(port),
            reaper,
            spawner: Arc::new(spawner),
            channels: Channels::default(),
            network: OnceLock::new(),
        };
        agent.port.send(0, &ToHost::Hello(greeting()));
        Ok(agent)
    }

    /// Serves until the host closes the port.
    pub(crate) fn serve(&self) -> Result<(), AgentError> {
        let mut decoder = FrameDecoder::default();
        let mut buffer = vec![0; 64 * 1024];
        // While the host makes a snapshot, nobody sends.
        let mut held = None;
        loop {
            let count = self
                .port
                .read(&mut buffer)
                .context("reading from the host")?;
            if count == 0 {
                return Ok(());
            }
            decoder.feed(&buffer[..count]);
            while let Some(frame) = decoder.next_frame().map_err(protocol)? {
                let channel = frame.channel;
                match (decode_to_guest(frame).map_err(protocol)?, &held) {
                    (ToGuest::Hold, None) => held = Some(self.port.lock_writer(channel)),
                    (ToGuest::Release, Some(_)) => held = None,
                    (_, Some(_)) => return Err(protocol("something else than a release")),
                    (message, None) => self.handle(channel, message),
                }
            }
        }
    }

    fn handle(&self, channel: Channel, message: ToGuest<'_>) {
        if channel >= STREAMS {
            return self.stream(channel, message);
        }
        match message {
            ToGuest::Ping(number) => self.port.send(channel, &ToHost::Pong(number)),
            ToGuest::Clock => self.port.send(channel, &ToHost::Clock(system::clocks())),
            ToGuest::Exec(spec) => self.exec(channel, spec),
            ToGuest::TarIn(path) => self.tar_in(channel, path),
            ToGuest::TarOut(path) => self.tar_out(channel, path),
            ToGuest::SetClock(ns) => {
                self.report(channel, system::set_clock(ns).map_err(Into::into));
            }
            ToGuest::Reseed(bytes) => self.report(channel, system::reseed(&bytes)),
            ToGuest::Hostname(name) => {
                self.report(channel, system::take_name(&name));
            }
            ToGuest::PowerOff => system::power_off(),
            ToGuest::Network(streams) => self.report(channel, self.start_network(streams)),
            // Only streams are closed.
            ToGuest::Closed => {}
            ToGuest::Kill => self.with_channel(channel, |used| {
                if let GuestChannelUse::Exec(exec) = used {
                    exec.kill();
                }
            }),
            ToGuest::Terminate(ms) => self.with_channel(channel, |used| {
                if let GuestChannelUse::Exec(exec) = used {
                    exec.terminate(Duration::from_millis(ms.into()));
                }
            }),
            ToGuest::Credit(bytes) => self.with_channel(channel, |used| match used {
                GuestChannelUse::Exec(exec) => exec.gate.add(bytes),
                GuestChannelUse::TarOut(gate) => gate.add(bytes),
                GuestChannelUse::TarIn(_) => {}
            }),
            ToGuest::Data(bytes) => self.piece(channel, TarChunk::Bytes(bytes.into_owned())),
            ToGuest::Resize(size) => self.with_channel(channel, |used| {
                if let GuestChannelUse::Exec(exec) = used {
                    exec.resize(size);
                }
            }),
            // What is held is handled where messages are read.
            ToGuest::Hold | ToGuest::Release => {}
            ToGuest::Finish => self.piece(channel, TarChunk::Finish),
            ToGuest::Abort => self.with_channel(channel, |used| match used {
                GuestChannelUse::Exec(exec) => exec.kill(),
                GuestChannelUse::TarOut(gate) => gate.close(),
                GuestChannelUse::TarIn(pieces) => drop(pieces.send(TarChunk::Abort)),
            }),
        }
    }

    /// A message about a stream; others have no such channel.
    fn stream(&self, number: Channel, message: ToGuest<'_>) {
        let Some(network) = self.network.get() else {
            return;
        };
        match message {
            ToGuest::Data(bytes) => network.data(number, bytes.into_owned()),
            ToGuest::Finish => network.finish(number),
            ToGuest::Credit(bytes) => network.credit(number, bytes),
            ToGuest::Closed => network.close(number),
            _ => {}
        }
    }

    fn start_network(&self, streams: u16) -> std::io::Result<()> {
        if self.network.get().is_some() {
            return Err(std::io::Error::other("it has a network already"));
        }
        let network = GuestNetwork::start(Arc::clone(&self.port), streams)?;
        system::swallow_the_unreachable();
        // Set here alone, by the one reader.
        let _ = self.network.set(network);
        Ok(())
    }

    /// A channel that has ended meanwhile is no fault of the host's: its message was under way.
    fn with_channel(&self, channel: Channel, act: impl FnOnce(&GuestChannelUse)) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = channels.get(&channel) {
            act(used);
        }
    }

    fn piece(&self, channel: Channel, piece: TarChunk) {
        self.with_channel(channel, |used| match (used, piece) {
            (GuestChannelUse::TarIn(pieces), piece) => drop(pieces.send(piece)),
            (GuestChannelUse::Exec(exec), TarChunk::Bytes(bytes)) => exec.type_in(bytes),
            _ => {}
        });
    }

    fn report(&self, channel: Channel, outcome: std::io::Result<()>) {
        let message = match outcome {
            Ok(()) => ToHost::Finished(TarSummary::default()),
            Err(error) => ToHost::Failed(GuestFailure {
                kind: FailureKind::System,
                what: error.to_string(),
            }),
        };
        self.port.send(channel, &message);
    }

    fn exec(&self, channel: Channel, spec: vm_core::ExecSpec) {
        let exec = Arc::new(Exec::new(
            channel,
            self.network.get().is_some(),
            spec.terminal.is_some(),
        ));
        let (port, reaper) = (Arc::clone(&self.port), Arc::clone(&self.reaper));
        let spawner = Arc::clone(&self.spawner);
        let running = Arc::clone(&exec);
        let work = move || running.run(channel, &spec, &port, (&reaper, &spawner));
        if let Err(reason) = self.spawn_on_channel(channel, GuestChannelUse::Exec(exec), work) {
            self.port
                .send(channel, &ToHost::Ended(ExecEnd::NotStarted { reason }));
        }
    }

    fn tar_in(&self, channel: Channel, path: String) {
        let (sender, pieces) = transfer::pieces();
        let port = Arc::clone(&self.port);
        let work = move || transfer::unpack(channel, &path, pieces, &port);
        if let Err(what) = self.spawn_on_channel(channel, GuestChannelUse::TarIn(sender), work) {
            self.port.send(
                channel,
                &ToHost::Failed(GuestFailure {
                    kind: FailureKind::System,
                    what,
                }),
            );
        }
    }

    fn tar_out(&self, channel: Channel, path: String) {
        let gate = Arc::new(GuestSendWindow::default());
        let (port, own) = (Arc::clone(&self.port), Arc::clone(&gate));
        let work = move || transfer::pack(channel, &path, &own, &port);
        if let Err(what) = self.spawn_on_channel(channel, GuestChannelUse::TarOut(gate), work) {
            self.port.send(
                channel,
                &ToHost::Failed(GuestFailure {
                    kind: FailureKind::System,
                    what,
                }),
            );
        }
    }

    /// Enters the channel and works on it in a thread; it is left when the work is done.
    fn spawn_on_channel(
        &self,
        channel: Channel,
        used: GuestChannelUse,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), String> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if channels.len() >= MAX_CHANNELS {
            return Err(format!("{MAX_CHANNELS} things run in this VM already"));
        }
        if channels.contains_key(&channel) {
            return Err(format!("channel {channel} is in use"));
        }
        let leave = Arc::clone(&self.channels);
        let body = move || {
            work();
            leave
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&channel);
        };
        thread("channel")
            .spawn(body)
            .map_err(|error| format!("no thread for it: {error}"))?;
        channels.insert(channel, used);
        Ok(())
    }
}

fn protocol(error: impl std::fmt::Display) -> AgentError {
    AgentError::Protocol(error.to_string())
}

fn greeting() -> Greeting {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let seconds: f64 = read("/proc/uptime")
        .split(' ')
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0.0);
    Greeting {
        version: VERSION,
        uptime_ms: (seconds * 1000.0) as u64,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        cgroups: cgroup::usable(),
    }
}
