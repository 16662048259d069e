//! Finding any of a set of texts, and the beginning of one at an end.

use std::collections::BTreeSet;
use std::ops::Range;

/// A set of texts, ready to be looked for.
///
/// Nearly every place of an output is passed over by one look at its first two bytes; what is left costs a binary search.
pub(crate) struct FormIndex {
    sorted: Vec<Vec<u8>>,
    /// Of each, the longest other one that it begins with.
    shorter: Vec<Option<usize>>,
    longest: usize,
    /// Whether a text of one byte is the first of these two, or a longer one begins with both.
    begins: Box<[bool]>,
    begins_with: [bool; 256],
}

impl FormIndex {
    pub(crate) fn new(set: &BTreeSet<Vec<u8>>) -> Self {
        let sorted: Vec<Vec<u8>> = set
            .iter()
            .filter(|form| !form.is_empty())
            .cloned()
            .collect();
        let mut begins = vec![false; if sorted.is_empty() { 0 } else { 1 << 16 }];
        let mut begins_with = [false; 256];
        for form in &sorted {
            let first = usize::from(form[0]) << 8;
            begins_with[usize::from(form[0])] = true;
            match form.get(1) {
                Some(second) => begins[first | usize::from(*second)] = true,
                None => begins[first..first + 256].fill(true),
            }
        }
        Self {
            shorter: shorter(&sorted),
            longest: sorted.iter().map(Vec::len).max().unwrap_or(0),
            sorted,
            begins: begins.into(),
            begins_with,
        }
    }

    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Calls `found` with the place of the longest text that begins at each place of `bytes`; they may overlap.
    pub(crate) fn find(&self, bytes: &[u8], mut found: impl FnMut(Range<usize>)) {
        if self.sorted.is_empty() {
            return;
        }
        for start in 0..bytes.len() {
            let rest = &bytes[start..];
            if self.may_begin(rest)
                && let Some(length) = self.longest_at(rest)
            {
                found(start..start + length);
            }
        }
    }

    /// Where the end of `bytes` is the beginning of a text and not the whole of it, first places first.
    pub(crate) fn unfinished<'b>(&'b self, bytes: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
        let first = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        (first..bytes.len()).filter(move |start| self.may_grow(&bytes[*start..]))
    }

    fn may_begin(&self, bytes: &[u8]) -> bool {
        match bytes {
            [first, second, ..] => self.begins[usize::from(*first) << 8 | usize::from(*second)],
            [only] => self.begins_with[usize::from(*only)],
            [] => false,
        }
    }

    fn longest_at(&self, bytes: &[u8]) -> Option<usize> {
        // All texts that `bytes` begins with are among the last one that is not greater and those that it begins with.
        let after = self.sorted.partition_point(|form| form.as_slice() <= bytes);
        let mut at = after.checked_sub(1);
        while let Some(index) = at {
            if bytes.starts_with(&self.sorted[index]) {
                return Some(self.sorted[index].len());
            }
            at = self.shorter[index];
        }
        None
    }

    fn may_grow(&self, end: &[u8]) -> bool {
        // The text itself may stand here, and a longer one behind it.
        let after = || self.sorted.partition_point(|form| form.as_slice() <= end);
        self.may_begin(end)
            && self
                .sorted
                .get(after())
                .is_some_and(|form| form.starts_with(end))
    }
}

fn shorter(sorted: &[Vec<u8>]) -> Vec<Option<usize>> {
    let mut open: Vec<usize> = Vec::new();
    let mut found = Vec::with_capacity(sorted.len());
    for (index, form) in sorted.iter().enumerate() {
        while open
            .pop_if(|last| !form.starts_with(&sorted[*last]))
            .is_some()
        {}
        found.push(open.last().copied());
        open.push(index);
    }
    found
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
        assert_eq!(found("abcd"), [0..3, 1..3]);
        assert_eq!(found("abcdex"), [0..5, 1..3, 5..6]);
        assert_eq!(found("abz ab abd"), [0..1, 4..5, 7..10]);
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
