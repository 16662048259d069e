//! From raw words to term numbers, each word analysed once.
//!
//! Folding and stemming cost a hundred times more than a look into a table, and a text uses few
//! words often. Words of up to 15 bytes are their own 16-byte key, so that a look takes no
//! indirection; the others are kept in an ordinary map.

use std::hash::{BuildHasher, RandomState};

use foldhash::fast::RandomState as FastHasher;
use search_core::analysis::{TermKind, WordAnalyzer, WordTerms};

/// Number of a term in the segment that is built.
pub(super) type TermId = u32;

/// The field a term belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespace {
    /// Stems, identifiers and their parts.
    Text,
    /// Exact forms.
    Exact,
}

/// The terms of a raw word: one number, or a place in the table of lists.
#[derive(Clone, Copy)]
pub(super) struct TermList(u32);

/// Marks a place in the table of lists.
const IS_LIST: u32 = 1 << 31;

/// Longest word that is its own key.
const SHORT_BYTES: usize = 15;

/// Words, terms and which gives which.
pub(super) struct Vocabulary {
    analyzer: WordAnalyzer,
    buffer: WordTerms,
    short: ShortWords,
    long: std::collections::HashMap<Box<str>, TermList, FastHasher>,
    long_bytes: usize,
    /// Lists of term numbers, each behind its length.
    lists: Vec<TermId>,
    terms: Terms,
}

impl Vocabulary {
    pub(super) fn new() -> Self {
        Self {
            analyzer: WordAnalyzer::default(),
            buffer: WordTerms::default(),
            short: ShortWords::new(),
            long: std::collections::HashMap::default(),
            long_bytes: 0,
            lists: Vec::new(),
            terms: Terms::new(),
        }
    }

    /// Number of terms.
    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Bytes held, about.
    pub(super) fn bytes(&self) -> usize {
        self.short.bytes() + self.long_bytes + self.lists.capacity() * 4 + self.terms.bytes()
    }

    /// The text of a term.
    pub(super) fn term(&self, id: TermId) -> &str {
        self.terms.text(id)
    }

    /// The field of a term.
    pub(super) fn namespace(&self, id: TermId) -> Namespace {
        self.terms.namespace(id)
    }

    /// The term numbers of a list.
    #[inline]
    pub(super) fn ids<'l>(&'l self, list: &'l TermList) -> &'l [TermId] {
        // A single number is its own list; the reference keeps it alive.
        if list.0 & IS_LIST == 0 {
            return std::slice::from_ref(&list.0);
        }
        let at = (list.0 & !IS_LIST) as usize;
        let length = self.lists[at] as usize;
        &self.lists[at + 1..=at + length]
    }

    /// The terms of the raw word `text[start..start + length]`.
    #[inline]
    pub(super) fn look_up(&mut self, text: &str, start: usize, length: usize) -> TermList {
        if length <= SHORT_BYTES {
            let key = short_key(text.as_bytes(), start, length);
            match self.short.find(key) {
                Ok(list) => list,
                Err(_) => self.add_short(&text[start..start + length], key),
            }
        } else {
            self.look_up_long(&text[start..start + length])
        }
    }

    #[cold]
    fn add_short(&mut self, word: &str, key: u128) -> TermList {
        let list = self.analyze(word);
        self.short.insert(key, list);
        list
    }

    fn look_up_long(&mut self, word: &str) -> TermList {
        if let Some(&list) = self.long.get(word) {
            return list;
        }
        let list = self.analyze(word);
        self.long_bytes += word.len() + 48;
        self.long.insert(word.into(), list);
        list
    }

    /// Analyses a word that was not seen yet.
    fn analyze(&mut self, word: &str) -> TermList {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.analyzer.analyze(word, &mut buffer);
        let at = self.lists.len();
        self.lists.push(0);
        for (term, kind) in buffer.iter() {
            let namespace = match kind {
                TermKind::Whole | TermKind::Part => Namespace::Text,
                TermKind::Exact => Namespace::Exact,
            };
            let id = self.terms.intern(namespace, term);
            self.lists.push(id);
        }
        self.buffer = buffer;
        let length = self.lists.len() - at - 1;
        if length == 1 {
            let id = self.lists[at + 1];
            self.lists.truncate(at);
            return TermList(id);
        }
        self.lists[at] = length as u32;
        TermList(at as u32 | IS_LIST)
    }
}

/// The bytes of a short word and their number, as one number that is never 0.
#[inline]
fn short_key(text: &[u8], start: usize, length: usize) -> u128 {
    let window = text.get(start..start + 16).and_then(|window| window.try_into().ok());
    let bytes = window.unwrap_or_else(|| {
        let mut padded = [0; 16];
        padded[..length].copy_from_slice(&text[start..start + length]);
        padded
    });
    let mask = (1_u128 << (8 * length)) - 1;
    (u128::from_le_bytes(bytes) & mask) | ((length as u128) << 120)
}

