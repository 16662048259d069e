//! The set of watched folders, and the kernel's events about them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use notify::event::{AccessKind, AccessMode};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::PollingReason;

/// Events that may wait for the worker; more of them mean a rescan.
const MAX_EVENTS: usize = 64 * 1024;

/// Watched folders. Each is watched by itself, not with everything below it, so that ignored ones
/// can be left out.
pub(super) struct Folders {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    events: Receiver<notify::Result<Event>>,
    overflowed: Arc<AtomicBool>,
    max_folders: usize,
}

impl Folders {
    pub(super) fn new(max_folders: usize) -> Result<Self, PollingReason> {
        let (sender, events) = bounded(MAX_EVENTS);
        let overflowed = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&overflowed);
        let on_event = move |event| forward(event, &sender, &flag);
        let watcher =
            RecommendedWatcher::new(on_event, Config::default().with_follow_symlinks(false))
                .map_err(|error| reason(&error))?;
        Ok(Self {
            watcher,
            watched: BTreeSet::new(),
            events,
            overflowed,
            max_folders,
        })
    }

    pub(super) fn events(&self) -> &Receiver<notify::Result<Event>> {
        &self.events
    }

    /// Whether events were dropped since this was last asked.
    pub(super) fn take_overflow(&self) -> bool {
        self.overflowed.swap(false, Ordering::AcqRel)
    }

    pub(super) fn is_watched(&self, folder: &Path) -> bool {
        self.watched.contains(folder)
    }

    /// Watches one folder; one that is gone or closed to us is passed over.
    pub(super) fn add(&mut self, folder: &Path) -> Result<(), PollingReason> {
        if self.watched.len() >= self.max_folders {
            return Err(PollingReason::TooManyFolders);
        }
        match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(folder.to_owned());
                Ok(())
            }
            Err(error) if is_limit(&error) => Err(reason(&error)),
            Err(error) => {
                tracing::debug!(event = "watch.folder_refused", folder = %folder.display(), %error);
                Ok(())
            }
        }
    }

    /// Forgets a folder that is gone and all below it; the kernel has dropped their watches.
    pub(super) fn forget(&mut self, folder: &Path) {
        let below = |path: &&PathBuf| path.starts_with(folder);
        let gone: Vec<PathBuf> = self
            .watched
            .range(folder.to_owned()..)
            .take_while(below)
            .cloned()
            .collect();
        for path in gone {
            self.watched.remove(&path);
            // Already dropped where the folder was deleted; not where it was moved away.
            let _ = self.watcher.unwatch(&path);
        }
    }

    /// Watches exactly these folders.
    pub(super) fn replace(
        &mut self,
        folders: impl Iterator<Item = PathBuf>,
    ) -> Result<(), PollingReason> {
        let mut before = std::mem::take(&mut self.watched);
        for folder in folders {
            if before.remove(&folder) {
                // It may be another folder of the same name: watching again is harmless.
                let _ = self.watcher.unwatch(&folder);
            }
            self.add(&folder)?;
        }
        for folder in before {
            let _ = self.watcher.unwatch(&folder);
        }
        Ok(())
    }
}

/// Runs on the watcher's thread, which must not wait: the worker waits for it at times.
fn forward(
    event: notify::Result<Event>,
    sender: &Sender<notify::Result<Event>>,
    overflowed: &AtomicBool,
) {
    let is_noise = event.as_ref().is_ok_and(|event| match event.kind {
        EventKind::Access(kind) => kind != AccessKind::Close(AccessMode::Write),
        _ => false,
    });
    if is_noise {
        return;
    }
    if let Err(TrySendError::Full(_)) = sender.try_send(event) {
        overflowed.store(true, Ordering::Release);
    }
}

pub(super) fn is_limit(error: &notify::Error) -> bool {
    matches!(error.kind, notify::ErrorKind::MaxFilesWatch)
}

fn reason(error: &notify::Error) -> PollingReason {
    if is_limit(error) {
        PollingReason::SystemLimit
    } else {
        PollingReason::Unsupported
    }
}
