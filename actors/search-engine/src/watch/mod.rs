//! Watching a folder: what has changed, in small batches, soon after it changed.
//!
//! ```text
//! kernel ──inotify──> Worker: coalesce, apply the rules of the walk ──> DirectoryWatch::changes()
//! ```
//!
//! Only folders that the walk enters are watched: ignored ones (`target`, `node_modules`, `.git`)
//! cost nothing. Batches name keys, not contents: whoever takes one looks at the files again. When
//! the consumer is busy, batches are merged until it takes the next one, so memory stays bounded.
//! Whenever changes may have been missed a batch asks for a rescan, and says why.

mod changes;
mod directories;
mod kernel;
mod mode;
mod options;
mod pending;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use thiserror::Error;

use crate::walk::RootDirectory;
pub use changes::{ChangeBatch, RescanReason};
pub use mode::{PollingReason, WatchMode};
pub use options::WatchOptions;
use worker::WatchWorker;

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
pub struct DirectoryWatch {
    changes: Receiver<ChangeBatch>,
    mode: Arc<Mutex<WatchMode>>,
    busy: Arc<AtomicUsize>,
    /// Dropped to end the worker.
    stop: Option<Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl DirectoryWatch {
    /// Watches a folder. Every change after the return of this function is reported; to miss
    /// nothing, compare the folder with the index afterwards.
    ///
    /// # Errors
    /// [`WatchError::Thread`] only: without events the watch falls back to rescans, see
    /// [`DirectoryWatch::mode`].
    pub fn start(root: &RootDirectory, options: WatchOptions) -> Result<Self, WatchError> {
        let (batches, changes) = bounded(1);
        let (stop, stopped) = bounded(0);
        let worker = WatchWorker::new(root.clone(), options, batches, stopped);
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

impl Drop for DirectoryWatch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(event = "watch.panicked", "the watch thread has panicked");
        }
    }
}
