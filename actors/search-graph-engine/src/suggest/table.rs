//! Suggestions as a table: a finite-state map from folded words to their places.

use fst::{Automaton, IntoStreamer, Map, MapBuilder, Streamer};
use search_core::analysis::folded_line;

use super::entry::{KINDS, SuggesterEntry, keep_heaviest, order, packed};
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

impl Default for SuggestionTable {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl SuggestionTable {
    pub(super) fn new(mut suggested: Vec<SuggesterEntry<'_>>) -> Self {
        keep_heaviest(&mut suggested);
        let mut keyed: Vec<(String, SuggesterEntry<'_>)> = suggested
            .into_iter()
            .map(|suggested| (folded_line(suggested.text), suggested))
            .filter(|(key, _)| !key.is_empty())
            .collect();
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| order(&a.1, &b.1)));
        keyed.dedup_by(|later, first| later.0 == first.0);
        let mut builder = MapBuilder::memory();
        let mut texts = TextsBuilder::default();
        for (place, (key, suggested)) in keyed.iter().enumerate() {
            builder
                .insert(key, place as u64)
                .expect("keys are sorted and distinct");
            texts.push(suggested.text);
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
