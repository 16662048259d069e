//! What has changed since the last batch.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::walk::SkipReason;

/// More changed keys than this in one batch become a rescan, which is cheaper.
const MAX_BATCH: usize = 20_000;

/// Why the whole folder has to be compared again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RescanReason {
    /// More happened at once than was recorded.
    Overflow,
    /// A `.gitignore` or the like has changed.
    RulesChanged,
    /// The root was removed, replaced or has come back.
    RootReplaced,
    /// A file system below the root, or that of the root, is not mounted any more.
    Unmounted,
    /// The system gives no events any more: what has changed meanwhile is not known.
    Unwatched,
    /// The interval of polling has passed. It can wait: what is known of changes is told beside it.
    Polling,
}

impl RescanReason {
    /// Whether changes are known to be missing from the lists.
    fn is_urgent(self) -> bool {
        self != Self::Polling
    }
}

/// Changes since the last batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeBatch {
    /// Keys of files that were created or written, or whose attributes changed.
    pub changed: BTreeSet<String>,
    /// Keys that are gone. Each stands for the file of this key and for all files below it, had it
    /// been a folder, but for those that are in `changed`: a folder may have taken the place of
    /// another. A rename is a removal and a change.
    pub removed: BTreeSet<String>,
    /// Which of the removed are there, but are no files to be indexed: links, sockets; and why.
    pub left_out: BTreeMap<String, SkipReason>,
    /// Changes may be missing from the lists: compare everything.
    pub rescan: Option<RescanReason>,
    /// When the first of these changes was noticed; empty batches have none.
    pub noticed: Option<Instant>,
}

impl ChangeBatch {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.names_paths() && self.rescan.is_none()
    }

    /// Something else has this key now, a folder whose files are told of one by one.
    pub(super) fn replaced(&mut self, key: String) {
        let mut folders = key.match_indices('/').map(|(end, _)| &key[..end]);
        // Each stands for all below it.
        if !folders.any(|folder| self.removed.contains(folder)) {
            self.removed.insert(key);
        }
    }

    /// Adds what happened later. What was removed stays so: the folder that had the key of a file
    /// may have held others.
    pub fn merge(&mut self, later: Self) {
        for key in later.removed {
            self.changed.remove(&key);
            self.left_out.retain(|one, _| !is_at_or_below(one, &key));
            self.removed.insert(key);
        }
        for key in &later.changed {
            self.left_out.remove(key);
        }
        // A file may have taken the place of a folder: both are told.
        self.changed.extend(later.changed);
        self.left_out.extend(later.left_out);
        self.request_rescan(later.rescan);
        self.noticed = self.noticed.or(later.noticed);
        if self.changed.len() + self.removed.len() > MAX_BATCH {
            self.request_rescan(Some(RescanReason::Overflow));
        }
        if self.must_compare() {
            self.changed.clear();
            self.removed.clear();
            self.left_out.clear();
        }
    }

    /// The first reason stays, unless it can wait.
    fn request_rescan(&mut self, reason: Option<RescanReason>) {
        if !self.must_compare() {
            self.rescan = reason.or(self.rescan);
        }
    }

    /// Whether everything is to be compared at once: changes are missing from the lists.
    #[must_use]
    pub fn must_compare(&self) -> bool {
        self.rescan.is_some_and(RescanReason::is_urgent)
    }

    /// Whether paths are named.
    #[must_use]
    pub fn names_paths(&self) -> bool {
        !self.changed.is_empty() || !self.removed.is_empty()
    }
}

/// Whether a key is that of a folder, or lies below it.
fn is_at_or_below(key: &str, folder: &str) -> bool {
    let rest = key.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|&key| key.to_owned()).collect()
    }

    fn batch(changed: &[&str], removed: &[&str]) -> ChangeBatch {
        ChangeBatch {
            changed: keys(changed),
            removed: keys(removed),
            ..ChangeBatch::default()
        }
    }

    #[test]
    fn the_last_change_of_a_key_counts() {
        let mut merged = batch(&["a", "b"], &["c"]);
        merged.merge(batch(&["c"], &["a"]));
        assert_eq!(merged, batch(&["b", "c"], &["a", "c"]));
        // A file in the place of a folder.
        merged.merge(batch(&["b"], &["b"]));
        assert_eq!(merged, batch(&["b", "c"], &["a", "b", "c"]));
    }

    #[test]
    fn i16_of_folders_that_were_replaced_the_upper_one_is_told() {
        let mut batch = batch(&["d/a", "d/sub/b", "dx"], &[]);
        for key in ["d", "d/sub", "d/sub/deep", "dx/sub", "e/sub"] {
            batch.replaced(key.to_owned());
        }
        assert_eq!(batch.removed, keys(&["d", "dx/sub", "e/sub"]));
    }

    #[test]
    fn i16_what_was_left_out_is_so_until_something_else_has_its_place() {
        let link = |key: &str| ChangeBatch {
            removed: keys(&[key]),
            left_out: [(key.to_owned(), SkipReason::Symlink)].into(),
            ..ChangeBatch::default()
        };
        let mut merged = ChangeBatch::default();
        for key in ["a", "b", "d/c", "dx"] {
            merged.merge(link(key));
        }
        let left_out = |merged: &ChangeBatch| merged.left_out.keys().cloned().collect();
        assert_eq!(keys(&["a", "b", "d/c", "dx"]), left_out(&merged));
        // A file takes the place of one, another goes with its folder.
        merged.merge(batch(&["a"], &["d"]));
        assert_eq!(keys(&["b", "dx"]), left_out(&merged));
        merged.merge(link("a"));
        assert_eq!(keys(&["a", "b", "dx"]), left_out(&merged));
    }

    #[test]
    fn a_rescan_replaces_the_lists_and_keeps_its_first_reason() {
        let mut merged = batch(&["a"], &[]);
        for reason in [RescanReason::RulesChanged, RescanReason::Overflow] {
            merged.merge(ChangeBatch {
                rescan: Some(reason),
                ..ChangeBatch::default()
            });
        }
        merged.merge(batch(&["b"], &["c"]));
        assert_eq!(merged.rescan, Some(RescanReason::RulesChanged));
        assert!(merged.changed.is_empty() && merged.removed.is_empty());
    }

    #[test]
    fn i16_a_comparison_that_can_wait_leaves_what_is_known() {
        let polling = || ChangeBatch {
            rescan: Some(RescanReason::Polling),
            ..ChangeBatch::default()
        };
        let mut merged = batch(&["a"], &["b"]);
        merged.merge(polling());
        merged.merge(batch(&["c"], &[]));
        assert_eq!((merged.must_compare(), merged.names_paths()), (false, true));
        assert_eq!(merged.changed, keys(&["a", "c"]));
        merged.merge(ChangeBatch {
            rescan: Some(RescanReason::RulesChanged),
            ..ChangeBatch::default()
        });
        merged.merge(polling());
        assert_eq!(merged.rescan, Some(RescanReason::RulesChanged));
        assert!(merged.must_compare() && !merged.names_paths());
    }

    #[test]
    fn a_consumer_that_never_comes_costs_bounded_memory() {
        let mut merged = ChangeBatch::default();
        for number in 0..=MAX_BATCH {
            merged.merge(batch(&[&number.to_string()], &[]));
        }
        assert_eq!(
            (merged.rescan, merged.changed.len()),
            (Some(RescanReason::Overflow), 0)
        );
    }
}
