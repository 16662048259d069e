//! A directory whose files reach the disk when asked, not one by one.
//!
//! tantivy syncs each of the dozen files of a small commit, which takes tens of milliseconds. An
//! index can be built anew from its source, so a change may be searchable before it is durable:
//! files are written without a sync and remembered, and [`DeferredDirectory::sync`] makes all of
//! them durable at once. A marker file tells that there are such files; it names the boot of the
//! machine, because after the end of a process alone nothing is lost, while after a power cut the
//! files have to be checked.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use super::chunks::ChunkReaders;

/// Name of the marker file.
const MARKER: &str = "unsynced";

/// Where Linux tells the boot of the machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// How the last process left the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PreviousState {
    /// Everything was synced.
    Synced,
    /// Not everything was synced, but the machine has run on since: nothing is lost.
    Cached,
    /// Not everything was synced and the machine was started since: files may be damaged.
    Doubtful,
}

/// A folder read by memory maps and written without syncs.
#[derive(Debug, Clone)]
pub(super) struct DeferredDirectory {
    maps: MmapDirectory,
    readers: Arc<ChunkReaders>,
    state: Arc<SyncState>,
}

/// What has been written and not synced.
#[derive(Debug)]
struct SyncState {
    root: PathBuf,
    /// Files written since the last sync, relative to the root.
    unsynced: Mutex<UnsyncedFiles>,
    temporary: AtomicU64,
}

#[derive(Debug, Default)]
struct UnsyncedFiles {
    files: BTreeSet<PathBuf>,
    marked: bool,
}

impl DeferredDirectory {
    /// Opens the folder `root`, which exists.
    pub(super) fn open(root: &Path) -> Result<(Self, PreviousState), OpenReadError> {
        let failed = |error: io::Error| OpenReadError::wrap_io_error(error, root.to_owned());
        let maps = MmapDirectory::open(root).map_err(|error| failed(cause(error)))?;
        let left = stale_files(&root.join(MARKER)).map_err(failed)?;
        let mut unsynced = UnsyncedFiles::default();
        if left != PreviousState::Synced {
            unsynced.marked = true;
            unsynced.files = files_of(root).map_err(failed)?;
        }
        let state = SyncState {
            root: root.to_owned(),
            unsynced: Mutex::new(unsynced),
            temporary: AtomicU64::new(0),
        };
        let directory = Self {
            maps,
            readers: Arc::default(),
            state: Arc::new(state),
        };
        Ok((directory, left))
    }

    /// Makes everything written so far durable. Returns the number of files synced.
    pub(super) fn sync(&self) -> io::Result<usize> {
        let files = {
            let mut unsynced = self.state.unsynced.lock();
            if !unsynced.marked {
                return Ok(0);
            }
            std::mem::take(&mut unsynced.files)
        };
        let synced = self.sync_files(&files);
        let mut unsynced = self.state.unsynced.lock();
        if synced.is_err() {
            unsynced.files.extend(files);
        } else if unsynced.files.is_empty() {
            unsynced.marked = false;
            fs::remove_file(self.state.root.join(MARKER))?;
        }
        synced
    }

    fn sync_files(&self, files: &BTreeSet<PathBuf>) -> io::Result<usize> {
        for file in files {
            match File::open(self.state.root.join(file)) {
                Ok(file) => file.sync_data()?,
                // Merged away in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        File::open(&self.state.root)?.sync_all()?;
        Ok(files.len())
    }

    /// Remembers that `file` was written. The marker is on the disk before any such file is.
    fn record_written(&self, file: &Path) -> io::Result<()> {
        let mut unsynced = self.state.unsynced.lock();
        if !unsynced.marked {
            let mut marker = File::create(self.state.root.join(MARKER))?;
            marker.write_all(boot_id().unwrap_or_default().as_bytes())?;
            unsynced.marked = true;
        }
        unsynced.files.insert(file.to_owned());
        Ok(())
    }
}

/// What the system said, with its number.
fn cause(error: OpenDirectoryError) -> io::Error {
    match &error {
        OpenDirectoryError::IoError { io_error, .. } => match io_error.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::new(io_error.kind(), error),
        },
        _ => io::Error::other(error),
    }
}

fn boot_id() -> Option<String> {
    fs::read_to_string(BOOT_ID).ok()
}

fn stale_files(marker: &Path) -> io::Result<PreviousState> {
    match fs::read_to_string(marker) {
        Ok(boot) if !boot.is_empty() && boot_id().as_ref() == Some(&boot) => {
            Ok(PreviousState::Cached)
        }
        Ok(_) => Ok(PreviousState::Doubtful),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PreviousState::Synced),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(PreviousState::Doubtful),
        Err(error) => Err(error),
    }
}

fn files_of(root: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name() != MARKER {
            files.insert(entry.file_name().into());
        }
    }
    Ok(files)
}

/// A file that is not synced when it is complete.
struct UnsyncedFile(File);

impl Write for UnsyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for UnsyncedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}

impl Directory for DeferredDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let in_pieces = path
            .extension()
            .is_some_and(|kind| kind == "idx" || kind == "pos" || kind == "store");
        if !in_pieces {
            return self.maps.get_file_handle(path);
        }
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
            _ => OpenReadError::wrap_io_error(error, path.to_owned()),
        };
        match self
            .readers
            .open(&self.state.root.join(path))
            .map_err(failed)?
        {
            Some(reader) => Ok(reader),
            None => self.maps.get_file_handle(path),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.state.unsynced.lock().files.remove(path);
        self.maps.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.maps.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let failed = |error| OpenWriteError::wrap_io_error(error, path.to_owned());
        self.record_written(path).map_err(failed)?;
        let full = self.state.root.join(path);
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .open(full)
            .map_err(|error| {
                if error.kind() == io::ErrorKind::AlreadyExists {
                    OpenWriteError::FileAlreadyExists(path.to_owned())
                } else {
                    failed(error)
                }
            })?;
        Ok(BufWriter::new(Box::new(UnsyncedFile(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.maps.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.record_written(path)?;
        let number = self.state.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = self.state.root.join(format!(".new-{number}"));
        fs::write(&temporary, data)?;
        fs::rename(&temporary, self.state.root.join(path))
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.maps.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.maps.watch(callback)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tantivy::directory::{Directory, TerminatingWrite};

    use super::{DeferredDirectory, MARKER, PreviousState};

    fn open(root: &Path) -> (DeferredDirectory, PreviousState) {
        DeferredDirectory::open(root).expect("the folder opens")
    }

    #[test]
    fn the_marker_stands_from_the_first_write_to_the_sync() {
        let folder = tempfile::tempdir().expect("a folder");
        let (directory, left) = open(folder.path());
        assert_eq!(left, PreviousState::Synced);
        directory
            .open_write(Path::new("a"))
            .expect("opens")
            .terminate()
            .expect("writes");
        directory
            .atomic_write(Path::new("b"), b"text")
            .expect("writes");
        assert_eq!(open(folder.path()).1, PreviousState::Cached);
        assert_eq!(directory.sync().expect("syncs"), 2);
        assert_eq!(directory.sync().expect("syncs"), 0);
        assert_eq!(open(folder.path()).1, PreviousState::Synced);
    }

    #[test]
    fn files_left_by_another_boot_are_doubtful() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(MARKER), "another boot").expect("writes");
        assert_eq!(open(folder.path()).1, PreviousState::Doubtful);
        std::fs::write(folder.path().join(MARKER), [0xff, 0xfe]).expect("writes");
        assert_eq!(open(folder.path()).1, PreviousState::Doubtful);
    }
}
