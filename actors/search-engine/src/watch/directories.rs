//! The set of watched folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crossbeam_channel::Receiver;
use rustix::io::Errno;

use super::kernel::{KernelWatch, WatchEvent};
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

    pub(super) fn events(&self) -> &Receiver<WatchEvent> {
        self.kernel.events()
    }

    /// Whether events were dropped since this was last asked.
    pub(super) fn take_overflow(&self) -> bool {
        self.kernel.take_overflow()
    }

    pub(super) fn is_watched(&self, folder: &Path) -> bool {
        self.watched.contains_key(folder)
    }

    /// Watches a folder that was met; one that is gone or closed to us is passed over. Says whether
    /// it is another than was watched under this name, or the first: the kernel numbers folders,
    /// not names.
    pub(super) fn watch_directory(&mut self, folder: &Path) -> Result<bool, PollingReason> {
        let before = self.watched.get(folder).copied();
        if before.is_none() && self.watched.len() >= self.max_directories {
            return Err(PollingReason::TooManyDirectories);
        }
        let Some(number) = self.watch(folder)? else {
            return Ok(false);
        };
        if before == Some(number) {
            return Ok(false);
        }
        // What lay below the other one is not here.
        self.remove(folder);
        self.watched.insert(folder.to_owned(), number);
        Ok(true)
    }

    /// Whether what is watched under a name is what has that name now.
    pub(super) fn is_same(&self, folder: &Path) -> bool {
        let number = self.watched.get(folder);
        number.is_some_and(|number| self.kernel.add(folder) == Ok(*number))
    }

    /// The number of a folder's watch; none where it is gone or closed to us.
    fn watch(&self, folder: &Path) -> Result<Option<i32>, PollingReason> {
        match self.kernel.add(folder) {
            Ok(number) => Ok(Some(number)),
            // The limit of watches, or of the kernel's memory for them.
            Err(Errno::NOSPC | Errno::NOMEM) => Err(PollingReason::SystemLimit),
            Err(error) => {
                tracing::debug!(event = "watch.folder_refused", folder = %folder.display(), %error);
                Ok(None)
            }
        }
    }

    /// Forgets a folder that is gone and all below it; the kernel has dropped their watches.
    pub(super) fn remove(&mut self, folder: &Path) {
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
                self.kernel.remove(number, &path);
            }
        }
    }

    /// Watches exactly these folders.
    pub(super) fn replace(&mut self, folders: &[PathBuf]) -> Result<(), PollingReason> {
        let before = std::mem::take(&mut self.watched);
        for folder in folders {
            if self.watched.len() >= self.max_directories {
                return Err(PollingReason::TooManyDirectories);
            }
            if let Some(number) = self.watch(folder)? {
                self.watched.insert(folder.clone(), number);
            }
        }
        // What goes on has its number still, under this name or another.
        for (folder, number) in before {
            if self.watched.get(&folder) != Some(&number) {
                self.kernel.remove(number, &folder);
            }
        }
        Ok(())
    }
}
