//! The posting list of one term while a segment is built.

use super::arena::{Arena, ByteList, take_number};

/// Documents, places and term frequencies of one term. The last place is kept apart until the next
/// one comes, because its frequency is still counted; terms that stand once in one document take no
/// arena memory.
#[derive(Clone, Copy, Default)]
pub(super) struct PostingList {
    /// The last document, counted from 1; 0 when there is none.
    last: u32,
    /// The last place in it, see [`places`](super::places).
    place: u32,
    /// The coded distance of this place to the one before it, see [`step`].
    step: u32,
    /// Term frequency at the last place.
    frequency: u32,
    /// The places before the last one.
    earlier: ByteList,
}

/// A place is in a new document.
const NEW: u32 = 1;

/// The term is there once.
const ONCE: u32 = 2;

/// In a new document: the number of the place follows. In the same one: it is before the last one.
const PLACE: u32 = 4;

/// Bits of a step that are signs.
const SIGNS: u32 = 3;

/// Whether the number of a place follows.
#[inline]
const fn has_place(step: u32) -> bool {
    step & (NEW | PLACE) == NEW | PLACE
}

impl PostingList {
    /// Counts `weight` occurrences at a place of `document` (from 0), which is not before the last
    /// one. Nearly all places come in their order.
    #[inline]
    pub(super) fn count(&mut self, document: u32, place: u32, weight: u32, arena: &mut Arena) {
        let document = document + 1;
        if self.last == document {
            if self.place == place {
                self.frequency += weight;
                return;
            }
            self.put_by(arena);
            self.step = if place > self.place {
                (place - self.place) << SIGNS
            } else {
                (self.place - place) << SIGNS | PLACE
            };
        } else {
            if self.last != 0 {
                self.put_by(arena);
            }
            let at_place = if place > 0 { PLACE } else { 0 };
            self.step = (document - self.last) << SIGNS | NEW | at_place;
            self.last = document;
        }
        self.place = place;
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
        if has_place(self.step) {
            put(self.place);
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
    /// Where its places begin among those of the list.
    places: usize,
}

/// A posting list that was decoded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DecodedPostings {
    pub(super) documents: Vec<DecodedPosting>,
    /// For each occurrence of the term in a document how far it is behind the one before it.
    places: Vec<u32>,
}

impl DecodedPostings {
    pub(super) fn clear(&mut self) {
        self.documents.clear();
        self.places.clear();
    }

    /// The places in a document of the list, as distances, one an occurrence.
    pub(super) fn places(&self, of: DecodedPosting) -> &[u32] {
        &self.places[of.places..of.places + of.frequency as usize]
    }

    /// Adds an encoded list.
    pub(super) fn decode(&mut self, mut bytes: &[u8]) {
        let (mut document, mut place) = (0, 0);
        let (mut is_open, mut is_sorted) = (false, true);
        while let Some(head) = take_number(&mut bytes) {
            let distance = head >> SIGNS;
            if head & NEW != 0 {
                if is_open {
                    self.close_document(is_sorted);
                }
                (is_open, is_sorted) = (true, true);
                document += distance;
                self.documents.push(DecodedPosting {
                    document: document - 1,
                    frequency: 0,
                    places: self.places.len(),
                });
                place = 0;
                if has_place(head) {
                    place = take_number(&mut bytes).unwrap_or(0);
                }
            } else if head & PLACE != 0 {
                place -= distance.min(place);
                is_sorted = false;
            } else {
                place += distance;
            }
            let frequency = if head & ONCE != 0 {
                1
            } else {
                take_number(&mut bytes).unwrap_or(1)
            };
            if let Some(last) = self.documents.last_mut() {
                last.frequency += frequency;
            }
            let counted = self.places.len() + frequency as usize;
            self.places.resize(counted, place);
        }
        if is_open {
            self.close_document(is_sorted);
        }
    }

    /// From the places in the last document to their distances.
    fn close_document(&mut self, is_sorted: bool) {
        let Some(last) = self.documents.last() else {
            return;
        };
        let places = &mut self.places[last.places..];
        if !is_sorted {
            places.sort_unstable();
        }
        let mut before = 0;
        for place in places {
            (*place, before) = (*place - before, *place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::{DecodedPostings, PostingList};
    use crate::index::arena::Arena;

    proptest! {
        #[test]
        fn i16_counts_read_back_sorted_whatever_the_order_of_places(
            mut counts in prop::collection::vec((0_u32..2000, 0_u32..300, 1_u32..300), 1..400),
            is_sorted: bool,
        ) {
            if is_sorted {
                counts.sort_unstable();
            } else {
                counts.sort_by_key(|count| count.0);
            }
            let mut arena = Arena::default();
            let mut posting = PostingList::default();
            let mut expected: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for (document, place, weight) in counts {
                posting.count(document, place, weight, &mut arena);
                let places = expected.entry(document).or_default();
                places.extend((0..weight).map(|_| place));
                places.sort_unstable();
            }
            let (mut bytes, mut read) = (Vec::new(), DecodedPostings::default());
            posting.encode(&arena, &mut bytes);
            // Runs are decoded one behind the other.
            let mut other = PostingList::default();
            other.count(5_000, 7, 2, &mut arena);
            read.decode(&bytes);
            other.encode(&arena, &mut bytes);
            read.decode(&bytes);
            expected.insert(5_000, vec![7, 7]);
            let added_up = |distances: &[u32]| -> Vec<u32> {
                let mut place = 0;
                let add = |distance: &u32| {
                    place += distance;
                    place
                };
                distances.iter().map(add).collect()
            };
            let documents = read.documents.iter();
            let found = documents.map(|&one| (one.document, added_up(read.places(one))));
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
        }
    }
}
