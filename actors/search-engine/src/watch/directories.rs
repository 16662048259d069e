//! The set of watched folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crossbeam_channel::Receiver;
use rustix::io::Errno;

use super::kernel::{Event, KernelWatch};
use super::mode::PollingReason;

/// Watched folders. Each is watched by itself, not with everything below it, so that ignored ones
/// can be left out.
pub(super) struct WatchedDirectories {
    kernel: KernelWatch,
    /// The folders and the numbers of their watches.
    watched: BTreeMap<PathBuf, i32>,
    max_directories: usize,
}

impl WatchedDirectories {
    pub(super) fn new(max_directories: usize) -> Result<Self, PollingReason> {
        let kernel = KernelWatch::new().map_err(|error| {
            tracing::debug!(event = "watch.refused", %error);
            PollingReason::Unsupported
        })?;
        Ok(Self {
            kernel,
            watched: BTreeMap::new(),
            max_directories,
        })
    }

    pub(super) fn events(&self) -> &Receiver<Event> {
        self.kernel.events()
    }

    /// Whether events were dropped since this was last asked.
    pub(super) fn take_overflow(&self) -> bool {
        self.kernel.take_overflow()
    }

    pub(super) fn is_watched(&self, folder: &Path) -> bool {
        self.watched.contains_key(folder)
    }

    /// Watches one folder; one that is gone or closed to us is passed over.
    pub(super) fn add(&mut self, folder: &Path) -> Result<(), PollingReason> {
        if self.watched.len() >= self.max_directories {
            return Err(PollingReason::TooManyDirectories);
        }
        match self.kernel.add(folder) {
            Ok(number) => {
                self.watched.insert(folder.to_owned(), number);
                Ok(())
            }
            // The limit of watches, or of the kernel's memory for them.
            Err(Errno::NOSPC | Errno::NOMEM) => Err(PollingReason::SystemLimit),
            Err(error) => {
                tracing::debug!(event = "watch.folder_refused", folder = %folder.display(), %error);
                Ok(())
            }
        }
    }

    /// Forgets a folder that is gone and all below it; the kernel has dropped their watches.
    pub(super) fn forget(&mut self, folder: &Path) {
        let below = |(path, _): &(&PathBuf, &i32)| path.starts_with(folder);
        let gone: Vec<PathBuf> = self
            .watched
            .range(folder.to_owned()..)
            .take_while(below)
            .map(|(path, _)| path.clone())
            .collect();
        for path in gone {
            // Already dropped where the folder was deleted; not where it was moved away.
            if let Some(number) = self.watched.remove(&path) {
                self.kernel.remove(number);
            }
        }
    }

    /// Watches exactly these folders.
    pub(super) fn replace(
        &mut self,
        folders: impl Iterator<Item = PathBuf>,
    ) -> Result<(), PollingReason> {
        let mut before = std::mem::take(&mut self.watched);
        for folder in folders {
            if let Some(number) = before.remove(&folder) {
                // It may be another folder of the same name: watching again is harmless.
                self.kernel.remove(number);
            }
            self.add(&folder)?;
        }
        for number in before.into_values() {
            self.kernel.remove(number);
        }
        Ok(())
    }
}
