//! Hash tables of the vocabulary: keys of words to their terms, texts of terms to their numbers.

use std::hash::{BuildHasher, RandomState};

use foldhash::fast::RandomState as FastHasher;

use super::term_id::{Namespace, TermId, TermList};

/// An open hash table from keys of words to their terms.
pub(super) struct SegmentWordTable {
    keys: Vec<u128>,
    lists: Vec<TermList>,
    used: usize,
    seeds: [u64; 2],
}

impl SegmentWordTable {
    const FIRST_SLOTS: usize = 1 << 12;

    pub(super) fn new(slots: usize) -> Self {
        let slots = slots.max(Self::FIRST_SLOTS);
        // Seeded, so that no text can be made to fall on one slot.
        let random = RandomState::new();
        Self {
            keys: vec![0; slots],
            lists: vec![TermList(0); slots],
            used: 0,
            seeds: [random.hash_one(1_u8), random.hash_one(2_u8)],
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.keys.len() * 20
    }

    #[inline]
    fn slot(&self, key: u128) -> usize {
        let low = key as u64 ^ self.seeds[0];
        let high = (key >> 64) as u64 ^ self.seeds[1];
        let product = u128::from(low).wrapping_mul(u128::from(high) | 1);
        let hash = (product as u64 ^ (product >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.keys.len() - 1)
    }

    /// Number of slots, a power of two.
    pub(super) fn slots(&self) -> usize {
        self.keys.len()
    }

    /// The terms of a key, if it is in the first slot it could be in.
    #[inline]
    pub(super) fn glance(&self, key: u128) -> Option<TermList> {
        let slot = self.slot(key);
        (self.keys[slot] == key).then_some(self.lists[slot])
    }

    /// The terms of a key.
    #[inline]
    pub(super) fn find(&self, key: u128) -> Option<TermList> {
        let slot = self.find_slot(key);
        (self.keys[slot] == key).then(|| self.lists[slot])
    }

    /// The slot of a key, or the free slot it would take.
    #[inline]
    fn find_slot(&self, key: u128) -> usize {
        let mut slot = self.slot(key);
        while self.keys[slot] != key && self.keys[slot] != 0 {
            slot = (slot + 1) & (self.keys.len() - 1);
        }
        slot
    }

    pub(super) fn insert(&mut self, key: u128, list: TermList) {
        if self.used * 3 >= self.keys.len() * 2 {
            self.grow();
        }
        let slot = self.find_slot(key);
        self.keys[slot] = key;
        self.lists[slot] = list;
        self.used += 1;
    }

    fn grow(&mut self) {
        let slots = self.keys.len() * 2;
        let keys = std::mem::replace(&mut self.keys, vec![0; slots]);
        let lists = std::mem::replace(&mut self.lists, vec![TermList(0); slots]);
        for (key, list) in keys.into_iter().zip(lists) {
            if key != 0 {
                let slot = self.find_slot(key);
                self.keys[slot] = key;
                self.lists[slot] = list;
            }
        }
    }
}

/// Letters of the fields.
const TEXT: u8 = b'.';
const EXACT: u8 = b'=';

/// The distinct terms of a segment.
pub(super) struct SegmentTerms {
    /// Texts of all terms, one behind the other, each behind its field's letter.
    text: Vec<u8>,
    /// Where each term's text ends.
    ends: Vec<u32>,
    /// Open hash table of term numbers plus one.
    slots: Vec<u32>,
    hasher: FastHasher,
}

impl SegmentTerms {
    const FIRST_SLOTS: usize = 1 << 12;

    pub(super) fn new(slots: usize) -> Self {
        Self {
            text: Vec::new(),
            ends: Vec::new(),
            slots: vec![0; slots.max(Self::FIRST_SLOTS)],
            hasher: FastHasher::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Number of slots, a power of two.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4 + self.slots.len() * 4
    }

    /// The field's letter and the text.
    fn tagged(&self, id: TermId) -> &[u8] {
        let index = id as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[index] as usize]
    }

    pub(super) fn text(&self, id: TermId) -> &[u8] {
        &self.tagged(id)[1..]
    }

    pub(super) fn namespace(&self, id: TermId) -> Namespace {
        if self.tagged(id)[0] == EXACT {
            Namespace::Exact
        } else {
            Namespace::Text
        }
    }

    fn slot(&self, tagged: &[u8]) -> usize {
        self.hasher.hash_one(tagged) as usize & (self.slots.len() - 1)
    }

    pub(super) fn intern(&mut self, namespace: Namespace, term: &str) -> TermId {
        let before = self.text.len();
        self.text.push(match namespace {
            Namespace::Text => TEXT,
            Namespace::Exact => EXACT,
        });
        self.text.extend_from_slice(term.as_bytes());
        let mut slot = self.slot(&self.text[before..]);
        while let Some(id) = self.slots[slot].checked_sub(1) {
            if self.tagged(id) == &self.text[before..] {
                self.text.truncate(before);
                return id;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        let id = self.ends.len() as TermId;
        self.ends.push(self.text.len() as u32);
        self.slots[slot] = id + 1;
        if self.ends.len() * 3 >= self.slots.len() * 2 {
            self.grow();
        }
        id
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 2];
        for id in 0..self.ends.len() as TermId {
            let mut slot = self.slot(self.tagged(id));
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (self.slots.len() - 1);
            }
            self.slots[slot] = id + 1;
        }
    }
}
