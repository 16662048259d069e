//! Watching a folder: what has changed, in small batches, soon after it changed.
//!
//! ```text
//! kernel ──inotify──> Worker: coalesce, apply the rules of the walk ──> FolderWatch::changes()
//! ```
//!
//! Only folders that the walk enters are watched: ignored ones (`target`, `node_modules`, `.git`)
//! cost nothing. Batches name keys, not contents: whoever takes one looks at the files again. When
//! the consumer is busy, batches are merged until it takes the next one, so memory stays bounded.
//! Whenever changes may have been missed a batch asks for a rescan, and says why.

mod folders;
mod kernel;
mod pending;
mod worker;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use search_core::role::FileFilter;
use thiserror::Error;

use crate::walk::RootFolder;
use worker::Worker;

/// More changed keys than this in one batch become a rescan, which is cheaper.
const MAX_BATCH: usize = 20_000;

/// How a folder is watched.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The source's `glob`: changes of other files are not reported.
    pub filter: FileFilter,
    /// Time that a finished change (closed, renamed, removed) waits for others to join its batch.
    pub debounce: Duration,
    /// Time without a further write after which a file counts as written though it is still open.
    pub settle: Duration,
    /// A file that is written without a pause is reported at least this often.
    pub max_delay: Duration,
    /// Above so many folders the watch falls back to rescans; each takes about 1 KiB of kernel
    /// memory.
    pub max_folders: usize,
    /// Time between rescans where events are not to be had.
    pub poll_interval: Duration,
}

impl WatchOptions {
    /// Batches after 3 ms; writers without a pause are followed once a second; 30 s between polls.
    #[must_use]
    pub fn new(filter: FileFilter) -> Self {
        Self {
            filter,
            debounce: Duration::from_millis(3),
            settle: Duration::from_millis(40),
            max_delay: Duration::from_secs(1),
            max_folders: 100_000,
            poll_interval: Duration::from_secs(30),
        }
    }
}

/// Where the knowledge of changes comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    /// The kernel reports every change.
    Events,
    /// The kernel reports changes made on this machine; others are found by rescans.
    EventsAndPolling,
    /// Only rescans.
    Polling(PollingReason),
}

/// Why events are not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollingReason {
    /// The system's limit of watches is used up.
    SystemLimit,
    /// There are more folders than [`WatchOptions::max_folders`].
    TooManyFolders,
    /// The system gives no event queue (its limit of instances, or no support).
    Unsupported,
}

impl std::fmt::Display for WatchMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Events => "watched",
            Self::EventsAndPolling => "watched, and rescanned because others can change it unseen",
            Self::Polling(PollingReason::SystemLimit) => {
                "rescanned at intervals: the limit of watches is used up \
                 (raise fs.inotify.max_user_watches)"
            }
            Self::Polling(PollingReason::TooManyFolders) => {
                "rescanned at intervals: too many folders to watch"
            }
            Self::Polling(PollingReason::Unsupported) => {
                "rescanned at intervals: the system offers no events \
                 (raise fs.inotify.max_user_instances)"
            }
        })
    }
}

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

/// Why a folder cannot be watched.
#[derive(Debug, Error)]
pub enum WatchError {
    /// No thread could be started.
    #[error("cannot start a thread to watch {path}: {source}; lower the number of sources")]
    Thread {
        /// The folder.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// A watch on a folder; dropping it ends it.
#[derive(Debug)]
pub struct FolderWatch {
    changes: Receiver<ChangeBatch>,
    mode: Arc<Mutex<WatchMode>>,
    busy: Arc<AtomicUsize>,
    /// Dropped to end the worker.
    stop: Option<Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl FolderWatch {
    /// Watches a folder. Every change after the return of this function is reported; to miss
    /// nothing, compare the folder with the index afterwards.
    ///
    /// # Errors
    /// [`WatchError::Thread`] only: without events the watch falls back to rescans, see
    /// [`FolderWatch::mode`].
    pub fn start(root: &RootFolder, options: WatchOptions) -> Result<Self, WatchError> {
        let (batches, changes) = bounded(1);
        let (stop, stopped) = bounded(0);
        let worker = Worker::new(root.clone(), options, batches, stopped);
        let (mode, busy) = (worker.mode(), worker.busy());
        let thread = std::thread::Builder::new()
            .name("folder-watch".to_owned())
            .spawn(move || worker.run())
            .map_err(|source| WatchError::Thread {
                path: root.path().display().to_string(),
                source,
            })?;
        Ok(Self {
            changes,
            mode,
            busy,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The batches. The channel ends only when the watch is dropped.
    #[must_use]
    pub fn changes(&self) -> &Receiver<ChangeBatch> {
        &self.changes
    }

    /// How many files never stop changing; they are reported ever more rarely.
    #[must_use]
    pub fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// Where the knowledge of changes comes from at this moment.
    #[must_use]
    pub fn mode(&self) -> WatchMode {
        *self.mode.lock()
    }
}

impl Drop for FolderWatch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(event = "watch.panicked", "the watch thread has panicked");
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
