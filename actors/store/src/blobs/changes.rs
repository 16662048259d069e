//! What a group appends and releases, and where blobs end.

use super::{Blob, Extent, PAGE_BYTES, SegmentStorage};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io;

/// Begins the keys of rows that tell how many blobs of a segment are in use, among the store's own
/// numbers.
const SEGMENT: &[u8] = b"segment ";

/// The key of a segment's row.
pub(crate) fn segment_key(segment: u32) -> Vec<u8> {
    [SEGMENT, &segment.to_be_bytes()].concat()
}

/// The segment that a key is of.
pub(crate) fn segment_of_key(key: &[u8]) -> Option<u32> {
    let number = key.strip_prefix(SEGMENT)?;
    number.try_into().ok().map(u32::from_be_bytes)
}

/// Where the committed blobs end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlobEnd {
    pub(crate) segment: u32,
    pub(crate) end: u64,
}

impl BlobEnd {
    pub(crate) fn to_bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.segment.to_be_bytes());
        bytes[4..].copy_from_slice(&self.end.to_be_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (segment, end) = bytes.split_first_chunk::<4>()?;
        Some(Self {
            segment: u32::from_be_bytes(*segment),
            end: u64::from_be_bytes(end.try_into().ok()?),
        })
    }

    /// Where the next group may begin.
    fn next_page(self) -> Self {
        let end = self.end.next_multiple_of(PAGE_BYTES);
        Self { end, ..self }
    }
}

/// What the requests of a group append and release, oldest first.
#[derive(Debug)]
pub(crate) struct BlobChanges {
    before: BlobEnd,
    segment_bytes: u64,
    parts: BlobBatch,
    /// The blobs that are no longer needed.
    released: Vec<Extent>,
}

/// A point to go back to: a request that fails takes its blobs with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Savepoint(usize, usize);

impl BlobChanges {
    /// `segment_bytes`: where segments end. A larger blob gets one of its own.
    pub(crate) fn starting_at(before: BlobEnd, segment_bytes: u64) -> Self {
        Self {
            before,
            segment_bytes,
            parts: BlobBatch::default(),
            released: Vec::new(),
        }
    }

    /// Where the group's blobs end so far.
    pub(crate) fn head(&self) -> BlobEnd {
        let last = self.parts.0.last().map(|(extent, _)| BlobEnd {
            segment: extent.segment,
            end: u64::from(extent.offset) + extent.bytes(),
        });
        last.unwrap_or(self.before)
    }

    /// Gives a blob its place; it is at most as large as a row may be.
    pub(crate) fn append(&mut self, blob: &Blob) -> Extent {
        let len = blob.bytes.len() as u64;
        let mut place = match self.parts.0.is_empty() {
            true => self.before.next_page(),
            false => self.head(),
        };
        if place.end > 0 && place.end + len > self.segment_bytes {
            place = BlobEnd {
                segment: place.segment.wrapping_add(1),
                end: 0,
            };
        }
        let extent = Extent {
            segment: place.segment,
            offset: u32::try_from(place.end).expect("rows and segments are smaller"),
            len: u32::try_from(len).expect("rows and segments are smaller"),
            crc: blob.crc,
        };
        self.parts.0.push((extent, blob.clone()));
        extent
    }

    pub(crate) fn release(&mut self, extent: &Extent) {
        self.released.push(*extent);
    }

    /// A blob that this group appended.
    pub(crate) fn get(&self, extent: &Extent) -> Option<&Bytes> {
        // The latest ones are asked for, if any.
        let mut latest = self.parts.0.iter().rev();
        latest.find_map(|(known, blob)| (known == extent).then_some(&blob.bytes))
    }

    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint(self.parts.0.len(), self.released.len())
    }

    pub(crate) fn roll_back_to(&mut self, mark: Savepoint) {
        self.parts.0.truncate(mark.0);
        self.released.truncate(mark.1);
    }

    /// By how much the number of blobs in use changes, a segment each; also has the segment that
    /// the group left.
    pub(crate) fn changes(&self) -> BTreeMap<u32, i64> {
        let mut changes = BTreeMap::new();
        if self.head().segment != self.before.segment {
            changes.insert(self.before.segment, 0);
        }
        for (extent, _) in &self.parts.0 {
            *changes.entry(extent.segment).or_default() += 1;
        }
        for extent in &self.released {
            *changes.entry(extent.segment).or_default() -= 1;
        }
        changes
    }

    /// What is no longer needed.
    pub(crate) fn take_released(&mut self) -> Vec<Extent> {
        std::mem::take(&mut self.released)
    }

    /// What is to be written.
    pub(crate) fn into_batch(self) -> BlobBatch {
        self.parts
    }
}

