//! The beginnings of files, as bytes and as text.

use std::fs::File;
use std::io::Read;

use crate::extract::TextFormat;
use crate::extract::json::has_escapes;
use crate::walk::SkipReason;

/// The beginning of a file, in a buffer that is used for many.
#[derive(Debug, Default)]
pub(super) struct FileHead {
    /// Only ever grows: giving 64 KiB back and asking for them again costs more than reading a
    /// file.
    buffer: Vec<u8>,
    pub(super) filled: usize,
}

impl FileHead {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Reads on until there are `wanted` bytes or the file ends (then true).
    pub(super) fn read_on(&mut self, file: &File, wanted: usize) -> Result<bool, SkipReason> {
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.filled < wanted {
            let room = &mut self.buffer[self.filled..wanted];
            let asked = room.len();
            let read = rustix::io::retry_on_intr(|| rustix::io::read(file, &mut *room))
                .map_err(|errno| SkipReason::from_io_error(&errno.into()))?;
            self.filled += read;
            // A file that is no pipe gives less than asked for at its end only.
            if read < asked {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What was read, and what follows in the file.
    pub(super) fn and_rest(&self, mut file: &File) -> Result<Vec<u8>, SkipReason> {
        let length = file.metadata().map_or(0, |data| data.len());
        let room = usize::try_from(length.min(MAX_WHOLE_BYTES)).unwrap_or(0);
        let mut whole = Vec::with_capacity(room.max(self.filled) + 1);
        whole.extend_from_slice(self.bytes());
        file.by_ref()
            .take(MAX_WHOLE_BYTES)
            .read_to_end(&mut whole)
            .map_err(|error| SkipReason::from_io_error(&error))?;
        Ok(whole)
    }
}

/// More of a file is not read at once to find a place in it.
const MAX_WHOLE_BYTES: u64 = 10 << 20;

/// Whether a file of this kind and length is looked at piece by piece.
pub(crate) fn is_deep(format: TextFormat, bytes: u64) -> bool {
    bytes > MAX_WHOLE_BYTES
        && matches!(
            format,
            TextFormat::Text | TextFormat::Code | TextFormat::Data
        )
}

/// The bytes as text if they are UTF-8 without a mark; a character cut at the end is left off.
pub(super) fn plain_utf8(bytes: &[u8]) -> Option<&str> {
    if needs_decoding(bytes) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// Whether bytes begin with a mark, or hold what text in UTF-8 does not.
pub(crate) fn needs_decoding(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xef\xbb\xbf")
        || memchr::memchr(0, &bytes[..bytes.len().min(512)]).is_some()
        || has_escapes(bytes)
}
