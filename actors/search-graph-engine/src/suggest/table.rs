//! Suggestions as a table: a finite-state map from folded words to their places.

use fst::{Automaton, IntoStreamer, Map, MapBuilder, Streamer};
use search_core::analysis::folded_line;

use super::entry::{KINDS, SuggesterEntry, SuggestionKind, order, packed, retain_heaviest};
use crate::columns::{Column, TextColumns, TextsBuilder, u32_column};

/// Entries looked at for one answer: a prefix of one letter is not worth more.
const MAX_LOOKED_AT: usize = 20_000;

/// Suggestions in the order of their folded texts.
#[derive(Debug)]
pub(super) struct SuggestionTable {
    map: Map<Vec<u8>>,
    texts: TextColumns,
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

    fn resolve(self, folded: &str) -> &str {
        &folded[self.start as usize..self.end as usize]
    }
}

/// A map from sorted keys to their places, in no more memory than it needs.
fn map_of<'k>(keys: impl Iterator<Item = &'k str>) -> Map<Vec<u8>> {
    let mut builder = MapBuilder::memory();
    for (place, key) in keys.enumerate() {
        let inserted = builder.insert(key, place as u64);
        inserted.expect("keys are sorted and distinct");
    }
    let mut bytes = builder.into_inner().expect("memory takes all");
    bytes.shrink_to_fit();
    Map::new(bytes).expect("it has just been made")
}

impl Default for SuggestionTable {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl SuggestionTable {
    pub(super) fn new(mut suggested: Vec<SuggesterEntry<'_>>) -> Self {
        retain_heaviest(&mut suggested);
        // One text of all keys: a hundred thousand small ones would take twice the memory. As it
        // grows it would take twice as much again.
        let bytes = suggested.iter().map(|one| one.text.len()).sum();
        let mut folded = String::with_capacity(bytes);
        let mut keyed: Vec<(FoldedKey, SuggesterEntry<'_>)> = Vec::with_capacity(suggested.len());
        for one in suggested {
            let start = folded.len();
            folded.push_str(&folded_line(one.text));
            if folded.len() > start {
                keyed.push((FoldedKey::new(start, folded.len()), one));
            }
        }
        let key = |one: &(FoldedKey, _)| one.0.resolve(&folded);
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
        let map = map_of(keyed.iter().map(key));
        // Not needed any more, and the texts take as much.
        drop(folded);
        let bytes = keyed.iter().map(|(_, one)| one.text.len()).sum();
        let mut texts = TextsBuilder::sized(keyed.len(), bytes);
        keyed.iter().for_each(|(_, one)| texts.push(one.text));
        let weights = keyed.iter().map(|(_, one)| packed(one.kind, one.weight));
        Self {
            map,
            texts: texts.finish(),
            weights: u32_column(weights),
        }
    }

    /// The suggestion at a place of the map.
    pub(super) fn entry(&self, place: usize) -> SuggesterEntry<'_> {
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
