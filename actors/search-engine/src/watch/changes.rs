//! What has changed since the last batch.

use std::collections::BTreeSet;
use std::time::Instant;

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
    /// The interval of polling has passed.
    Polling,
}

/// Changes since the last batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeBatch {
    /// Keys of files that were created or written, or whose attributes changed.
    pub changed: BTreeSet<String>,
    /// Keys that are gone. Each stands for the file of this key and for all files below it, had it
    /// been a folder. A rename is a removal and a change.
    pub removed: BTreeSet<String>,
    /// Changes may be missing from the lists: compare everything.
    pub rescan: Option<RescanReason>,
    /// When the first of these changes was noticed; empty batches have none.
    pub noticed: Option<Instant>,
}

impl ChangeBatch {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty() && self.rescan.is_none()
    }

    /// Adds what happened later.
    pub fn merge(&mut self, later: Self) {
        for key in later.changed {
            self.removed.remove(&key);
            self.changed.insert(key);
        }
        for key in later.removed {
            self.changed.remove(&key);
            self.removed.insert(key);
        }
        self.rescan = self.rescan.or(later.rescan);
        self.noticed = self.noticed.or(later.noticed);
        if self.changed.len() + self.removed.len() > MAX_BATCH {
            self.rescan = self.rescan.or(Some(RescanReason::Overflow));
        }
        if self.rescan.is_some() {
            self.changed.clear();
            self.removed.clear();
        }
    }
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
        assert_eq!(merged, batch(&["b", "c"], &["a"]));
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
