//! Frames in a stream of bytes, put together however the bytes are cut.

/// Bytes before the payload: length, kind, channel.
pub const HEADER: usize = 9;

/// Longest payload, in bytes: a request to run something with all it may carry.
pub const MAX_PAYLOAD: usize = crate::ExecSpec::MAX_BYTES + 64 * 1024;

/// Longest payload from the agent, in bytes: a piece of data, or an end with its reason. What a
/// hostile agent sends costs no more than that.
pub const MAX_PAYLOAD_TO_HOST: usize = 64 * 1024;

/// Longest frame, in bytes.
pub const MAX_FRAME: usize = HEADER + MAX_PAYLOAD;

/// What is before the kind.
const LENGTH: usize = 4;

/// Bytes that are no frame. The connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than any frame may be.
    #[error("a frame of {0} bytes is announced, which is more than a frame may have")]
    TooLong(usize),
    /// Too short for kind and channel.
    #[error("a frame of {0} bytes is announced; {HEADER} are the least")]
    TooShort(usize),
}

/// One frame as it stands in the decoder's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFrame<'a> {
    /// What kind of message it is.
    pub kind: u8,
    /// Which channel it belongs to.
    pub channel: u32,
    /// The message's content.
    pub payload: &'a [u8],
}

impl RawFrame<'_> {
    /// Appends the frame's bytes to `out`.
    ///
    /// # Errors
    /// [`FrameError::TooLong`], with `out` unchanged.
    pub fn write_to(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        let after_length = HEADER - LENGTH + self.payload.len();
        let Some(length) = u32::try_from(after_length)
            .ok()
            .filter(|_| self.payload.len() <= MAX_PAYLOAD)
        else {
            return Err(FrameError::TooLong(after_length + LENGTH));
        };
        out.reserve(LENGTH + after_length);
        out.extend_from_slice(&length.to_le_bytes());
        out.push(self.kind);
        out.extend_from_slice(&self.channel.to_le_bytes());
        out.extend_from_slice(self.payload);
        Ok(())
    }
}

/// Collects bytes and gives frames. It holds at most one frame and what was fed last, so feeding
/// pieces of at most [`MAX_FRAME`] bounds its memory.
#[derive(Debug)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    /// The longest payload that is taken.
    most: usize,
    /// Where the next frame begins in the buffer.
    start: usize,
}

impl Default for FrameDecoder {
    fn default() -> Self {
        Self::new(MAX_PAYLOAD)
    }
}

impl FrameDecoder {
    /// Takes payloads of at most so many bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            buffer: Vec::new(),
            most,
            start: 0,
        }
    }

    /// Takes what came next.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, or `None` until more has come.
    ///
    /// # Errors
    /// [`FrameError`] as soon as the length is known to be wrong; every later call gives it again.
    pub fn next_frame(&mut self) -> Result<Option<RawFrame<'_>>, FrameError> {
        let rest = &self.buffer[self.start..];
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > HEADER + self.most - LENGTH {
            return Err(FrameError::TooLong(length.saturating_add(LENGTH)));
        }
        if length < HEADER - LENGTH {
            return Err(FrameError::TooShort(length + LENGTH));
        }
        let Some(frame) = rest.get(..length) else {
            return Ok(None);
        };
        self.start += LENGTH + length;
        let (kind, frame) = frame.split_first().expect("the length was checked above");
        let (channel, payload) = frame
            .split_first_chunk::<4>()
            .expect("the length was checked above");
        Ok(Some(RawFrame {
            kind: *kind,
            channel: u32::from_le_bytes(*channel),
            payload,
        }))
    }

    /// Bytes that have come and are in no frame given out yet.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.start
    }
}
