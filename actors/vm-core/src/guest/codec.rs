//! Messages in frames.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frame::{FrameError, RawFrame};
use super::message::{Channel, ToGuest, ToHost};
use crate::OutputStream;

/// A frame that is no message. The connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// No message of this direction has this number.
    #[error("a message of unknown kind {0}")]
    Kind(u8),
    /// The content does not fit the kind.
    #[error("a message of kind {0} with a content that does not fit it")]
    Content(u8),
    /// It is longer than a frame can be.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

mod kind {
    pub(super) const PING: u8 = 1;
    pub(super) const EXEC: u8 = 2;
    pub(super) const KILL: u8 = 3;
    pub(super) const CREDIT: u8 = 4;
    pub(super) const TAR_IN: u8 = 5;
    pub(super) const DATA: u8 = 6;
    pub(super) const FINISH: u8 = 7;
    pub(super) const ABORT: u8 = 8;
    pub(super) const TAR_OUT: u8 = 9;
    pub(super) const SET_CLOCK: u8 = 10;
    pub(super) const RESEED: u8 = 11;
    pub(super) const HOSTNAME: u8 = 12;
    pub(super) const POWER_OFF: u8 = 13;
    pub(super) const NETWORK: u8 = 14;
    pub(super) const CLOSED: u8 = 15;
    pub(super) const CLOCK: u8 = 16;
    pub(super) const RESIZE: u8 = 17;
    pub(super) const HOLD: u8 = 18;
    pub(super) const RELEASE: u8 = 19;
    pub(super) const TERMINATE: u8 = 20;

    // The agent's kinds do not overlap with the host's: an echo is noticed at once.
    pub(super) const HELLO: u8 = 129;
    pub(super) const PONG: u8 = 130;
    pub(super) const STARTED: u8 = 131;
    pub(super) const STDOUT: u8 = 132;
    pub(super) const STDERR: u8 = 133;
    pub(super) const ENDED: u8 = 134;
    pub(super) const TAR_DATA: u8 = 135;
    pub(super) const MORE: u8 = 136;
    pub(super) const FINISHED: u8 = 137;
    pub(super) const FAILED: u8 = 138;
    pub(super) const OPEN: u8 = 139;
    pub(super) const NO_MORE: u8 = 140;
    pub(super) const BROKE_OFF: u8 = 141;
    pub(super) const CLOCKS: u8 = 142;
}

/// Appends a message to the agent to `out`.
///
/// # Errors
/// [`CodecError::Frame`] when it is too long for a frame; `out` is unchanged then.
pub fn encode_to_guest(
    channel: Channel,
    message: &ToGuest<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let (kind, payload): (u8, Cow<'_, [u8]>) = match message {
        ToGuest::Ping(number) => (kind::PING, Cow::Owned(number.to_le_bytes().to_vec())),
        ToGuest::Exec(spec) => (kind::EXEC, packed(spec)),
        ToGuest::Kill => (kind::KILL, Cow::Borrowed(&[])),
        ToGuest::Terminate(ms) => (kind::TERMINATE, Cow::Owned(ms.to_le_bytes().to_vec())),
        ToGuest::Credit(bytes) => (kind::CREDIT, Cow::Owned(bytes.to_le_bytes().to_vec())),
        ToGuest::TarIn(path) => (kind::TAR_IN, Cow::Borrowed(path.as_bytes())),
        ToGuest::Data(bytes) => (kind::DATA, Cow::Borrowed(&**bytes)),
        ToGuest::Finish => (kind::FINISH, Cow::Borrowed(&[])),
        ToGuest::Abort => (kind::ABORT, Cow::Borrowed(&[])),
        ToGuest::TarOut(path) => (kind::TAR_OUT, Cow::Borrowed(path.as_bytes())),
        ToGuest::SetClock(ns) => (kind::SET_CLOCK, Cow::Owned(ns.to_le_bytes().to_vec())),
        ToGuest::Reseed(bytes) => (kind::RESEED, Cow::Borrowed(&**bytes)),
        ToGuest::Hostname(name) => (kind::HOSTNAME, Cow::Borrowed(name.as_bytes())),
        ToGuest::PowerOff => (kind::POWER_OFF, Cow::Borrowed(&[])),
        ToGuest::Network(streams) => (kind::NETWORK, Cow::Owned(streams.to_le_bytes().to_vec())),
        ToGuest::Closed => (kind::CLOSED, Cow::Borrowed(&[])),
        ToGuest::Clock => (kind::CLOCK, Cow::Borrowed(&[])),
        ToGuest::Resize(size) => (kind::RESIZE, packed(size)),
        ToGuest::Hold => (kind::HOLD, Cow::Borrowed(&[])),
        ToGuest::Release => (kind::RELEASE, Cow::Borrowed(&[])),
    };
    Ok(RawFrame {
        kind,
        channel,
        payload: &payload,
    }
    .write_to(out)?)
}

