//! The files of an index's folder.

use std::fs;
use std::io;
use std::path::Path;

use tantivy::directory::error::LockError;
use tantivy::directory::{Directory, DirectoryLock, INDEX_WRITER_LOCK};

use super::directory::DeferredDirectory;
use super::error::{IndexError, store_error};
use super::run;

/// Makes sure that nobody writes to the folder.
pub(super) fn writer_lock(path: &Path) -> Result<DirectoryLock, IndexError> {
    let (directory, _) =
        DeferredDirectory::open(path).map_err(|error| store_error(path, error.into()))?;
    match directory.acquire_lock(&INDEX_WRITER_LOCK) {
        Ok(lock) => Ok(lock),
        Err(LockError::LockBusy) => Err(IndexError::Locked {
            path: path.to_owned(),
        }),
        Err(LockError::IoError(error)) => Err(IndexError::Folder {
            path: path.to_owned(),
            source: io::Error::new(error.kind(), error.to_string()),
        }),
    }
}

/// Removes what a process that was killed while indexing left behind.
pub(super) fn remove_runs(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(run::PREFIX) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Empties the index's folder. Only files lie there; a folder is not ours and stays.
pub(super) fn clear(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Bytes of all files.
pub(super) fn size(path: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        match entry?.metadata() {
            Ok(metadata) => bytes += metadata.len(),
            // Merged away in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}
