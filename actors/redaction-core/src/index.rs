//! Finding any of a set of texts, and the beginning of one at an end.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

/// A set of texts, ready to be looked for.
pub(crate) struct FormIndex {
    sorted: Vec<Vec<u8>>,
    /// `None` without texts.
    automaton: Option<AhoCorasick>,
    longest: usize,
    /// Whether a text begins with this byte.
    first_bytes: [bool; 256],
}

impl FormIndex {
    /// The size of `forms` is bounded, see [`crate::SecretForms::add`].
    pub(crate) fn new(forms: &BTreeSet<Vec<u8>>) -> Self {
        let sorted: Vec<Vec<u8>> = forms
            .iter()
            .filter(|form| !form.is_empty())
            .cloned()
            .collect();
        let mut first_bytes = [false; 256];
        for form in &sorted {
            first_bytes[usize::from(form[0])] = true;
        }
        Self {
            longest: sorted.iter().map(Vec::len).max().unwrap_or(0),
            automaton: (!sorted.is_empty()).then(|| automaton(&sorted)),
            sorted,
            first_bytes,
        }
    }

    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Calls `found` with the place of the longest text that ends at each place of `bytes`; they
    /// may overlap.
    pub(crate) fn find(&self, bytes: &[u8], mut found: impl FnMut(Range<usize>)) {
        let Some(automaton) = &self.automaton else {
            return;
        };
        let mut longest = 0..0;
        for hit in automaton.find_overlapping_iter(bytes) {
            if hit.end() != longest.end {
                if !longest.is_empty() {
                    found(longest);
                }
                longest = hit.range();
            }
            longest.start = longest.start.min(hit.start());
        }
        if !longest.is_empty() {
            found(longest);
        }
    }

    /// Where the end of `bytes` is the beginning of a text and not the whole of it, first places
    /// first.
    pub(crate) fn unfinished<'b>(&'b self, bytes: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
        let first = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        (first..bytes.len()).filter(move |start| self.may_grow(&bytes[*start..]))
    }

    fn may_grow(&self, end: &[u8]) -> bool {
        // The text itself may stand here, and a longer one behind it.
        let after = || self.sorted.partition_point(|form| form.as_slice() <= end);
        self.first_bytes[usize::from(end[0])]
            && self
                .sorted
                .get(after())
                .is_some_and(|form| form.starts_with(end))
    }
}

/// Not a DFA, which takes ten times the memory and the time to build.
fn automaton(forms: &[Vec<u8>]) -> AhoCorasick {
    let mut builder = AhoCorasickBuilder::new();
    let built = builder
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(forms);
    built.expect("a few million states fit into the automaton's 31-bit ids")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_at_each_place_is_found_and_open_ends_are() {
        let set = ["a", "abc", "abcde", "abd", "bc", "x"].map(|it| it.as_bytes().to_vec());
        let index = FormIndex::new(&BTreeSet::from(set));
        let found = |text: &str| {
            let mut all = Vec::new();
            index.find(text.as_bytes(), |range| all.push(range));
            all
        };
        assert_eq!(found("abcd"), [0..1, 0..3]);
        assert_eq!(found("abcdex"), [0..1, 0..3, 0..5, 5..6]);
        assert_eq!(found("abz ab abd"), [0..1, 4..5, 7..8, 7..10]);
        let open = |text: &str| index.unfinished(text.as_bytes()).collect::<Vec<_>>();
        assert_eq!(open("zabcd"), [1]);
        assert_eq!(open("zab"), [1, 2]);
        assert_eq!(open("zabc"), [1]);
        assert!(open("abcde").is_empty() && open("").is_empty() && open("zz").is_empty());
        let nothing = FormIndex::new(&BTreeSet::new());
        assert_eq!(nothing.unfinished(b"abc").count(), 0);
        nothing.find(b"abc", |_| panic!("nothing is looked for"));
    }
}