/// Blobs with their places, in their order.
#[derive(Debug, Default)]
pub(crate) struct BlobBatch(Vec<(Extent, Blob)>);

impl BlobBatch {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The blobs with their places.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = &(Extent, Blob)> {
        self.0.iter()
    }

    /// Writes the blobs; durable on `Ok`.
    pub(crate) fn write_to(&self, segments: &dyn SegmentStorage) -> io::Result<()> {
        let same = |(a, _): &(Extent, _), (b, _): &(Extent, _)| a.segment == b.segment;
        for run in self.0.chunk_by(same) {
            let parts: Vec<&[u8]> = run.iter().map(|(_, blob)| blob.bytes.as_ref()).collect();
            let (first, _) = run[0];
            segments.write(first.segment, u64::from(first.offset), &parts)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT_BYTES: u64 = 10 * PAGE_BYTES;

    fn after(segment: u32, end: u64) -> BlobChanges {
        BlobChanges::starting_at(BlobEnd { segment, end }, SEGMENT_BYTES)
    }

    fn blob(bytes: u64) -> Blob {
        Blob::new(vec![7; bytes as usize].into())
    }

    #[test]
    fn groups_begin_at_pages_and_blobs_stand_one_behind_the_other() {
        let mut appends = after(3, 5000);
        let at = |extent: Extent| (extent.segment, extent.offset, extent.len);
        assert_eq!(at(appends.append(&blob(10))), (3, 8192, 10));
        assert_eq!(at(appends.append(&blob(0))), (3, 8202, 0));
        assert_eq!(at(appends.append(&blob(5))), (3, 8202, 5));
        assert_eq!(
            appends.head(),
            BlobEnd {
                segment: 3,
                end: 8207
            }
        );
    }

    #[test]
    fn what_does_not_fit_into_a_segment_begins_the_next() {
        let end = SEGMENT_BYTES - 100;
        let mut appends = after(0, end);
        assert_eq!(appends.append(&blob(1)).segment, 1, "behind the next page");
        let end = SEGMENT_BYTES - PAGE_BYTES;
        let mut appends = after(0, end);
        assert_eq!(appends.append(&blob(PAGE_BYTES)).segment, 0);
        assert_eq!(appends.append(&blob(0)).segment, 0);
        assert_eq!(appends.append(&blob(1)).segment, 1);
        assert_eq!(appends.changes(), BTreeMap::from([(0, 2), (1, 1)]));
        let whole = after(0, 0).append(&blob(SEGMENT_BYTES));
        assert_eq!((whole.segment, whole.offset), (0, 0));
        let mut appends = after(0, 1);
        assert_eq!(
            appends.append(&blob(2 * SEGMENT_BYTES)).segment,
            1,
            "of its own"
        );
        assert_eq!(appends.append(&blob(1)).segment, 2);
    }

    #[test]
    fn a_request_that_fails_takes_its_blobs_with_it() {
        let mut appends = after(0, 0);
        let first = appends.append(&blob(10));
        let mark = appends.savepoint();
        let second = appends.append(&blob(20));
        appends.release(&first);
        appends.roll_back_to(mark);
        assert!(appends.get(&first).is_some() && appends.get(&second).is_none());
        assert_eq!(appends.changes(), BTreeMap::from([(0, 1)]));
        assert_eq!(appends.append(&blob(5)).offset, second.offset);
    }

    #[test]
    fn the_head_comes_back() {
        let head = BlobEnd {
            segment: 7,
            end: 1 << 40,
        };
        assert_eq!(BlobEnd::from_bytes(&head.to_bytes()), Some(head));
        assert_eq!(BlobEnd::from_bytes(&[0; 11]), None);
        assert_eq!(BlobEnd::from_bytes(&[0; 13]), None);
    }
}
