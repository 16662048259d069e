//! What of a source is not indexed, path by path, so that a change of one file changes the count.

use std::collections::{BTreeMap, BTreeSet};

use search_engine::walk::{SkipCounts, SkipReason, SkippedPath};
use search_engine::watch::ChangeBatch;

/// The paths that are left out, and why.
#[derive(Debug, Default)]
pub(crate) struct SkippedFiles {
    paths: BTreeMap<Box<str>, SkipReason>,
    counts: SkipCounts,
}

impl SkippedFiles {
    /// Everything that a comparison has left out.
    pub(crate) fn of(left_out: Vec<SkippedPath>) -> Self {
        let mut skips = Self::default();
        skips.add(left_out);
        skips
    }

    /// What has changed, and what of it is left out now. Says whether anything is counted in
    /// another way.
    pub(crate) fn follow(&mut self, batch: &ChangeBatch, left_out: Vec<SkippedPath>) -> bool {
        let before = self.counts.clone();
        for key in batch.changed.iter().chain(&batch.removed) {
            self.forget(key);
        }
        for folder in &batch.removed {
            for key in self.below(folder) {
                self.forget(&key);
            }
        }
        self.add(left_out);
        self.counts != before
    }

    /// How many, by reason.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let counts = self.counts.iter();
        counts
            .map(|(reason, count)| (reason.to_owned(), count))
            .collect()
    }

    fn add(&mut self, left_out: Vec<SkippedPath>) {
        for SkippedPath { key, reason } in left_out {
            self.forget(&key);
            self.counts.add(reason);
            self.paths.insert(key.into_boxed_str(), reason);
        }
    }

    fn forget(&mut self, key: &str) {
        if let Some(reason) = self.paths.remove(key) {
            self.counts.subtract(reason);
        }
    }

    fn below(&self, folder: &str) -> BTreeSet<Box<str>> {
        let start = format!("{folder}/");
        let from = start.clone().into_boxed_str();
        let paths = self.paths.range(from..);
        let below = paths.take_while(|(key, _)| key.starts_with(&start));
        below.map(|(key, _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(list: &[(&str, SkipReason)]) -> Vec<SkippedPath> {
        let list = list.iter().map(|&(key, reason)| SkippedPath {
            key: key.to_owned(),
            reason,
        });
        list.collect()
    }

    fn batch(changed: &[&str], removed: &[&str]) -> ChangeBatch {
        let keys = |list: &[&str]| list.iter().map(|&key| key.to_owned()).collect();
        ChangeBatch {
            changed: keys(changed),
            removed: keys(removed),
            ..ChangeBatch::default()
        }
    }

    #[test]
    fn u8_what_is_left_out_is_counted_through_every_change() {
        use SkipReason::{Binary, Empty, TooLarge};
        let mut skips = SkippedFiles::of(skipped(&[
            ("a.bin", Binary),
            ("d/b.bin", Binary),
            ("d/c.md", Empty),
            ("dx.md", Empty),
        ]));
        let count =
            |skips: &SkippedFiles, name: &str| skips.counts().get(name).copied().unwrap_or(0);
        assert_eq!((count(&skips, "binary"), count(&skips, "empty")), (2, 2));
        // A file that was indexed grows over the limit.
        assert!(skips.follow(&batch(&["big.log"], &[]), skipped(&[("big.log", TooLarge)])));
        assert_eq!(count(&skips, "too_large"), 1);
        assert!(!skips.follow(&batch(&["big.log"], &[]), skipped(&[("big.log", TooLarge)])));
        // It is small again, another one has become text.
        assert!(skips.follow(&batch(&["big.log", "a.bin"], &[]), Vec::new()));
        assert_eq!(
            (count(&skips, "too_large"), count(&skips, "binary")),
            (0, 1)
        );
        // A folder goes, and its neighbour of a like name stays.
        assert!(skips.follow(&batch(&[], &["d"]), Vec::new()));
        assert_eq!((count(&skips, "binary"), count(&skips, "empty")), (0, 1));
    }
}
