//! Autocomplete: what a person may be about to type, from titles, concepts and frequent terms.
//!
//! A finite-state map from folded words to their places. Suggestions by prefix come first, heaviest
//! first; where there are few, those within one or two edits follow.

mod near;

use fst::{Automaton, IntoStreamer, Map, MapBuilder, Streamer};
use search_core::analysis::folded_line;

use crate::columns::{Column, Texts, TextsBuilder, u32_column};
use near::LevenshteinAutomaton;

/// Most suggestions kept.
pub const MAX_SUGGESTIONS: usize = 200_000;

/// Longest input that is completed, in bytes when folded.
const MAX_INPUT: usize = 64;

/// Entries looked at for one answer: a prefix of one letter is not worth more.
const MAX_LOOKED_AT: usize = 20_000;

/// What a suggestion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SuggestionKind {
    /// A concept of the graph or the thesaurus.
    Concept,
    /// A document's title.
    Title,
    /// A frequent term.
    Term,
}

/// Something that can be suggested.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Suggestion {
    /// As it is shown and put into the query.
    pub text: String,
    /// What it is.
    pub kind: SuggestionKind,
    /// How common it is; heavier ones come first.
    pub weight: u32,
}

/// A suggestion on its way into a [`Suggester`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuggesterEntry<'t> {
    /// As it is shown and put into the query.
    pub text: &'t str,
    /// What it is.
    pub kind: SuggestionKind,
    /// How common it is; heavier ones come first.
    pub weight: u32,
}

/// All suggestions, ready to be looked up. Cheap to share, never changed.
#[derive(Debug)]
pub struct Suggester {
    map: Map<Vec<u8>>,
    texts: Texts,
    /// The weight of each, with its kind in the lowest bits.
    weights: Column,
}

impl Default for Suggester {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Suggester {
    /// Of these suggestions; of those that fold alike the heaviest stays, and of too many the
    /// heaviest.
    #[must_use]
    pub fn new(mut suggested: Vec<SuggesterEntry<'_>>) -> Self {
        if suggested.len() > MAX_SUGGESTIONS {
            suggested.select_nth_unstable_by(MAX_SUGGESTIONS, order);
            suggested.truncate(MAX_SUGGESTIONS);
        }
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
    fn at(&self, place: usize) -> SuggesterEntry<'_> {
        let packed = self.weights.u32(place);
        SuggesterEntry {
            text: self.texts.get(place),
            kind: KINDS[packed as usize % KINDS.len()],
            weight: packed / KINDS.len() as u32,
        }
    }

    /// Number of suggestions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is nothing to suggest.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `limit` suggestions for what was typed: those that begin with it, then, when these
    /// are fewer, those that nearly do.
    #[must_use]
    pub fn suggest(&self, input: &str, limit: usize) -> Vec<Suggestion> {
        let mut found = self.by_prefix(input, limit);
        if found.len() < limit {
            for near in self.nearly(input, limit) {
                if found.len() < limit && !found.contains(&near) {
                    found.push(near);
                }
            }
        }
        found
    }

    /// The suggestions that begin with what was typed, heaviest first.
    #[must_use]
    pub fn by_prefix(&self, input: &str, limit: usize) -> Vec<Suggestion> {
        let Some(key) = key_of(input) else {
            return Vec::new();
        };
        let prefix = fst::automaton::Str::new(&key).starts_with();
        self.heaviest(self.places(prefix), limit)
    }

    /// The suggestions that begin with something one edit (from four letters on) or two edits (from
    /// eight) from what was typed, heaviest first.
    #[must_use]
    pub fn nearly(&self, input: &str, limit: usize) -> Vec<Suggestion> {
        let Some(key) = key_of(input) else {
            return Vec::new();
        };
        let edits = match key.chars().count() {
            0..=3 => return Vec::new(),
            4..=7 => 1,
            _ => 2,
        };
        self.heaviest(
            self.places(LevenshteinAutomaton::new(&key, edits).starts_with()),
            limit,
        )
    }

    fn places(&self, machine: impl Automaton) -> Vec<usize> {
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

    fn heaviest(&self, places: Vec<usize>, limit: usize) -> Vec<Suggestion> {
        let places = places.into_iter();
        let mut found: Vec<SuggesterEntry<'_>> = places.map(|place| self.at(place)).collect();
        if limit > 0 && found.len() > limit {
            found.select_nth_unstable_by(limit - 1, order);
        }
        found.truncate(limit);
        found.sort_unstable_by(order);
        let own = |one: SuggesterEntry<'_>| Suggestion {
            text: one.text.to_owned(),
            kind: one.kind,
            weight: one.weight,
        };
        found.into_iter().map(own).collect()
    }
}

/// All kinds, in the order of their numbers.
const KINDS: [SuggestionKind; 3] = [
    SuggestionKind::Concept,
    SuggestionKind::Title,
    SuggestionKind::Term,
];

/// A weight with the kind in its lowest part.
fn packed(kind: SuggestionKind, weight: u32) -> u32 {
    let most = u32::MAX / KINDS.len() as u32 - 1;
    weight.min(most) * KINDS.len() as u32 + kind as u32
}

/// The folded input; a space at its end stays, it says that the word is whole.
fn key_of(input: &str) -> Option<String> {
    let mut key = folded_line(input);
    if key.is_empty() || key.len() > MAX_INPUT {
        return None;
    }
    if input.ends_with(char::is_whitespace) {
        key.push(' ');
    }
    Some(key)
}

/// Heaviest first, then by kind and text: never by chance.
fn order(a: &SuggesterEntry<'_>, b: &SuggesterEntry<'_>) -> std::cmp::Ordering {
    b.weight
        .cmp(&a.weight)
        .then_with(|| a.kind.cmp(&b.kind))
        .then_with(|| a.text.cmp(b.text))
}
