//! Where the bytes go: a file, memory, or what a test puts in between.

use crate::blobs::CommitGate;
use crate::error::OpenError;
use crate::file_identity::FileIdentity;
use redb::backends::FileBackend;
use redb::{BackendError, Builder, Database};
use std::fmt;
use std::fs::OpenOptions;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub use redb::StorageBackend;

/// Opens the storage, again after each failure: it must find what was synchronised before.
pub type BackendFactory = Arc<dyn Fn() -> io::Result<Box<dyn StorageBackend>> + Send + Sync>;

/// Where a store lives.
#[derive(Clone)]
pub(crate) enum StoreLocation {
    /// A file of its own; and the file that was opened first, since no other may take its place
    /// later.
    File(PathBuf, Arc<OnceLock<FileIdentity>>),
    /// Storage made by the caller, with a name for messages.
    Custom(String, BackendFactory),
}

impl fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, _) => path.display().fmt(f),
            Self::Custom(name, _) => f.write_str(name),
        }
    }
}

impl StoreLocation {
    /// A file.
    pub(crate) fn file(path: PathBuf) -> Self {
        Self::File(path, Arc::default())
    }

    /// Looks whether the file that was opened is still there.
    ///
    /// # Errors
    /// What became of it.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self {
            Self::File(_, opened) => opened.get().map_or(Ok(()), FileIdentity::check),
            Self::Custom(..) => Ok(()),
        }
    }

    /// Opens or creates the database. Its synchronisations pass `gate`.
    pub(crate) fn open(
        &self,
        cache_bytes: usize,
        gate: &CommitGate,
    ) -> Result<Database, OpenError> {
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        let storage = match self {
            Self::File(path, opened) => self.open_file(&builder, path, opened)?,
            Self::Custom(name, factory) => factory().map_err(|source| OpenError::Io {
                path: name.into(),
                source,
            })?,
        };
        let gated = GatedBackend {
            storage,
            gate: gate.clone(),
            place: self.clone(),
        };
        let opened = builder.create_with_backend(gated);
        opened.map_err(|e| self.open_error(e))
    }

    /// A new file gets its name only when it is whole: a power cut while redb lays it out would
    /// leave one that redb takes for foreign, and no later start would succeed. So an empty file is
    /// none that a start has left behind: it has lost what it held.
    fn open_file(
        &self,
        builder: &Builder,
        path: &Path,
        opened: &OnceLock<FileIdentity>,
    ) -> Result<Box<dyn StorageBackend>, OpenError> {
        let lost = |source| OpenError::Io {
            path: path.to_owned(),
            source,
        };
        // What was in use is not made anew: that would be an empty store in the place of a full
        // one.
        self.check().map_err(lost)?;
        if !path.exists() {
            let draft = path.with_extension("new");
            let failed = |source| OpenError::Io {
                path: draft.clone(),
                source,
            };
            remove_if_there(&draft).map_err(failed)?;
            drop(builder.create(&draft).map_err(|e| self.open_error(e))?);
            publish(&draft, path).map_err(failed)?;
        }
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(lost)?;
        if file.metadata().map_err(lost)?.len() == 0 {
            return Err(OpenError::Emptied {
                path: path.to_owned(),
            });
        }
        let identity = FileIdentity::from_file(path, &file).map_err(lost)?;
        // A second opening has found the same file.
        let _ = opened.set(identity);
        let storage = FileBackend::new(file).map_err(|e| self.open_error(e))?;
        Ok(Box::new(storage))
    }

    fn open_error(&self, error: redb::DatabaseError) -> OpenError {
        match redb::Error::from(error) {
            redb::Error::Io(source) => OpenError::Io {
                path: self.to_string().into(),
                source,
            },
            other => OpenError::Damaged {
                place: self.to_string(),
                reason: other.to_string(),
            },
        }
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Gives a whole file its name, durably: the folder is synchronised as well as the file.
fn publish(draft: &Path, path: &Path) -> io::Result<()> {
    std::fs::File::open(draft)?.sync_all()?;
    std::fs::rename(draft, path)?;
    if cfg!(unix) {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// A storage that is synchronised only together with what the rows of a commit tell of.
#[derive(Debug)]
struct GatedBackend {
    storage: Box<dyn StorageBackend>,
    gate: CommitGate,
    place: StoreLocation,
}

type Answer<T> = Result<T, BackendError>;

impl StorageBackend for GatedBackend {
    fn len(&self) -> io::Result<u64> {
        self.storage.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.storage.read(offset, out)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.storage.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        let synced = self.storage.sync_data();
        // Always awaited: nothing may still be written when the next group is.
        let blobs = self.gate.pass();
        // A file without a name is no place to keep anything.
        blobs.and(synced).and_then(|()| self.place.check())
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.storage.write(offset, data)
    }
    fn close(&self) -> io::Result<()> {
        self.storage.close()
    }
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Answer<bool> {
        self.storage.try_lock_range(start, end)
    }
    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Answer<bool> {
        self.storage.try_lock_shared_range(start, end)
    }
    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Answer<()> {
        self.storage.lock_range(start, end)
    }
    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Answer<()> {
        self.storage.lock_shared_range(start, end)
    }
    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Answer<()> {
        self.storage.unlock_range(start, end)
    }
    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Answer<bool> {
        self.storage.query_lock_range(start, end)
    }
}

/// Memory that outlives its database, so that a reopened store finds its rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryBackend(Arc<parking_lot::RwLock<Vec<u8>>>);

impl MemoryBackend {
    /// A factory over one fresh blob of memory.
    pub(crate) fn factory() -> BackendFactory {
        let memory = Self::default();
        Arc::new(move || Ok(Box::new(memory.clone())))
    }
}

/// An offset or length as an index; a store in memory never comes near the limit.
fn index(at: u64) -> io::Result<usize> {
    usize::try_from(at).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

impl StorageBackend for MemoryBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.read().len() as u64)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = index(offset)?;
        let bytes = self.0.read();
        let part = bytes.get(start..start + out.len());
        out.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.write().resize(index(len)?, 0);
        Ok(())
    }
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let start = index(offset)?;
        let mut bytes = self.0.write();
        let part = bytes.get_mut(start..start + data.len());
        part.ok_or(io::ErrorKind::UnexpectedEof)?
            .copy_from_slice(data);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_cut_while_the_file_was_laid_out_does_not_stop_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.redb");
        std::fs::write(path.with_extension("new"), vec![0; 5000]).unwrap();
        let place = StoreLocation::file(path.clone());
        drop(place.open(1024 * 1024, &CommitGate::default()).unwrap());
        assert!(!path.with_extension("new").exists());
        drop(place.open(1024 * 1024, &CommitGate::default()).unwrap());
    }

    #[test]
    fn u8_an_empty_file_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.redb");
        std::fs::write(&path, "").unwrap();
        let error = StoreLocation::file(path.clone())
            .open(1024 * 1024, &CommitGate::default())
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("store.redb is empty") && text.contains("backup"),
            "{text}"
        );
        assert_eq!(
            std::fs::metadata(&path).unwrap().len(),
            0,
            "it is left alone"
        );
    }

    #[test]
    fn a_foreign_file_is_named_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.redb");
        std::fs::write(&path, "not a database, but somebody's thesis").unwrap();
        let error = StoreLocation::file(path.clone())
            .open(1024 * 1024, &CommitGate::default())
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("store.redb"), "{text}");
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!(kept, "not a database, but somebody's thesis");
    }
}
