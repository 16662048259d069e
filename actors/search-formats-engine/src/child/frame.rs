//! What parent and child say to each other: a length of four bytes (little endian), then postcard.
//!
//! ```text
//! parent ─▶ child   Request, then the document's bytes (as many as the request says)
//! child ─▶ parent   Result<Text, Refusal>
//! ```

use std::io::{Error, ErrorKind, Read, Result, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::format::DocumentFormat;
use crate::text::DocumentLimits;

/// One document to read.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReadRequest {
    pub(super) format: DocumentFormat,
    pub(super) limits: DocumentLimits,
    /// Bytes of the document that follow.
    pub(super) bytes: u64,
}

/// Longest frame: a text at its limit, and what is around it.
const MAX_FRAME: u32 = 64 << 20;

pub(super) fn send<T: Serialize>(out: &mut impl Write, value: &T) -> Result<()> {
    let bytes = postcard::to_stdvec(value).map_err(Error::other)?;
    let length = u32::try_from(bytes.len())
        .ok()
        .filter(|length| *length <= MAX_FRAME);
    let length =
        length.ok_or_else(|| Error::new(ErrorKind::InvalidData, "the frame is too long"))?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&bytes)?;
    out.flush()
}

pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME {
        return Err(Error::new(ErrorKind::InvalidData, "the frame is too long"));
    }
    let mut bytes = Vec::new();
    let read = from.take(u64::from(length)).read_to_end(&mut bytes)?;
    if read as u64 != u64::from(length) {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}
