//! Large blobs beside the rows: bytes that are written once, read seldom and forgotten whole, such
//! as a webhook's body.
//!
//! A row of 28 kB costs the database a page of 32 kB, its checksum, its place in a cache and in the
//! list of free pages. A blob costs one gathered write for all that were appended together. See
//! docs/adr/0013.
//!
//! ```text
//! append(blob) ─▶ Extent, kept in a row ─┐
//!                                         ├─▶ blobs of the group: one write, one fsync ─▶ its rows are named
//! append(blob) ─▶ Extent, kept in a row ─┘
//! ```
//!
//! # What holds
//!
//! - The commit of the rows decides. What was written for a group that was not committed is not
//!   reachable, and the next group overwrites it: where the blobs end is a row itself.
//! - A row that holds an [`Extent`] is durable only after the blob is: see [`gate`].
//! - No page of a segment holds blobs of two groups, so that writing one never touches another's.
//! - A segment is removed once all its blobs were released and the commit that released the last is
//!   durable.

mod changes;
mod direct_io;
mod gate;
mod memory;
pub(crate) mod packing;
mod segments;

use self::packing::BlobPart;
use crate::codec::Row;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

pub(crate) use changes::{BlobBatch, BlobChanges, BlobEnd, segment_key, segment_of_key};
pub(crate) use direct_io::PAGE_BYTES;
pub(crate) use gate::{BlobWriter, CommitGate};
pub use memory::SegmentsInMemory;
pub use segments::{SegmentDirectory, SegmentStorage};

/// Bytes to append, with their checksum: made before the writer is asked, because it serves all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    bytes: Bytes,
    crc: u32,
    /// As rows of a server have it, once it was packed.
    packed: Option<Arc<[BlobPart<'static>]>>,
}

impl Blob {
    /// A blob of these bytes, which are not copied.
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        let crc = crc32fast::hash(&bytes);
        Self {
            bytes,
            crc,
            packed: None,
        }
    }

    /// The same, packed for an engine that keeps blobs in rows.
    #[must_use]
    pub(crate) fn packed(mut self) -> Self {
        if self.packed.is_none() {
            let parts = packing::parts(&self.bytes).into_iter();
            self.packed = Some(parts.map(BlobPart::into_owned).collect());
        }
        self
    }

    /// Its parts, as rows of a server have them.
    pub(crate) fn parts(&self) -> Cow<'_, [BlobPart<'_>]> {
        match &self.packed {
            Some(parts) => Cow::Borrowed(parts),
            None => Cow::Owned(packing::parts(&self.bytes)),
        }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// Where an appended blob lies. Belongs into a row: what no row remembers cannot be released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    pub(crate) len: u32,
    /// CRC-32 of the bytes.
    pub(crate) crc: u32,
}

impl Row for Extent {
    const SCHEMA: u16 = 1;
}

impl Extent {
    /// Length of the blob in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.len)
    }

    /// Reads the blob; `None` if its segment is gone or holds something else there, which happens
    /// to a reader that learnt of the extent before it was released.
    pub(crate) fn read_from(
        &self,
        segments: &dyn SegmentStorage,
    ) -> std::io::Result<Option<Vec<u8>>> {
        use std::io::ErrorKind::{NotFound, UnexpectedEof};
        if self.len == 0 {
            return Ok(Some(Vec::new()));
        }
        let mut bytes = vec![0; self.len as usize];
        match segments.read(self.segment, u64::from(self.offset), &mut bytes) {
            Ok(()) => Ok(self.checked(Some(bytes))),
            Err(error) if matches!(error.kind(), NotFound | UnexpectedEof) => {
                Ok(self.checked(None))
            }
            Err(error) => Err(error),
        }
    }

    /// The bytes that were found at the blob's place, if they are the blob; else the log says what
    /// is wrong.
    pub(crate) fn checked(&self, found: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let (segment, offset) = (self.segment, self.offset);
        match found {
            Some(bytes) if crc32fast::hash(&bytes) == self.crc => Some(bytes),
            Some(_) => {
                tracing::warn!(
                    event = "store.piece_damaged",
                    segment,
                    offset,
                    "checksum differs"
                );
                None
            }
            None => {
                tracing::warn!(
                    event = "store.piece_missing",
                    segment,
                    offset,
                    "it is not there"
                );
                None
            }
        }
    }
}
