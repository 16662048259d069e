//! Copies of shared files on this machine, by digest.

use std::fs::{File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use http_clients::objects::ObjectError;

use crate::replica::file_rows::SharedFile;
use crate::replica::shared_files::SharedFiles;

/// Copies that were used lately stay, whatever they take.
const RECENT_USE_PERIOD: Duration = Duration::from_secs(600);

/// Whether what a file's methods say is that its object is lost, and no storage that is away.
#[must_use]
pub fn is_loss(error: &std::io::Error) -> bool {
    let of_storage = error
        .get_ref()
        .and_then(|it| it.downcast_ref::<ObjectError>());
    of_storage.is_some_and(ObjectError::is_loss)
}

impl SharedFiles {
    /// A copy of the file on this machine; it is fetched where there is none, or one that was cut
    /// short. Where its object is lost and the same bytes were stored again, it is those.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn open_file(&self, file: &SharedFile) -> std::io::Result<PathBuf> {
        let copy = self.copy_of(&file.digest);
        let now = FileTimes::new().set_modified(SystemTime::now());
        if let Ok(there) = File::options().append(true).open(&copy)
            && there.metadata()?.len() == file.bytes
        {
            // The copies that were used longest ago go first.
            let _ = there.set_times(now);
            return Ok(copy);
        }
        let mut object = file.object.clone();
        loop {
            let got = self.record_result(self.inner.storage.get(&object, &file.digest, &copy));
            match got {
                Err(error) if is_loss(&error) => {
                    // An empty place may be another one than that of the files.
                    self.claim_place()?;
                    self.forget_object(&file.digest, &object)?;
                    object = self.object_of(&file.digest)?.ok_or(error)?;
                }
                got => {
                    got?;
                    self.trim();
                    return Ok(copy);
                }
            }
        }
    }

    /// The same, in a file of its own.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn fetch_to(&self, file: &SharedFile, to: &Path) -> std::io::Result<()> {
        let part = to.with_extension("fetched");
        std::fs::copy(self.open_file(file)?, &part)?;
        std::fs::rename(part, to)
    }

    /// The same, durable and compared once more.
    ///
    /// # Errors
    /// The storage's, and the store's; [`std::io::ErrorKind::InvalidData`] where it differs.
    pub fn bring_to(&self, file: &SharedFile, to: &Path) -> std::io::Result<()> {
        let folder = to.parent().unwrap_or(to);
        std::fs::create_dir_all(folder)?;
        self.fetch_to(file, to)?;
        File::open(to)?.sync_all()?;
        File::open(folder)?.sync_all()?;
        match file.is_begin_of(to)? {
            true => Ok(()),
            false => Err(std::io::ErrorKind::InvalidData.into()),
        }
    }

    /// A copy of the file on this machine that has its digest now.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub(crate) fn open_whole(&self, file: &SharedFile) -> std::io::Result<PathBuf> {
        let copy = self.copy_of(&file.digest);
        if copy.exists() && !file.is_begin_of(&copy)? {
            std::fs::remove_file(&copy)?;
        }
        self.open_file(file)
    }

    /// Reads a stored file back from the storage, and compares.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn verify(&self, file: &SharedFile) -> std::io::Result<()> {
        let _ = std::fs::remove_file(self.copy_of(&file.digest));
        self.open_file(file).map(drop)
    }

    pub(crate) fn copy_of(&self, digest: &str) -> PathBuf {
        self.inner.local.join(digest)
    }

    /// Removes the copies that were used longest ago beyond what they may take.
    pub(crate) fn trim(&self) {
        let files = std::fs::read_dir(&self.inner.local);
        let files = files.into_iter().flatten().flatten();
        let known = files.filter_map(|file| {
            let about = file.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), file.path()))
        });
        let mut all: Vec<(SystemTime, u64, PathBuf)> = known.collect();
        let mut total: u64 = all.iter().map(|(_, bytes, _)| bytes).sum();
        all.sort();
        let unused_since = SystemTime::now() - RECENT_USE_PERIOD;
        for (used, bytes, path) in all {
            if total <= self.inner.settings.local_bytes || used > unused_since {
                return;
            }
            if std::fs::remove_file(path).is_ok() {
                total -= bytes;
            }
        }
    }
}
