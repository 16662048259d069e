//! Files of snapshots on this machine, by the digest of their content.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use http_clients::objects::digest_of_file;
use parking_lot::Mutex;
use search_core::snapshots::DescribedFile;

use super::error::SnapshotError;
use super::unit::Unit;

/// Files that are fetched or stored at the same time.
pub(super) const AT_ONCE: usize = 8;

/// A folder of files.
#[derive(Debug)]
pub(super) struct SnapshotCache {
    folder: PathBuf,
    /// What was seen to have its digest since this process began.
    verified: Mutex<BTreeSet<String>>,
}

impl SnapshotCache {
    pub(super) fn open(folder: PathBuf) -> Result<Self, SnapshotError> {
        fs::create_dir_all(&folder).map_err(SnapshotError::file(&folder))?;
        Ok(Self {
            folder,
            verified: Mutex::default(),
        })
    }

    pub(super) fn path(&self, digest: &str) -> PathBuf {
        self.folder.join(digest)
    }

    /// A folder for a moment, on the same file system.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Nothing is known to be whole any more.
    pub(super) fn invalidate(&self) {
        self.verified.lock().clear();
    }

    /// Whether a file is here, and whole.
    fn contains(&self, file: &DescribedFile) -> bool {
        if self.verified.lock().contains(&file.digest) {
            return true;
        }
        let path = self.path(&file.digest);
        let is_whole = match digest_of_file(&path) {
            Ok(digest) => digest == file.digest,
            Err(_) => return false,
        };
        if is_whole {
            self.verified.lock().insert(file.digest.clone());
        } else {
            let _ = fs::remove_file(&path);
        }
        is_whole
    }

    /// Keeps a file that was written here; it is moved.
    pub(super) fn insert(&self, file: &Path, digest: &str) -> Result<(), SnapshotError> {
        let path = self.path(digest);
        fs::rename(file, &path).map_err(SnapshotError::file(file))?;
        self.verified.lock().insert(digest.to_owned());
        Ok(())
    }

    /// Fetches what is missing, several at once; `each` is told the bytes of what is here.
    pub(super) fn fetch(
        &self,
        files: &[(&Unit, &DescribedFile)],
        each: &(dyn Fn(u64) + Sync),
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), SnapshotError> {
        in_parallel(files, |(unit, file)| {
            if is_cancelled() {
                return Err(SnapshotError::Cancelled);
            }
            if !self.contains(file) {
                let path = self.path(&file.digest);
                unit.storage
                    .get(&unit.key(&file.object), &file.digest, &path)?;
                self.verified.lock().insert(file.digest.clone());
            }
            each(file.bytes);
            Ok(())
        })
    }

    /// Puts a file into another folder, under its name there; the content is not copied.
    pub(super) fn link(&self, file: &DescribedFile, folder: &Path) -> Result<(), SnapshotError> {
        let to = folder.join(&file.name);
        fs::hard_link(self.path(&file.digest), &to).map_err(SnapshotError::file(&to))
    }

    /// Removes what is not wanted any more.
    pub(super) fn retain(&self, wanted: &BTreeSet<&str>) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if !wanted.contains(name) && entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
                self.verified.lock().remove(name);
            }
        }
        Ok(())
    }
}

/// Does something for each, several at once; the first failure ends it.
pub(super) fn in_parallel<T: Sync>(
    all: &[T],
    work: impl Fn(&T) -> Result<(), SnapshotError> + Sync,
) -> Result<(), SnapshotError> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(all.len()) {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if failed.lock().is_some() {
                        return;
                    }
                    if let Err(error) = work(one) {
                        failed.lock().get_or_insert(error);
                        return;
                    }
                }
            });
        }
    });
    failed.into_inner().map_or(Ok(()), Err)
}