/// An open hash table of short words.
struct ShortWords {
    keys: Vec<u128>,
    lists: Vec<TermList>,
    used: usize,
    seeds: [u64; 2],
}

impl ShortWords {
    const FIRST_SLOTS: usize = 1 << 12;

    fn new() -> Self {
        // Seeded, so that no text can be made to fall on one slot.
        let random = RandomState::new();
        Self {
            keys: vec![0; Self::FIRST_SLOTS],
            lists: vec![TermList(0); Self::FIRST_SLOTS],
            used: 0,
            seeds: [random.hash_one(1_u8), random.hash_one(2_u8)],
        }
    }

    fn bytes(&self) -> usize {
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

    /// The list of a key, or the free slot it would take.
    #[inline]
    fn find(&self, key: u128) -> Result<TermList, usize> {
        let mut slot = self.slot(key);
        loop {
            let found = self.keys[slot];
            if found == key {
                return Ok(self.lists[slot]);
            }
            if found == 0 {
                return Err(slot);
            }
            slot = (slot + 1) & (self.keys.len() - 1);
        }
    }

    fn insert(&mut self, key: u128, list: TermList) {
        if self.used * 3 >= self.keys.len() * 2 {
            self.grow();
        }
        if let Err(slot) = self.find(key) {
            self.keys[slot] = key;
            self.lists[slot] = list;
            self.used += 1;
        }
    }

    fn grow(&mut self) {
        let slots = self.keys.len() * 2;
        let keys = std::mem::replace(&mut self.keys, vec![0; slots]);
        let lists = std::mem::replace(&mut self.lists, vec![TermList(0); slots]);
        for (key, list) in keys.into_iter().zip(lists) {
            if key != 0
                && let Err(slot) = self.find(key)
            {
                self.keys[slot] = key;
                self.lists[slot] = list;
            }
        }
    }
}

/// The distinct terms of a segment.
struct Terms {
    /// Texts of all terms, one behind the other, each behind its field's letter.
    text: String,
    /// Where each term's text ends.
    ends: Vec<u32>,
    /// Open hash table of term numbers plus one.
    slots: Vec<u32>,
    hasher: FastHasher,
}

impl Terms {
    const FIRST_SLOTS: usize = 1 << 12;

    fn new() -> Self {
        Self {
            text: String::new(),
            ends: Vec::new(),
            slots: vec![0; Self::FIRST_SLOTS],
            hasher: FastHasher::default(),
        }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4 + self.slots.len() * 4
    }

    /// The field's letter and the text.
    fn tagged(&self, id: TermId) -> &str {
        let index = id as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[index] as usize]
    }

    fn text(&self, id: TermId) -> &str {
        &self.tagged(id)[1..]
    }

    fn namespace(&self, id: TermId) -> Namespace {
        if self.tagged(id).starts_with('=') {
            Namespace::Exact
        } else {
            Namespace::Text
        }
    }

    fn slot(&self, tagged: &str) -> usize {
        self.hasher.hash_one(tagged) as usize & (self.slots.len() - 1)
    }

    fn intern(&mut self, namespace: Namespace, term: &str) -> TermId {
        let before = self.text.len();
        self.text.push(match namespace {
            Namespace::Text => '.',
            Namespace::Exact => '=',
        });
        self.text.push_str(term);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use search_core::analysis::words;

    use super::{Namespace, Vocabulary};

    fn terms(vocabulary: &mut Vocabulary, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for word in words(text) {
            let list = vocabulary.look_up(text, word.start, word.text.len());
            let ids: Vec<_> = vocabulary.ids(&list).to_vec();
            found.extend(ids.into_iter().map(|id| match vocabulary.namespace(id) {
                Namespace::Text => vocabulary.term(id).to_owned(),
                Namespace::Exact => format!("={}", vocabulary.term(id)),
            }));
        }
        found
    }

    #[test]
    fn words_give_the_terms_of_the_analysis() {
        let mut vocabulary = Vocabulary::new();
        let text = "Wings getUserName wing internationalisation_of x";
        assert_eq!(
            terms(&mut vocabulary, text),
            [
                "wing", "=wings", "getusername", "get", "user", "name", "wing",
                "internationalisation_of", "internationalis", "of", "x",
            ]
        );
    }

    proptest! {
        #[test]
        fn a_word_gives_the_same_terms_however_often_it_is_seen(
            list in prop::collection::vec("[a-zA-Z0-9_é漢]{1,20}", 1..300),
        ) {
            let mut vocabulary = Vocabulary::new();
            let text = list.join(" ");
            let first = terms(&mut vocabulary, &text);
            let known = vocabulary.len();
            prop_assert_eq!(terms(&mut vocabulary, &text), first);
            prop_assert_eq!(vocabulary.len(), known);
        }
    }
}
