//! Comparing what is indexed with what a walk meets, one file after the other: neither has to be
//! held.

use std::collections::BTreeSet;
use std::convert::Infallible;

use rustc_hash::FxHashMap;

use super::plan::{KnownFile, SyncPlan, WalkedDirectory, is_below, planned};
use crate::walk::{FileFacts, SkippedPath, WalkItem};

/// The files that are indexed.
pub trait KnownFiles {
    /// Why they cannot be told.
    type Error;

    /// Takes the indexed version of a file, if there is one. Each key is asked for once.
    ///
    /// # Errors
    /// The index cannot be read.
    fn take(&mut self, key: &str) -> Result<Option<KnownFile>, Self::Error>;

    /// The keys that were not taken and are `wanted`, ascending.
    ///
    /// # Errors
    /// The index cannot be read.
    fn remaining(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, Self::Error>;

    /// Whether any lies below a folder; the empty key is the root.
    ///
    /// # Errors
    /// The index cannot be read.
    fn any_below(&self, folder: &str) -> Result<bool, Self::Error>;
}

impl KnownFiles for FxHashMap<String, KnownFile> {
    type Error = Infallible;

    fn take(&mut self, key: &str) -> Result<Option<KnownFile>, Infallible> {
        Ok(self.remove(key))
    }

    fn remaining(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, Infallible> {
        let mut keys: Vec<String> = self.keys().filter(|key| wanted(key)).cloned().collect();
        keys.sort_unstable();
        Ok(keys)
    }

    fn any_below(&self, folder: &str) -> Result<bool, Infallible> {
        let folder = [folder.to_owned()];
        Ok(self.keys().any(|key| is_below(key, &folder)))
    }
}

/// A comparison that goes on.
#[derive(Debug)]
pub struct Comparison<'k, K> {
    known: &'k mut K,
    /// The mounts of the folder before in which no file was met, but some are known.
    empty_mounts: Vec<String>,
    /// What could not be listed or read.
    unlisted: BTreeSet<String>,
    plan: SyncPlan,
}

impl<'k, K: KnownFiles> Comparison<'k, K> {
    /// Begins, where `mounts` were the mounts of the folder before.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn new(known: &'k mut K, mounts: &BTreeSet<String>) -> Result<Self, K::Error> {
        let mut empty_mounts = Vec::new();
        for mount in mounts {
            if known.any_below(mount)? {
                empty_mounts.push(mount.clone());
            }
        }
        Ok(Self {
            known,
            empty_mounts,
            unlisted: BTreeSet::new(),
            plan: SyncPlan::default(),
        })
    }

    /// Takes the next that the walk has met.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn compare_item(&mut self, item: WalkItem) -> Result<(), K::Error> {
        let facts = match item {
            WalkItem::File(facts) => facts,
            WalkItem::Skipped(skipped) => return self.skip(skipped),
        };
        self.empty_mounts
            .retain(|mount| !is_below(&facts.key, std::slice::from_ref(mount)));
        match self.known.take(&facts.key)? {
            None => self.plan.add.push(planned(facts, None)),
            Some(file) if is_same(&file, &facts) => self.plan.unchanged += 1,
            Some(file) => self.plan.update.push(planned(facts, Some(file))),
        }
        Ok(())
    }

    fn skip(&mut self, skipped: SkippedPath) -> Result<(), K::Error> {
        self.plan.skipped.add(skipped.reason);
        if skipped.reason.leaves_known() {
            // It may be a file, and may be a folder.
            self.known.take(&skipped.key)?;
            self.unlisted.insert(skipped.key.clone());
        }
        self.plan.left_out.push(skipped);
        Ok(())
    }

    /// The work there is, where `mounts` are the mounts of the folder now.
    ///
    /// Files that may not be read, and those in a folder that could not be listed, stay indexed: a
    /// server that does not answer for a moment must not empty an index. An unmounted file system
    /// leaves an empty folder behind, or none. Its files exist still, so they stay indexed, too.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn finish(mut self, mounts: &BTreeSet<String>) -> Result<SyncPlan, K::Error> {
        let lost = self.empty_mounts.into_iter();
        self.plan.unmounted = lost.filter(|mount| !mounts.contains(mount)).collect();
        self.unlisted.extend(self.plan.unmounted.iter().cloned());
        let unlisted = self.unlisted;
        self.plan.remove = self.known.remaining(|key| !is_within(key, &unlisted))?;
        Ok(self.plan)
    }
}

/// Whether a key is one of `folders` or lies below one; the root is the empty key.
fn is_within(key: &str, folders: &BTreeSet<String>) -> bool {
    let mut above = key.match_indices('/').map(|(end, _)| &key[..end]);
    !folders.is_empty()
        && (folders.contains("")
            || folders.contains(key)
            || above.any(|folder| folders.contains(folder)))
}

/// Whether the indexed version is that of the file, as far as that is known without reading it.
fn is_same(known: &KnownFile, facts: &FileFacts) -> bool {
    match facts.hash {
        Some(hash) => known.hash == hash,
        None => known.size == facts.size && known.mtime_ns == facts.mtime_ns,
    }
}

impl SyncPlan {
    /// Compares what is indexed with what a walk has found.
    #[must_use]
    pub fn compare(known: FxHashMap<String, KnownFile>, walked: WalkedDirectory) -> Self {
        Self::compare_mounted(known, walked, &BTreeSet::new())
    }

    /// As [`compare`](Self::compare), where `mounts` were the mounts of the folder before.
    #[must_use]
    pub fn compare_mounted(
        mut known: FxHashMap<String, KnownFile>,
        walked: WalkedDirectory,
        mounts: &BTreeSet<String>,
    ) -> Self {
        let Ok(mut comparison) = Comparison::new(&mut known, mounts);
        let files = walked.files.into_iter().map(WalkItem::File);
        for item in files.chain(walked.skipped.into_iter().map(WalkItem::Skipped)) {
            let Ok(()) = comparison.compare_item(item);
        }
        let Ok(plan) = comparison.finish(&walked.mounts);
        plan
    }
}