/// The message to the agent in a frame.
///
/// # Errors
/// [`CodecError`] when it is none.
pub fn decode_to_guest(frame: RawFrame<'_>) -> Result<ToGuest<'_>, CodecError> {
    let bytes = frame.payload;
    Ok(match frame.kind {
        kind::PING => ToGuest::Ping(u64::from_le_bytes(fixed(frame)?)),
        kind::EXEC => ToGuest::Exec(unpacked(frame)?),
        kind::KILL => empty(frame, ToGuest::Kill)?,
        kind::TERMINATE => ToGuest::Terminate(u32::from_le_bytes(fixed(frame)?)),
        kind::CREDIT => ToGuest::Credit(u32::from_le_bytes(fixed(frame)?)),
        kind::TAR_IN => ToGuest::TarIn(text(frame)?),
        kind::DATA => ToGuest::Data(Cow::Borrowed(bytes)),
        kind::FINISH => empty(frame, ToGuest::Finish)?,
        kind::ABORT => empty(frame, ToGuest::Abort)?,
        kind::TAR_OUT => ToGuest::TarOut(text(frame)?),
        kind::SET_CLOCK => ToGuest::SetClock(u64::from_le_bytes(fixed(frame)?)),
        kind::RESEED => ToGuest::Reseed(Cow::Borrowed(bytes)),
        kind::HOSTNAME => ToGuest::Hostname(text(frame)?),
        kind::POWER_OFF => empty(frame, ToGuest::PowerOff)?,
        kind::NETWORK => ToGuest::Network(u16::from_le_bytes(fixed(frame)?)),
        kind::CLOSED => empty(frame, ToGuest::Closed)?,
        kind::CLOCK => empty(frame, ToGuest::Clock)?,
        kind::RESIZE => ToGuest::Resize(unpacked(frame)?),
        kind::HOLD => empty(frame, ToGuest::Hold)?,
        kind::RELEASE => empty(frame, ToGuest::Release)?,
        other => return Err(CodecError::Kind(other)),
    })
}

/// Appends a message to the host to `out`.
///
/// # Errors
/// [`CodecError::Frame`] when it is too long for a frame; `out` is unchanged then.
pub fn encode_to_host(
    channel: Channel,
    message: &ToHost<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let (kind, payload): (u8, Cow<'_, [u8]>) = match message {
        ToHost::Hello(greeting) => (kind::HELLO, packed(greeting)),
        ToHost::Pong(number) => (kind::PONG, Cow::Owned(number.to_le_bytes().to_vec())),
        ToHost::Started(group) => (kind::STARTED, Cow::Owned(group.to_le_bytes().to_vec())),
        ToHost::Output(OutputStream::Stdout, bytes) => (kind::STDOUT, Cow::Borrowed(&**bytes)),
        ToHost::Output(OutputStream::Stderr, bytes) => (kind::STDERR, Cow::Borrowed(&**bytes)),
        ToHost::Ended(end) => (kind::ENDED, packed(end)),
        ToHost::Data(bytes) => (kind::TAR_DATA, Cow::Borrowed(&**bytes)),
        ToHost::Credit(bytes) => (kind::MORE, Cow::Owned(bytes.to_le_bytes().to_vec())),
        ToHost::Finished(summary) => (kind::FINISHED, packed(summary)),
        ToHost::Failed(failure) => (kind::FAILED, packed(failure)),
        ToHost::Open => (kind::OPEN, Cow::Borrowed(&[])),
        ToHost::Finish => (kind::NO_MORE, Cow::Borrowed(&[])),
        ToHost::Abort => (kind::BROKE_OFF, Cow::Borrowed(&[])),
        ToHost::Clock(reading) => (kind::CLOCKS, packed(reading)),
    };
    Ok(RawFrame {
        kind,
        channel,
        payload: &payload,
    }
    .write_to(out)?)
}

/// The message to the host in a frame.
///
/// # Errors
/// [`CodecError`] when it is none.
pub fn decode_to_host(frame: RawFrame<'_>) -> Result<ToHost<'_>, CodecError> {
    let bytes = frame.payload;
    Ok(match frame.kind {
        kind::HELLO => ToHost::Hello(unpacked(frame)?),
        kind::PONG => ToHost::Pong(u64::from_le_bytes(fixed(frame)?)),
        kind::STARTED => ToHost::Started(u32::from_le_bytes(fixed(frame)?)),
        kind::STDOUT => ToHost::Output(OutputStream::Stdout, Cow::Borrowed(bytes)),
        kind::STDERR => ToHost::Output(OutputStream::Stderr, Cow::Borrowed(bytes)),
        kind::ENDED => ToHost::Ended(unpacked(frame)?),
        kind::TAR_DATA => ToHost::Data(Cow::Borrowed(bytes)),
        kind::MORE => ToHost::Credit(u32::from_le_bytes(fixed(frame)?)),
        kind::FINISHED => ToHost::Finished(unpacked(frame)?),
        kind::FAILED => ToHost::Failed(unpacked(frame)?),
        kind::OPEN => empty(frame, ToHost::Open)?,
        kind::NO_MORE => empty(frame, ToHost::Finish)?,
        kind::BROKE_OFF => empty(frame, ToHost::Abort)?,
        kind::CLOCKS => ToHost::Clock(unpacked(frame)?),
        other => return Err(CodecError::Kind(other)),
    })
}

fn packed<T: Serialize>(value: &T) -> Cow<'static, [u8]> {
    Cow::Owned(postcard::to_stdvec(value).expect("plain structs of texts and numbers always pack"))
}

fn unpacked<T: DeserializeOwned>(frame: RawFrame<'_>) -> Result<T, CodecError> {
    match postcard::take_from_bytes(frame.payload) {
        Ok((value, [])) => Ok(value),
        _ => Err(CodecError::Content(frame.kind)),
    }
}

fn text(frame: RawFrame<'_>) -> Result<String, CodecError> {
    let text = std::str::from_utf8(frame.payload);
    text.map(str::to_owned)
        .map_err(|_| CodecError::Content(frame.kind))
}

fn fixed<const N: usize>(frame: RawFrame<'_>) -> Result<[u8; N], CodecError> {
    frame
        .payload
        .try_into()
        .map_err(|_| CodecError::Content(frame.kind))
}

fn empty<T>(frame: RawFrame<'_>, message: T) -> Result<T, CodecError> {
    if frame.payload.is_empty() {
        Ok(message)
    } else {
        Err(CodecError::Content(frame.kind))
    }
}
