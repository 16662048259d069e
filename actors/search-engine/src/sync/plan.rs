//! What has to be done to bring an index in step with a folder: a pure comparison.

use std::collections::BTreeSet;

use crate::walk::{FileFacts, RootDirectory, SkipCounts, SkippedPath, WalkItem, WalkOptions};

/// The version of a file that is indexed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KnownFile {
    /// Size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since the Unix epoch.
    pub mtime_ns: i64,
    /// First 16 bytes of the content's BLAKE3 hash.
    pub hash: [u8; 16],
}

/// Everything one walk has met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkedDirectory {
    /// Files to be indexed, in the order of the walk.
    pub files: Vec<FileFacts>,
    /// What was left out and why.
    pub skipped: Vec<SkippedPath>,
    /// Files the glob has kept out.
    pub filtered: u64,
    /// Folders at which another file system is mounted, by their keys; empty for the
    /// root itself.
    pub mounts: BTreeSet<String>,
}

/// Walks the whole folder.
#[must_use]
pub fn walk_all(root: &RootDirectory, options: &WalkOptions) -> WalkedDirectory {
    let mut walked = WalkedDirectory::default();
    let mut walk = root.walk(options);
    for item in walk.by_ref() {
        match item {
            WalkItem::File(facts) => walked.files.push(facts),
            WalkItem::Skipped(skipped) => walked.skipped.push(skipped),
        }
    }
    walked.filtered = walk.filtered();
    walked.mounts = walk.mounts();
    walked
}

/// A file to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its key.
    pub key: String,
    /// Its size in bytes when it was listed.
    pub size: u64,
    /// The version that is indexed, if one is.
    pub known: Option<KnownFile>,
}

/// The work of one synchronisation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// Files that are not indexed yet.
    pub add: Vec<PlannedFile>,
    /// Files whose size or time differs from the indexed version.
    pub update: Vec<PlannedFile>,
    /// Keys that are indexed and whose files are no longer to be.
    pub remove: Vec<String>,
    /// Number of files that are indexed as they are.
    pub unchanged: u64,
    /// What the walk has left out, by reason.
    pub skipped: SkipCounts,
    /// The same, one by one.
    pub left_out: Vec<SkippedPath>,
    /// Folders that were mounts and are none any more, with nothing in them: what is
    /// indexed of them stays.
    pub unmounted: Vec<String>,
}

impl SyncPlan {
    /// The work that a batch of a watch asks for: everything named is read, whatever its size and
    /// time. `known` gives the indexed version of a key, `below` all indexed keys below a folder.
    #[must_use]
    pub fn from_changes(
        batch: &crate::watch::ChangeBatch,
        known: impl Fn(&str) -> Option<KnownFile>,
        below: impl Fn(&str) -> Vec<String>,
    ) -> Self {
        let mut plan = Self::default();
        for key in &batch.changed {
            let file = known(key);
            let facts = FileFacts {
                key: key.clone(),
                size: 0,
                mtime_ns: 0,
                hash: None,
            };
            let list = if file.is_some() {
                &mut plan.update
            } else {
                &mut plan.add
            };
            list.push(planned(facts, file));
        }
        for key in &batch.removed {
            plan.remove.extend(known(key).map(|_| key.clone()));
            plan.remove.extend(below(key));
        }
        plan.remove.retain(|key| !batch.changed.contains(key));
        plan.remove.sort_unstable();
        plan.remove.dedup();
        plan
    }

    /// Leaves out files that are not to be indexed here.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.add.retain(|file| keep(&file.key));
        self.update.retain(|file| keep(&file.key));
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.update.is_empty() && self.remove.is_empty()
    }

    /// Number of files to be read.
    #[must_use]
    pub fn files(&self) -> u64 {
        (self.add.len() + self.update.len()) as u64
    }
}

