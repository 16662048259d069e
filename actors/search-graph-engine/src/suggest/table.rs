//! Suggestions as a table: a finite-state map from folded words to their places.

use fst::{Automaton, IntoStreamer, Map, MapBuilder, Streamer};
use search_core::analysis::folded_line;

use super::entry::{KINDS, SuggesterEntry, SuggestionKind, keep_heaviest, order, packed};
use crate::columns::{Column, Texts, TextsBuilder, u32_column};

/// Entries looked at for one answer: a prefix of one letter is not worth more.
const MAX_LOOKED_AT: usize = 20_000;

/// Suggestions in the order of their folded texts.
#[derive(Debug)]
pub(super) struct SuggestionTable {
    map: Map<Vec<u8>>,
    texts: Texts,
    /// The weight of each, with its kind in the lowest bits.
    weights: Column,
}

/// Where a folded text stands in the text of all.
#[derive(Debug, Clone, Copy)]
struct FoldedKey {
    start: u32,
    end: u32,
}

impl FoldedKey {
    fn new(start: usize, end: usize) -> Self {
        // A title has a few hundred letters, and so few texts are kept.
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    fn of(self, folded: &str) -> &str {
        &folded[self.start as usize..self.end as usize]
    }
}

impl Default for SuggestionTable {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl SuggestionTable {
    pub(super) fn new(mut suggested: Vec<SuggesterEntry<'_>>) -> Self {
        keep_heaviest(&mut suggested);
        // One text of all keys: a hundred thousand small ones would take twice the memory.
        let mut folded = String::new();
        let mut keyed: Vec<(FoldedKey, SuggesterEntry<'_>)> = Vec::with_capacity(suggested.len());
        for one in suggested {
            let start = folded.len();
            folded.push_str(&folded_line(one.text));
            if folded.len() > start {
                keyed.push((FoldedKey::new(start, folded.len()), one));
            }
        }
        let key = |one: &(FoldedKey, _)| one.0.of(&folded);
        keyed.sort_unstable_by(|a, b| key(a).cmp(key(b)).then_with(|| order(&a.1, &b.1)));
        keyed.dedup_by(|later, first| {
            let is_same = key(later) == key(first);
            // A title is written as people write it; concepts and terms are folded.
            let is_title = |one: &SuggesterEntry<'_>| one.kind == SuggestionKind::Title;
            if is_same && is_title(&later.1) && !is_title(&first.1) {
                first.1.text = later.1.text;
            }
            is_same
        });
        let mut builder = MapBuilder::memory();
        let mut texts = TextsBuilder::default();
        for (place, one) in keyed.iter().enumerate() {
            builder
                .insert(key(one), place as u64)
                .expect("keys are sorted and distinct");
            texts.push(one.1.text);
        }
        let weights = keyed.iter().map(|(_, one)| packed(one.kind, one.weight));
        Self {
            map: builder.into_map(),
            texts: texts.finish(),
            weights: u32_column(weights),
        }
    }

    /// The suggestion at a place of the map.
    pub(super) fn at(&self, place: usize) -> SuggesterEntry<'_> {
        let packed = self.weights.u32(place);
        SuggesterEntry {
            text: self.texts.get(place),
            kind: KINDS[packed as usize % KINDS.len()],
            weight: packed / KINDS.len() as u32,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The place of a folded text.
    pub(super) fn place(&self, key: &str) -> Option<usize> {
        self.map.get(key).map(|place| place as usize)
    }

    pub(super) fn places(&self, machine: impl Automaton) -> Vec<usize> {
        let mut stream = self.map.search(machine).into_stream();
        let mut places = Vec::new();
        while let Some((_, place)) = stream.next() {
            places.push(place as usize);
            if places.len() == MAX_LOOKED_AT {
                break;
            }
        }
        places
    }
}
