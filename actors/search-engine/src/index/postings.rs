//! The posting list of one term while a segment is built.

use super::arena::{Arena, ByteList, take_number};

/// Documents and term frequencies of one term, by passage. The last place is kept apart until the
/// next one comes, because its frequency is still counted; terms that stand in one passage of one
/// document take no arena memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Posting {
    /// The last document, counted from 1; 0 when there is none.
    last: u32,
    /// The last passage in it; 0 is the document as a whole.
    passage: u32,
    /// The coded distance of this place to the one before it, see [`step`].
    step: u32,
    /// Term frequency in the last passage.
    frequency: u32,
    /// The places before the last one.
    earlier: ByteList,
}

/// A place is in a new document.
const NEW: u32 = 1;

/// The term is there once.
const ONCE: u32 = 2;

/// A place in a new document is in a passage, whose number follows.
const PASSAGE: u32 = 4;

/// Bits of a step that are signs.
const SIGNS: u32 = 3;

impl Posting {
    /// Counts `weight` occurrences in a passage of `document` (from 0), neither before the last
    /// one.
    #[inline]
    pub(super) fn count(&mut self, document: u32, passage: u32, weight: u32, arena: &mut Arena) {
        let document = document + 1;
        if self.last == document {
            if self.passage >= passage {
                self.frequency += weight;
                return;
            }
            self.put_by(arena);
            self.step = (passage - self.passage) << SIGNS;
        } else {
            if self.last != 0 {
                self.put_by(arena);
            }
            let in_passage = if passage > 0 { PASSAGE } else { 0 };
            self.step = (document - self.last) << SIGNS | NEW | in_passage;
            self.last = document;
        }
        self.passage = passage;
        self.frequency = weight;
    }

    /// Writes the last place to the list of earlier ones.
    #[inline]
    fn put_by(&mut self, arena: &mut Arena) {
        let mut earlier = self.earlier;
        self.code(|number| earlier.push_number(number, arena));
        self.earlier = earlier;
    }

    /// The numbers that stand for the last place.
    #[inline]
    fn code(&self, mut put: impl FnMut(u32)) {
        let is_once = self.frequency == 1;
        put(self.step | if is_once { ONCE } else { 0 });
        if self.step & PASSAGE != 0 {
            put(self.passage);
        }
        if !is_once {
            put(self.frequency);
        }
    }

    /// Counts `document` once, however often it is told.
    #[inline]
    pub(super) fn count_once(&mut self, document: u32, arena: &mut Arena) {
        if self.last != document + 1 {
            self.count(document, 0, 1, arena);
        }
    }

    /// The whole list in its coding, into `bytes`; read back by [`DecodedPostings::decode`].
    pub(super) fn encode(&self, arena: &Arena, bytes: &mut Vec<u8>) {
        self.earlier.read(arena, bytes);
        if self.last != 0 {
            self.code(|number| put_number(number, bytes));
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

/// One document of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecodedPosting {
    /// The document, from 0.
    pub(super) document: u32,
    /// How often the term is there.
    pub(super) frequency: u32,
    /// Where its passages begin among those of the list.
    passages: usize,
}

/// A posting list that was decoded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DecodedPostings {
    pub(super) documents: Vec<DecodedPosting>,
    /// For each occurrence of the term in a document how many passages it is behind the one before
    /// it.
    passages: Vec<u32>,
}

impl DecodedPostings {
    pub(super) fn clear(&mut self) {
        self.documents.clear();
        self.passages.clear();
    }

    /// The passages of a document of the list, as distances, one an occurrence.
    pub(super) fn passages(&self, of: DecodedPosting) -> &[u32] {
        &self.passages[of.passages..of.passages + of.frequency as usize]
    }

    /// Adds an encoded list.
    pub(super) fn decode(&mut self, mut bytes: &[u8]) {
        let mut document = 0;
        while let Some(head) = take_number(&mut bytes) {
            let mut distance = head >> SIGNS;
            if head & NEW != 0 {
                document += distance;
                self.documents.push(DecodedPosting {
                    document: document - 1,
                    frequency: 0,
                    passages: self.passages.len(),
                });
                distance = 0;
                if head & PASSAGE != 0 {
                    distance = take_number(&mut bytes).unwrap_or(0);
                }
            }
            let frequency = if head & ONCE != 0 {
                1
            } else {
                take_number(&mut bytes).unwrap_or(1)
            };
            if let Some(last) = self.documents.last_mut() {
                last.frequency += frequency;
            }
            self.passages.push(distance);
            let repeated = self.passages.len() + frequency as usize - 1;
            self.passages.resize(repeated, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{DecodedPostings, Posting};
    use crate::index::arena::Arena;

    proptest! {
        #[test]
        fn counts_read_back(
            mut counts in prop::collection::vec((0_u32..2000, 0_u32..300, 1_u32..300), 1..400),
        ) {
            counts.sort_unstable();
            let mut arena = Arena::default();
            let mut posting = Posting::default();
            let mut expected: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for (document, passage, weight) in counts {
                posting.count(document, passage, weight, &mut arena);
                let passages = expected.entry(document).or_default();
                passages.extend((0..weight).map(|_| passage));
            }
            let (mut bytes, mut read) = (Vec::new(), DecodedPostings::default());
            posting.encode(&arena, &mut bytes);
            read.decode(&bytes);
            let added_up = |distances: &[u32]| -> Vec<u32> {
                let mut passage = 0;
                let add = |distance: &u32| {
                    passage += distance;
                    passage
                };
                distances.iter().map(add).collect()
            };
            let documents = read.documents.iter();
            let found = documents.map(|&one| (one.document, added_up(read.passages(one))));
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
        }
    }

    #[test]
    fn i16_occurrences_before_the_last_passage_count_in_it() {
        let mut arena = Arena::default();
        let mut posting = Posting::default();
        posting.count(3, 2, 1, &mut arena);
        posting.count(3, 0, 2, &mut arena);
        let (mut bytes, mut read) = (Vec::new(), DecodedPostings::default());
        posting.encode(&arena, &mut bytes);
        read.decode(&bytes);
        assert_eq!(read.passages(read.documents[0]), [2, 0, 0]);
    }
}
