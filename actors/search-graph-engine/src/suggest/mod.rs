//! Autocomplete: what a person may be about to type, from titles, concepts and frequent terms.
//!
//! A finite-state map from folded words to their places, and a small one beside it of what has
//! changed since that was made. Suggestions by prefix come first, heaviest first; where there are
//! few, those within one or two edits follow.

mod entry;
mod near;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use fst::Automaton;
use search_core::analysis::folded_line;

use crate::columns::RowSet;
use entry::order;
pub(crate) use entry::retain_heaviest;
pub use entry::{MAX_SUGGESTIONS, SuggesterEntry, Suggestion, SuggestionKind};
use near::LevenshteinAutomaton;
use table::SuggestionTable;

/// Longest input that is completed, in bytes when folded.
const MAX_INPUT: usize = 64;

/// Fewest letters of a last word that is completed.
const MIN_LAST: usize = 3;

/// All suggestions, ready to be looked up. Cheap to share, never changed: those that were made
/// altogether, and what is otherwise since.
#[derive(Debug, Default)]
pub struct Suggester {
    all: Arc<SuggestionTable>,
    /// Those that came since, or weigh otherwise.
    recent: SuggestionTable,
    /// Places among all that count no more.
    gone: RowSet,
}

impl Suggester {
    /// Of these suggestions; of those that fold alike the heaviest stays, and of too many the
    /// heaviest.
    #[must_use]
    pub fn new(suggested: Vec<SuggesterEntry<'_>>) -> Self {
        Self {
            all: Arc::new(SuggestionTable::new(suggested)),
            ..Self::default()
        }
    }

    /// The same with some that were `put`, in place of lighter ones that fold alike, and without
    /// some that are `gone`.
    #[must_use]
    pub fn changed(&self, put: &[SuggesterEntry<'_>], gone: &[SuggesterEntry<'_>]) -> Self {
        let mut marked = self.gone.clone();
        let mut recent: BTreeMap<String, SuggesterEntry<'_>> = BTreeMap::new();
        for place in 0..self.recent.len() {
            let entry = self.recent.entry(place);
            recent.insert(folded_line(entry.text), entry);
        }
        for one in gone {
            let key = folded_line(one.text);
            if recent.get(&key).is_some_and(|known| known.kind == one.kind) {
                recent.remove(&key);
            }
            if let Some(place) = self.all.place(&key)
                && self.all.entry(place).kind == one.kind
            {
                marked.add(place);
            }
        }
        for one in put {
            let key = folded_line(one.text);
            let known = recent.get(&key).copied().or_else(|| {
                let place = self.all.place(&key)?;
                (!marked.contains(place)).then(|| self.all.entry(place))
            });
            // Of the same kind it may have become lighter.
            let stays = |known: SuggesterEntry<'_>| {
                known == *one || known.kind != one.kind && order(&known, one).is_lt()
            };
            if key.is_empty() || known.is_some_and(stays) {
                continue;
            }
            if let Some(place) = self.all.place(&key) {
                marked.add(place);
            }
            recent.insert(key, *one);
        }
        Self {
            all: Arc::clone(&self.all),
            recent: SuggestionTable::new(recent.into_values().collect()),
            gone: marked,
        }
    }

    /// How many suggestions differ from those that were made altogether.
    #[must_use]
    pub fn differing(&self) -> usize {
        self.recent.len() + self.gone.count()
    }

    /// Number of suggestions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len() - self.gone.count() + self.recent.len()
    }

    /// Whether there is nothing to suggest.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `limit` suggestions for what was typed: those that begin with it, then, when these
    /// are fewer, what its last word may become, then those that nearly begin so.
    #[must_use]
    pub fn suggest(&self, input: &str, limit: usize) -> Vec<Suggestion> {
        let mut found = self.complete_prefix(input, limit);
        if found.len() < limit {
            found.extend(self.complete_last_word(input, limit - found.len()));
        }
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
    pub fn complete_prefix(&self, input: &str, limit: usize) -> Vec<Suggestion> {
        let Some(key) = key_of(input) else {
            return Vec::new();
        };
        self.heaviest(limit, || fst::automaton::Str::new(&key).starts_with())
    }

    /// What was typed with its last word completed, heaviest first.
    fn complete_last_word(&self, input: &str, limit: usize) -> Vec<Suggestion> {
        let Some((head, last)) = input.trim_start().rsplit_once(char::is_whitespace) else {
            return Vec::new();
        };
        if last.chars().count() < MIN_LAST {
            return Vec::new();
        }
        let all = self.complete_prefix(last, limit).into_iter();
        let words = all.filter(|one| one.kind != SuggestionKind::Title && one.text != last);
        let completed = words.map(|one| Suggestion {
            text: format!("{} {}", head.trim_end(), one.text),
            ..one
        });
        completed.collect()
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
        self.heaviest(limit, || {
            LevenshteinAutomaton::new(&key, edits).starts_with()
        })
    }

    fn heaviest<A: Automaton>(&self, limit: usize, machine: impl Fn() -> A) -> Vec<Suggestion> {
        let all = self.all.places(machine()).into_iter();
        let all = all.filter(|place| !self.gone.contains(*place));
        let recent = self.recent.places(machine()).into_iter();
        let mut found: Vec<SuggesterEntry<'_>> = all
            .map(|place| self.all.entry(place))
            .chain(recent.map(|place| self.recent.entry(place)))
            .collect();
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