pub(super) fn planned(facts: FileFacts, known: Option<KnownFile>) -> PlannedFile {
    PlannedFile {
        key: facts.key,
        size: facts.size,
        known,
    }
}

/// Whether `key` is one of `folders` or lies below one; the root is the empty key.
pub(super) fn is_below(key: &str, folders: &[String]) -> bool {
    folders.iter().any(|folder| {
        let rest = key.strip_prefix(folder.as_str());
        folder.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::SkipReason;
    use proptest::prelude::*;
    use rustc_hash::FxHashMap;
    use std::collections::BTreeMap;

    fn known(size: u64, mtime_ns: i64) -> KnownFile {
        KnownFile {
            size,
            mtime_ns,
            hash: [1; 16],
        }
    }

    fn facts(key: &str, size: u64, mtime_ns: i64) -> FileFacts {
        FileFacts {
            key: key.to_owned(),
            size,
            mtime_ns,
            hash: None,
        }
    }

    fn keys(files: &[PlannedFile]) -> Vec<&str> {
        files.iter().map(|file| file.key.as_str()).collect()
    }

    fn index(list: &[(&str, u64, i64)]) -> FxHashMap<String, KnownFile> {
        list.iter()
            .map(|&(key, size, time)| (key.to_owned(), known(size, time)))
            .collect()
    }

    #[test]
    fn new_changed_and_lost_files_are_told_apart() {
        let indexed = index(&[
            ("same", 1, 1),
            ("longer", 1, 1),
            ("newer", 1, 1),
            ("older", 1, 5),
            ("gone", 1, 1),
        ]);
        let files = vec![
            facts("same", 1, 1),
            facts("longer", 2, 1),
            facts("newer", 1, 2),
            facts("older", 1, 4),
            facts("new", 1, 1),
        ];
        let plan = SyncPlan::compare(
            indexed,
            WalkedDirectory {
                files,
                ..WalkedDirectory::default()
            },
        );
        assert_eq!(keys(&plan.add), ["new"]);
        assert_eq!(keys(&plan.update), ["longer", "newer", "older"]);
        assert_eq!(
            (plan.remove.as_slice(), plan.unchanged),
            (&["gone".to_owned()][..], 1)
        );
    }

    #[test]
    fn files_of_a_folder_that_cannot_be_listed_stay() {
        let skipped = vec![
            SkippedPath {
                key: "locked".into(),
                reason: SkipReason::Unreadable,
            },
            SkippedPath {
                key: "big".into(),
                reason: SkipReason::TooLarge,
            },
        ];
        let indexed = index(&[
            ("locked/a", 1, 1),
            ("locked", 1, 1),
            ("lockedx", 1, 1),
            ("big", 1, 1),
        ]);
        let plan = SyncPlan::compare(
            indexed,
            WalkedDirectory {
                skipped,
                ..WalkedDirectory::default()
            },
        );
        assert_eq!(plan.remove, ["big", "lockedx"]);
        assert_eq!(plan.skipped.total(), 2);
    }

    #[test]
    fn a_batch_is_read_whatever_the_times_say() {
        let batch = crate::watch::ChangeBatch {
            changed: ["d/new".to_owned(), "old".to_owned()].into(),
            removed: ["d".to_owned(), "file".to_owned(), "unknown".to_owned()].into(),
            ..Default::default()
        };
        let indexed = index(&[
            ("old", 1, 1),
            ("d/new", 1, 1),
            ("d/x", 1, 1),
            ("file", 1, 1),
        ]);
        let below = |folder: &str| {
            indexed
                .keys()
                .filter(|key| key.starts_with(&format!("{folder}/")))
                .cloned()
                .collect()
        };
        let plan = SyncPlan::from_changes(&batch, |key| indexed.get(key).copied(), below);
        assert_eq!(
            (keys(&plan.update), plan.add.len()),
            (vec!["d/new", "old"], 0)
        );
        assert_eq!(plan.remove, ["d/x", "file"]);
    }

    #[test]
    fn i16_a_file_in_the_place_of_a_folder_takes_the_folders_files_away() {
        let batch = |changed: &[&str], removed: &[&str]| {
            let keys = |list: &[&str]| list.iter().map(|&key| key.to_owned()).collect();
            crate::watch::ChangeBatch {
                changed: keys(changed),
                removed: keys(removed),
                ..Default::default()
            }
        };
        // Whoever takes the batches was busy meanwhile.
        let mut merged = batch(&[], &["d"]);
        merged.merge(batch(&["d"], &[]));
        let below = |_: &str| vec!["d/a".to_owned(), "d/b".to_owned()];
        let plan = SyncPlan::from_changes(&merged, |_| None, below);
        assert_eq!(
            (keys(&plan.add), plan.remove),
            (vec!["d"], vec!["d/a".to_owned(), "d/b".to_owned()])
        );
    }

    #[test]
    fn u8_files_of_a_file_system_that_is_not_mounted_any_more_stay() {
        let indexed = || index(&[("stick/a", 1, 1), ("stick/b", 1, 1), ("own", 1, 1)]);
        let mounts = |keys: &[&str]| -> BTreeSet<String> {
            keys.iter().map(|&key| key.to_owned()).collect()
        };
        let walked = |files: Vec<FileFacts>, now: &[&str]| WalkedDirectory {
            files,
            mounts: mounts(now),
            ..WalkedDirectory::default()
        };
        let own = || vec![facts("own", 1, 1)];
        let stick = mounts(&["stick"]);
        // Unmounted: nothing is there, and nothing is removed.
        let plan = SyncPlan::compare_mounted(indexed(), walked(own(), &[]), &stick);
        assert_eq!(
            (plan.remove.len(), plan.unmounted),
            (0, vec!["stick".into()])
        );
        // Mounted and emptied: the files are gone.
        let plan = SyncPlan::compare_mounted(indexed(), walked(own(), &["stick"]), &stick);
        assert_eq!(plan.remove, ["stick/a", "stick/b"]);
        assert!(plan.unmounted.is_empty());
        // A folder with files of its own in the place of the mount.
        let mut files = own();
        files.push(facts("stick/new", 1, 1));
        let plan = SyncPlan::compare_mounted(indexed(), walked(files, &[]), &stick);
        assert_eq!(plan.remove, ["stick/a", "stick/b"]);
        // The root itself was one.
        let plan = SyncPlan::compare_mounted(indexed(), walked(Vec::new(), &[]), &mounts(&[""]));
        assert_eq!(
            (plan.remove.len(), plan.unmounted),
            (0, vec![String::new()])
        );
        // It never was a mount.
        let plan = SyncPlan::compare_mounted(indexed(), walked(own(), &[]), &mounts(&["other"]));
        assert_eq!(plan.remove, ["stick/a", "stick/b"]);
    }

    proptest! {
        #[test]
        fn a_plan_leads_from_any_index_to_any_folder(
            before in proptest::collection::btree_map("[a-c]{1,2}", (0u64..3, 0i64..3), 0..8),
            after in proptest::collection::btree_map("[a-c]{1,2}", (0u64..3, 0i64..3), 0..8)) {
            let indexed = before.iter().map(|(key, (size, time))| (key.clone(), known(*size, *time))).collect();
            let files = after.iter().map(|(key, (size, time))| facts(key, *size, *time)).collect();
            let plan = SyncPlan::compare(indexed, WalkedDirectory { files, ..WalkedDirectory::default() });
            let mut result: BTreeMap<_, _> = before;
            for key in &plan.remove { prop_assert!(result.remove(key).is_some()); }
            for file in &plan.add { prop_assert!(!result.contains_key(&file.key)); }
            for file in plan.add.iter().chain(&plan.update) {
                result.insert(file.key.clone(), after[&file.key]);
            }
            prop_assert_eq!(result, after);
        }
    }
}
