//! What host and agent say to each other.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{ExecEnd, ExecSpec, OutputStream, TerminalSize};

/// A number that the host gives to each execution, transfer and question of one connection, and the
/// agent, from [`super::STREAMS`] on, to each stream.
pub type Channel = u32;

/// From the host to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToGuest<'a> {
    /// Are you there? Answered by a `Pong` with the same number, which nobody can know who has not
    /// read this.
    Ping(u64),
    /// Run this.
    Exec(ExecSpec),
    /// Kill all that this execution has started.
    Kill,
    /// End it so that it can clean up: SIGINT to its process group, SIGTERM after three quarters
    /// of so many milliseconds, and a kill after all of them.
    Terminate(u32),
    /// So many more bytes of this channel may be sent.
    Credit(u32),
    /// Unpack the tar that follows into this absolute folder.
    TarIn(String),
    /// The next bytes of a tar, of a stream, or of what is typed on a terminal.
    Data(Cow<'a, [u8]>),
    /// The tar is complete; the stream's peer has sent all it had.
    Finish,
    /// Stop the transfer of this channel.
    Abort,
    /// Pack this absolute path.
    TarOut(String),
    /// Set the clock: nanoseconds since 1970.
    SetClock(u64),
    /// Mix this into the kernel's randomness, and count it as such.
    Reseed(Cow<'a, [u8]>),
    /// Take this host name.
    Hostname(String),
    /// Write everything to disk and power off.
    PowerOff,
    /// Take connections for the proxy from now on, at most so many at once; commands are told of
    /// it. Answered by `Finished`.
    Network(u16),
    /// Nothing more comes of this stream, and nothing of it is kept: the last message of each.
    /// Without a `Finish` before it broke off.
    Closed,
    /// What do your clocks say? Answered by `Clock`.
    Clock,
    /// The terminal of this execution has another size.
    Resize(TerminalSize),
    /// Answer with `Finished`, and send nothing more until `Release`, which is the next message.
    Hold,
    /// Go on.
    Release,
}

/// From the agent to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToHost<'a> {
    /// The first message, on channel 0: the agent can be given work.
    Hello(Greeting),
    /// Yes, with the number of the `Ping`.
    Pong(u64),
    /// The execution has begun; its process group.
    Started(u32),
    /// What it wrote.
    Output(OutputStream, Cow<'a, [u8]>),
    /// How it ended; nothing more comes of this channel.
    Ended(ExecEnd),
    /// The next bytes of a tar, or of a stream.
    Data(Cow<'a, [u8]>),
    /// So many more bytes of this channel may be sent.
    Credit(u32),
    /// What was asked is done.
    Finished(TarSummary),
    /// What was asked is not done.
    Failed(GuestFailure),
    /// A program has connected to the proxy.
    Open,
    /// It has sent all it had.
    Finish,
    /// Its connection broke, or was closed before all was taken.
    Abort,
    /// What its clocks say.
    Clock(ClockReading),
}

/// How an agent introduces itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Its [`super::VERSION`].
    pub version: u16,
    /// Milliseconds from the kernel's start to this message.
    pub uptime_ms: u64,
    /// The kernel's release.
    pub kernel: String,
    /// Whether executions are confined in control groups, so that killing one leaves nothing.
    pub cgroups: bool,
}

/// What the clocks of a guest say at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// The wall clock: nanoseconds since 1970.
    pub wall_ns: u64,
    /// The clock that nobody sets: nanoseconds since some moment.
    pub steady_ns: u64,
}

/// What a transfer moved; zero for everything else that is finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TarSummary {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of content.
    pub bytes: u64,
}

/// What went wrong in the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct GuestFailure {
    /// Which kind.
    pub kind: FailureKind,
    /// In words, for people.
    pub what: String,
}

/// Kinds of failures a caller can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The path does not exist.
    NotFound,
    /// The path, or an entry of the tar, is not allowed: it would leave its folder, or is a device.
    Forbidden,
    /// It is not a tar, or breaks off.
    BadTar,
    /// The guest's disk is full.
    DiskFull,
    /// The host asked to stop.
    Aborted,
    /// The guest's system refused.
    System,
}

impl ToGuest<'_> {
    /// The same, owning its bytes.
    pub fn into_owned(self) -> ToGuest<'static> {
        match self {
            Self::Ping(number) => ToGuest::Ping(number),
            Self::Exec(spec) => ToGuest::Exec(spec),
            Self::Kill => ToGuest::Kill,
            Self::Terminate(grace_ms) => ToGuest::Terminate(grace_ms),
            Self::Credit(bytes) => ToGuest::Credit(bytes),
            Self::TarIn(path) => ToGuest::TarIn(path),
            Self::Data(bytes) => ToGuest::Data(Cow::Owned(bytes.into_owned())),
            Self::Finish => ToGuest::Finish,
            Self::Abort => ToGuest::Abort,
            Self::TarOut(path) => ToGuest::TarOut(path),
            Self::SetClock(ns) => ToGuest::SetClock(ns),
            Self::Reseed(bytes) => ToGuest::Reseed(Cow::Owned(bytes.into_owned())),
            Self::Hostname(name) => ToGuest::Hostname(name),
            Self::PowerOff => ToGuest::PowerOff,
            Self::Network(streams) => ToGuest::Network(streams),
            Self::Closed => ToGuest::Closed,
            Self::Clock => ToGuest::Clock,
            Self::Resize(size) => ToGuest::Resize(size),
            Self::Hold => ToGuest::Hold,
            Self::Release => ToGuest::Release,
        }
    }
}

/// The bytes that may still be sent on one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credits {
    left: u64,
    most: u64,
}

impl Default for Credits {
    fn default() -> Self {
        Self::new(super::window::WINDOW)
    }
}

impl Credits {
    /// With a window of so many bytes.
    pub fn new(window: u32) -> Self {
        Self {
            left: window.into(),
            most: window.into(),
        }
    }

    /// How many of `wanted` bytes may be sent now; they are taken off.
    pub fn take(&mut self, wanted: usize) -> usize {
        let granted = usize::try_from(self.left).unwrap_or(usize::MAX).min(wanted);
        self.left -= granted as u64;
        granted
    }

    /// Takes off what the other side has sent.
    ///
    /// # Errors
    /// `WindowOverrun` when it had no credit for it.
    pub fn consume(&mut self, bytes: usize) -> Result<(), WindowOverrun> {
        if self.take(bytes) == bytes {
            Ok(())
        } else {
            Err(WindowOverrun)
        }
    }

    /// What the other side allows in addition. What exceeds the window is not kept, so nobody can
    /// be talked into unbounded sending.
    ///
    /// # Errors
    /// `ExcessCredit` when more is allowed than was sent: the other side does not count.
    pub fn add(&mut self, bytes: u32) -> Result<(), ExcessCredit> {
        let sum = self.left.saturating_add(bytes.into());
        self.left = sum.min(self.most);
        if sum > self.most {
            Err(ExcessCredit)
        } else {
            Ok(())
        }
    }
}

/// The other side gave credit for more than it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("credit was given for more than was sent")]
pub struct ExcessCredit;

/// The other side sent more than it was allowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more was sent on a channel than its credit allows")]
pub struct WindowOverrun;
