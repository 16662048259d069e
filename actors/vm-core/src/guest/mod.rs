//! The protocol between the manager and the agent in a VM.
//!
//! ```text
//! frame:  length u32 LE (of what follows) │ kind u8 │ channel u32 LE │ payload
//! ```
//!
//! A byte stream in each direction (virtio-serial, or vsock); a frame is at most [`MAX_FRAME`]
//! long. The agent speaks first: [`ToHost::Hello`] with its [`VERSION`]. The host numbers the
//! channels; everything about one execution, one transfer or one question carries its channel, and
//! channels run side by side.
//!
//! ```text
//! host                                   guest
//!  Exec c ───────────────────────────────▶
//!  ◀──────────────────────────── Started c
//!  ◀───────────── Output c, Output c, …      at most WINDOW bytes ahead of the host's Credit
//!  Credit c n ───────────────────────────▶
//!  Kill c, Terminate c ms ───────────────▶   (the whole group)
//!  ◀────────────────────────────── Ended c   after the last Output
//!
//!  Data c, … ────────────────────────────▶   what is typed, when it runs on a terminal: at most
//!  ◀───────────────────────────── Credit c n     TERMINAL_WINDOW ahead of the guest's Credit
//!  Resize c ─────────────────────────────▶
//!
//!  TarIn c, Data c, Data c, …, Finish c ─▶   at most WINDOW bytes ahead of the guest's Credit
//!  ◀───────────────────────────── Credit c n
//!  ◀────────── Finished c, or Failed c         Failed can come at any time; the host then stops
//!
//!  TarOut c ─────────────────────────────▶
//!  ◀──────────── Data c, …, then Finished c    the host gives Credit as for Output
//!
//!  SetClock, Reseed, Hostname c ─────────▶
//!  ◀──────────────────────── Finished c, or Failed c
//!  Ping c n, Clock c ────────────────────▶
//!  ◀──────────────────────── Pong c n, Clock c reading
//!
//!  Hold c ───────────────────────────────▶   for a snapshot: nothing is under way in either
//!  ◀───────────────────────────── Finished c     direction between this and the next, which the
//!  Release c ────────────────────────────▶       host of the snapshot sends as well
//!
//!  Network c n ──────────────────────────▶   (only a VM whose request asks for a network)
//!  ◀───────────────────────────── Finished c
//!  ◀───────────────────────────────── Open s   a program connected to the proxy; s is the agent's
//!  ◀── Data s, …, Finish s    Data s, … ──▶   each at most STREAM_WINDOW ahead of the other's Credit
//!  Finish s ─────────────────────────────▶
//!  ◀──────────────────────────────── Abort s   in place of Finish when it broke off
//!  Closed s ─────────────────────────────▶   the last of it; until then it counts as open
//! ```
//!
//! Credit keeps a flood of output from filling anybody's memory and from standing in front of the
//! answer to a `Ping`. What breaks a rule ends the connection, and with it the VM: there is no
//! resynchronising. Whoever holds the guest's end may be hostile, so the host keeps to
//! [`ChannelUse::take`] about what is in turn, and counts a VM as alive by answered pings alone.

mod channel_state;
mod codec;
mod frame;
mod message;
mod window;

pub use channel_state::{ChannelTransition, ChannelUse, ProtocolViolation};
pub use codec::{CodecError, decode_to_guest, decode_to_host, encode_to_guest, encode_to_host};
pub use frame::{
    FrameDecoder, FrameError, HEADER, MAX_FRAME, MAX_PAYLOAD, MAX_PAYLOAD_TO_HOST, RawFrame,
};
pub use message::{
    Channel, ClockReading, Credits, ExcessCredit, FailureKind, Greeting, GuestFailure, TarSummary,
    ToGuest, ToHost, WindowOverrun,
};
pub use window::{STREAM_WINDOW, TERMINAL_WINDOW, WINDOW};

/// The protocol's version. Host and agent come from one build, so it must be equal.
pub const VERSION: u16 = 5;

/// The first channel of streams; the agent numbers them.
pub const STREAMS: Channel = 1 << 31;

/// Bytes of data in one frame, as both sides send them: large enough that the cost of a frame does
/// not count, small enough that a question does not wait long behind one.
pub const CHUNK: usize = 60 * 1024;

/// Most bytes of a text in which the agent says why something did not work.
pub const MAX_REASON: usize = 4096;

#[cfg(test)]
mod tests;
