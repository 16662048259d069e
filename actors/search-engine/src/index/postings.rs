//! The posting list of one term while a segment is built.

use super::arena::{Arena, ByteList, take_number};

/// Documents and term frequencies of one term. The last document is kept apart until the next one
/// comes, because its frequency is still counted; terms of one document take no arena memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Posting {
    /// The last document, counted from 1; 0 when there is none.
    last: u32,
    /// Distance of the last document to the one before it.
    distance: u32,
    /// Term frequency in the last document.
    frequency: u32,
    /// The documents before the last one.
    earlier: ByteList,
}

impl Posting {
    /// Counts `weight` occurrences in `document` (from 0, never before the last one).
    #[inline]
    pub(super) fn count(&mut self, document: u32, weight: u32, arena: &mut Arena) {
        let document = document + 1;
        if self.last == document {
            self.frequency += weight;
            return;
        }
        if self.last != 0 {
            self.put_by(arena);
        }
        self.distance = document - self.last;
        self.last = document;
        self.frequency = weight;
    }

    /// Writes the last document to the list of earlier ones. A frequency of one is a bit of the
    /// distance.
    #[inline]
    fn put_by(&mut self, arena: &mut Arena) {
        let once = self.frequency == 1;
        self.earlier
            .push_number(self.distance << 1 | u32::from(once), arena);
        if !once {
            self.earlier.push_number(self.frequency, arena);
        }
    }

    /// Counts `document` once, however often it is told.
    #[inline]
    pub(super) fn count_once(&mut self, document: u32, arena: &mut Arena) {
        if self.last != document + 1 {
            self.count(document, 1, arena);
        }
    }

    /// The whole list in its coding, into `bytes`; read back by [`decode`].
    pub(super) fn encode(&self, arena: &Arena, bytes: &mut Vec<u8>) {
        self.earlier.read(arena, bytes);
        if self.last != 0 {
            let once = self.frequency == 1;
            put_number(self.distance << 1 | u32::from(once), bytes);
            if !once {
                put_number(self.frequency, bytes);
            }
        }
    }
}

fn put_number(mut number: u32, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The documents (from 0) of an encoded list with their frequencies, added to `out`.
pub(super) fn decode(mut bytes: &[u8], out: &mut Vec<(u32, u32)>) {
    let mut document = 0;
    while let Some(head) = take_number(&mut bytes) {
        document += head >> 1;
        let frequency = if head & 1 == 1 {
            1
        } else {
            take_number(&mut bytes).unwrap_or(1)
        };
        out.push((document - 1, frequency));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{Posting, decode};
    use crate::index::arena::Arena;

    proptest! {
        #[test]
        fn counts_read_back(mut counts in prop::collection::vec((0_u32..2000, 1_u32..300), 1..400)) {
            counts.sort_unstable();
            let mut arena = Arena::default();
            let mut posting = Posting::default();
            let mut expected: BTreeMap<u32, u32> = BTreeMap::new();
            for (document, weight) in counts {
                posting.count(document, weight, &mut arena);
                *expected.entry(document).or_default() += weight;
            }
            let (mut bytes, mut read) = (Vec::new(), Vec::new());
            posting.encode(&arena, &mut bytes);
            decode(&bytes, &mut read);
            prop_assert_eq!(read, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
