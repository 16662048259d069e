//! What a group appends and releases, and where pieces end.

use super::{Extent, PAGE_BYTES, Piece, SegmentStorage};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io;

/// Begins the keys of rows that tell how many pieces of a segment are in use, among the store's own numbers.
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

/// Where the committed pieces end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) segment: u32,
    pub(crate) end: u64,
}

impl Head {
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
pub(crate) struct Appends {
    before: Head,
    segment_bytes: u64,
    parts: Parts,
    /// The segments of the pieces that are no longer needed, one entry each.
    released: Vec<u32>,
}

/// A point to go back to: a request that fails takes its pieces with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(usize, usize);

impl Appends {
    /// `segment_bytes`: where segments end. A larger piece gets one of its own.
    pub(crate) fn after(before: Head, segment_bytes: u64) -> Self {
        Self {
            before,
            segment_bytes,
            parts: Parts::default(),
            released: Vec::new(),
        }
    }

    /// Where the group's pieces end so far.
    pub(crate) fn head(&self) -> Head {
        let last = self.parts.0.last().map(|(extent, _)| Head {
            segment: extent.segment,
            end: u64::from(extent.offset) + extent.bytes(),
        });
        last.unwrap_or(self.before)
    }

    /// Gives a piece its place; it is at most as large as a row may be.
    pub(crate) fn append(&mut self, piece: &Piece) -> Extent {
        let len = piece.bytes.len() as u64;
        let mut place = match self.parts.0.is_empty() {
            true => self.before.next_page(),
            false => self.head(),
        };
        if place.end > 0 && place.end + len > self.segment_bytes {
            place = Head {
                segment: place.segment.wrapping_add(1),
                end: 0,
            };
        }
        let extent = Extent {
            segment: place.segment,
            offset: u32::try_from(place.end).expect("rows and segments are smaller"),
            len: u32::try_from(len).expect("rows and segments are smaller"),
            crc: piece.crc,
        };
        self.parts.0.push((extent, piece.bytes.clone()));
        extent
    }

    pub(crate) fn release(&mut self, extent: &Extent) {
        self.released.push(extent.segment);
    }

    /// A piece that this group appended.
    pub(crate) fn get(&self, extent: &Extent) -> Option<&Bytes> {
        // The latest ones are asked for, if any.
        let mut latest = self.parts.0.iter().rev();
        latest.find_map(|(known, bytes)| (known == extent).then_some(bytes))
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.parts.0.len(), self.released.len())
    }

    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.parts.0.truncate(mark.0);
        self.released.truncate(mark.1);
    }

    /// By how much the number of pieces in use changes, a segment each; also has the segment that the group left.
    pub(crate) fn changes(&self) -> BTreeMap<u32, i64> {
        let mut changes = BTreeMap::new();
        if self.head().segment != self.before.segment {
            changes.insert(self.before.segment, 0);
        }
        for (extent, _) in &self.parts.0 {
            *changes.entry(extent.segment).or_default() += 1;
        }
        for segment in &self.released {
            *changes.entry(*segment).or_default() -= 1;
        }
        changes
    }

    /// What is to be written.
    pub(crate) fn into_parts(self) -> Parts {
        self.parts
    }
}

/// Pieces with their places, in their order.
#[derive(Debug, Default)]
pub(crate) struct Parts(Vec<(Extent, Bytes)>);

impl Parts {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the pieces; durable on `Ok`.
    pub(crate) fn write_to(&self, segments: &dyn SegmentStorage) -> io::Result<()> {
        let same = |(a, _): &(Extent, _), (b, _): &(Extent, _)| a.segment == b.segment;
        for run in self.0.chunk_by(same) {
            let parts: Vec<&[u8]> = run.iter().map(|(_, bytes)| bytes.as_ref()).collect();
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

    fn after(segment: u32, end: u64) -> Appends {
        Appends::after(Head { segment, end }, SEGMENT_BYTES)
    }

    fn piece(bytes: u64) -> Piece {
        Piece::new(vec![7; bytes as usize].into())
    }

    #[test]
    fn groups_begin_at_pages_and_pieces_stand_one_behind_the_other() {
        let mut appends = after(3, 5000);
        let at = |extent: Extent| (extent.segment, extent.offset, extent.len);
        assert_eq!(at(appends.append(&piece(10))), (3, 8192, 10));
        assert_eq!(at(appends.append(&piece(0))), (3, 8202, 0));
        assert_eq!(at(appends.append(&piece(5))), (3, 8202, 5));
        assert_eq!(
            appends.head(),
            Head {
                segment: 3,
                end: 8207
            }
        );
    }

    #[test]
    fn what_does_not_fit_into_a_segment_begins_the_next() {
        let end = SEGMENT_BYTES - 100;
        let mut appends = after(0, end);
        assert_eq!(appends.append(&piece(1)).segment, 1, "behind the next page");
        let end = SEGMENT_BYTES - PAGE_BYTES;
        let mut appends = after(0, end);
        assert_eq!(appends.append(&piece(PAGE_BYTES)).segment, 0);
        assert_eq!(appends.append(&piece(0)).segment, 0);
        assert_eq!(appends.append(&piece(1)).segment, 1);
        assert_eq!(appends.changes(), BTreeMap::from([(0, 2), (1, 1)]));
        let whole = after(0, 0).append(&piece(SEGMENT_BYTES));
        assert_eq!((whole.segment, whole.offset), (0, 0));
        let mut appends = after(0, 1);
        assert_eq!(
            appends.append(&piece(2 * SEGMENT_BYTES)).segment,
            1,
            "of its own"
        );
        assert_eq!(appends.append(&piece(1)).segment, 2);
    }

    #[test]
    fn a_request_that_fails_takes_its_pieces_with_it() {
        let mut appends = after(0, 0);
        let first = appends.append(&piece(10));
        let mark = appends.mark();
        let second = appends.append(&piece(20));
        appends.release(&first);
        appends.back_to(mark);
        assert!(appends.get(&first).is_some() && appends.get(&second).is_none());
        assert_eq!(appends.changes(), BTreeMap::from([(0, 1)]));
        assert_eq!(appends.append(&piece(5)).offset, second.offset);
    }

    #[test]
    fn the_head_comes_back() {
        let head = Head {
            segment: 7,
            end: 1 << 40,
        };
        assert_eq!(Head::from_bytes(&head.to_bytes()), Some(head));
        assert_eq!(Head::from_bytes(&[0; 11]), None);
        assert_eq!(Head::from_bytes(&[0; 13]), None);
    }
}
