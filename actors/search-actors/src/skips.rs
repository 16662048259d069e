//! What of a source is not indexed, path by path, so that a change of one file changes the count.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use search_engine::walk::{SkipCounts, SkipReason, SkippedPath};
use search_engine::watch::ChangeBatch;

/// Some of the paths that are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPage {
    /// The paths, by their keys.
    pub paths: Vec<ListedPath>,
    /// Whether more follow.
    pub has_more: bool,
}

/// A path that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPath {
    /// The path, and why.
    pub path: SkippedPath,
    /// Whether its document is found still, as it was read last.
    pub is_stale: bool,
}

/// The paths that are left out, and why.
#[derive(Debug, Default)]
pub(crate) struct SkippedFiles {
    paths: BTreeMap<Box<str>, SkipReason>,
    counts: SkipCounts,
}

impl SkippedFiles {
    /// Everything that a comparison has left out.
    pub(crate) fn from_paths(left_out: Vec<SkippedPath>) -> Self {
        let mut skips = Self::default();
        skips.add(left_out);
        skips
    }

    /// What has changed, and what of it is left out now. Says whether anything is counted in
    /// another way.
    pub(crate) fn follow(&mut self, batch: &ChangeBatch, left_out: Vec<SkippedPath>) -> bool {
        let before = self.counts.clone();
        for key in batch.changed.iter().chain(&batch.removed) {
            self.remove(key);
        }
        for folder in &batch.removed {
            for key in self.reasons_below(folder) {
                self.remove(&key);
            }
        }
        let seen = batch.left_out.iter().map(|(key, reason)| SkippedPath {
            key: key.clone(),
            reason: *reason,
        });
        self.add(seen.collect());
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

    /// Up to `limit` paths after the key `after`, in the order of their keys; `is_found` says
    /// whether there is a document of a key.
    pub(crate) fn page(
        &self,
        reason: Option<SkipReason>,
        after: Option<&str>,
        limit: usize,
        is_found: impl Fn(&str) -> bool,
    ) -> SkippedPage {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let paths = self.paths.range::<str, _>((start, Bound::Unbounded));
        let mut wanted = paths.filter(|(_, found)| reason.is_none_or(|it| it == **found));
        let paths = wanted.by_ref().take(limit);
        let paths = paths.map(|(key, reason)| ListedPath {
            path: SkippedPath {
                key: key.to_string(),
                reason: *reason,
            },
            is_stale: reason.leaves_known() && is_found(key),
        });
        SkippedPage {
            paths: paths.collect(),
            has_more: wanted.next().is_some(),
        }
    }

    fn add(&mut self, left_out: Vec<SkippedPath>) {
        for SkippedPath { key, reason } in left_out {
            self.remove(&key);
            self.counts.add(reason);
            self.paths.insert(key.into_boxed_str(), reason);
        }
    }

    fn remove(&mut self, key: &str) {
        if let Some(reason) = self.paths.remove(key) {
            self.counts.subtract(reason);
        }
    }

    fn reasons_below(&self, folder: &str) -> BTreeSet<Box<str>> {
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
        let mut skips = SkippedFiles::from_paths(skipped(&[
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

    #[test]
    fn i16_what_is_left_out_is_told_page_by_page() {
        use SkipReason::{Binary, Empty, TooLarge};
        let skips = SkippedFiles::from_paths(skipped(&[
            ("a.bin", Binary),
            ("b.log", TooLarge),
            ("c.bin", Binary),
            ("d.bin", Binary),
        ]));
        let page = |reason, after, limit| {
            let page = skips.page(reason, after, limit, |_| true);
            let keys = page.paths.into_iter().map(|one| one.path.key);
            let keys: Vec<String> = keys.collect();
            (keys.join(" "), page.has_more)
        };
        for (reason, after, limit, keys, has_more) in [
            (None, None, 10, "a.bin b.log c.bin d.bin", false),
            (None, None, 4, "a.bin b.log c.bin d.bin", false),
            (None, Some("b.log"), 1, "c.bin", true),
            (Some(Binary), None, 2, "a.bin c.bin", true),
            (Some(Binary), Some("c.bin"), 2, "d.bin", false),
            (Some(Binary), Some("c"), 0, "", true),
            (Some(Empty), None, 2, "", false),
            (None, Some("z"), 2, "", false),
        ] {
            let expected = (keys.to_owned(), has_more);
            assert_eq!(page(reason, after, limit), expected, "{reason:?} {after:?}");
        }
    }
    #[test]
    fn i16_what_cannot_be_read_for_now_is_told_to_be_stale_where_it_is_found() {
        use SkipReason::{Binary, ParserFailed, TooSlow, Unreadable};
        let skips = SkippedFiles::from_paths(skipped(&[
            ("a.pdf", ParserFailed),
            ("b.pdf", ParserFailed),
            ("c.pdf", TooSlow),
            ("d", Unreadable),
            ("e.bin", Binary),
        ]));
        let page = skips.page(None, None, 10, |key| key != "b.pdf" && key != "d");
        let stale = page.paths.iter().filter(|one| one.is_stale);
        let stale: Vec<&str> = stale.map(|one| one.path.key.as_str()).collect();
        assert_eq!(stale, ["a.pdf", "c.pdf"]);
    }

    #[test]
    fn i16_a_link_that_appears_is_counted_at_once_and_until_it_goes() {
        let mut skips = SkippedFiles::default();
        let mut appeared = batch(&[], &["link"]);
        appeared
            .left_out
            .insert("link".to_owned(), SkipReason::Symlink);
        assert!(skips.follow(&appeared, Vec::new()));
        assert_eq!(skips.counts()["symlink"], 1);
        assert!(!skips.follow(&appeared, Vec::new()));
        assert!(skips.follow(&batch(&["link"], &[]), Vec::new()));
        assert!(skips.counts().is_empty());
    }
}
