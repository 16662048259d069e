//! An automaton of the words that begin within a few edits of an input.

use fst::Automaton;

/// Most edits.
const MAX_EDITS: usize = 2;

/// Columns of the table of distances that can matter in one of its rows.
const BAND: usize = 2 * MAX_EDITS + 1;

/// Follows the band of Levenshtein's table, a row for each character of the word: nothing is built
/// beforehand, and a state is a few bytes.
pub(super) struct LevenshteinAutomaton {
    input: Vec<char>,
    edits: u8,
}

impl LevenshteinAutomaton {
    /// Of an input and at most 2 edits.
    pub(super) fn new(input: &str, edits: usize) -> Self {
        Self {
            input: input.chars().collect(),
            edits: edits.min(MAX_EDITS) as u8,
        }
    }

    /// The next row, after the word went on with `c`.
    fn row(&self, state: &AutomatonState, c: char) -> AutomatonState {
        let row = state.row + 1;
        let mut cells = [self.edits + 1; BAND];
        for at in 0..BAND {
            // The cell of column `row + at - MAX_EDITS`; the one above it is one further on in the
            // band.
            let Some(column) = (row + at).checked_sub(MAX_EDITS) else {
                continue;
            };
            if column > self.input.len() {
                break;
            }
            let above = state
                .cells
                .get(at + 1)
                .map_or(u8::MAX, |cell| cell.saturating_add(1));
            let left = if at > 0 {
                cells[at - 1].saturating_add(1)
            } else {
                u8::MAX
            };
            let other = column.checked_sub(1).map(|before| self.input[before] != c);
            let diagonal = other.map_or(u8::MAX, |other| {
                state.cells[at].saturating_add(u8::from(other))
            });
            cells[at] = above.min(left).min(diagonal).min(self.edits + 1);
        }
        AutomatonState {
            row,
            cells,
            pending: [0; 4],
            held: 0,
        }
    }
}

/// A row of the table, and the bytes of a character that is not whole yet.
#[derive(Clone)]
pub(super) struct AutomatonState {
    row: usize,
    cells: [u8; BAND],
    pending: [u8; 4],
    held: usize,
}

impl Automaton for LevenshteinAutomaton {
    type State = AutomatonState;

    fn start(&self) -> AutomatonState {
        AutomatonState {
            row: 0,
            cells: std::array::from_fn(|at| {
                at.checked_sub(MAX_EDITS)
                    .map_or(self.edits + 1, |column| (column as u8).min(self.edits + 1))
            }),
            pending: [0; 4],
            held: 0,
        }
    }

    fn is_match(&self, state: &AutomatonState) -> bool {
        let last = (self.input.len() + MAX_EDITS).checked_sub(state.row);
        let distance = last.and_then(|at| state.cells.get(at));
        state.held == 0 && distance.is_some_and(|distance| *distance <= self.edits)
    }

    fn can_match(&self, state: &AutomatonState) -> bool {
        state.cells.iter().any(|cell| *cell <= self.edits)
    }

    fn accept(&self, state: &AutomatonState, byte: u8) -> AutomatonState {
        let mut next = state.clone();
        if next.held == next.pending.len() {
            next.cells = [self.edits + 1; BAND];
            return next;
        }
        next.pending[next.held] = byte;
        next.held += 1;
        let whole = std::str::from_utf8(&next.pending[..next.held]);
        match whole.ok().and_then(|text| text.chars().next()) {
            Some(c) => self.row(state, c),
            None => next,
        }
    }
}

#[cfg(test)]
mod tests {
    use fst::{Automaton, IntoStreamer, Set};
    use proptest::prelude::*;

    use super::LevenshteinAutomaton;

    /// Least distance of `input` to a beginning of `word`, by the whole table.
    fn distance(input: &str, word: &str) -> usize {
        let input: Vec<char> = input.chars().collect();
        let mut row: Vec<usize> = (0..=input.len()).collect();
        let mut least = row[input.len()];
        for c in word.chars() {
            let mut next = vec![row[0] + 1];
            for at in 0..input.len() {
                let diagonal = row[at] + usize::from(input[at] != c);
                next.push(diagonal.min(row[at + 1] + 1).min(next[at] + 1));
            }
            row = next;
            least = least.min(row[input.len()]);
        }
        least
    }

    proptest! {
        #[test]
        fn the_band_finds_what_the_whole_table_finds(
            words in prop::collection::btree_set("[abé漢]{1,9}", 1..60),
            input in "[abé漢]{0,9}",
            edits in 0usize..3,
        ) {
            let set = Set::from_iter(&words).expect("sorted");
            let found = set.search(LevenshteinAutomaton::new(&input, edits).starts_with()).into_stream().into_strs();
            let expected: Vec<&String> = words.iter().filter(|word| distance(&input, word) <= edits).collect();
            let found = found.expect("text");
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        }
    }
}
