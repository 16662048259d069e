//! An image on its way to this host: a disk that is filled chunk by chunk, in any order, also by
//! one process after another.
//!
//! ```text
//! <folder>/partial/<digest>/lock    whoever fills it
//! <folder>/partial/<digest>/disk    holes, and chunks; read again before it goes on
//! ```
//! It is no image before its last chunk is there and its digest is the one that was asked for.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use vm_core::image_manifest::disk_room;

use super::chunks::read_range;
use super::store::digest_of;
use super::{Image, ImageError, ImageStore, files};

/// What nobody went on with for so long is removed.
const PARTIAL_RETENTION: Duration = Duration::from_secs(86_400);
const FOLDER: &str = "partial";

/// A disk that is being filled, by this process alone.
#[derive(Debug)]
pub struct PartialDisk {
    folder: PathBuf,
    path: PathBuf,
    file: File,
    /// Held as long as this.
    _lock: File,
}

impl ImageStore {
    /// The disk of this digest as far as it has come, of so many bytes; waits for another process
    /// that fills it. `None`: the image is here.
    ///
    /// # Errors
    /// [`ImageError::Files`].
    pub fn partial(&self, digest: &str, bytes: u64) -> Result<Option<PartialDisk>, ImageError> {
        self.remove_old_partials(digest);
        let folder = self.folder().join(FOLDER).join(digest);
        fs::create_dir_all(&folder).map_err(files("making", &folder))?;
        let path = folder.join("lock");
        let lock = options().open(&path).map_err(files("opening", &path))?;
        // Until the file is closed: at the end of its process, however that comes.
        lock.lock().map_err(files("locking", &path))?;
        if self.contains(digest) {
            let _ = fs::remove_dir_all(&folder);
            return Ok(None);
        }
        // Another one may have finished, and lost the image again, since the lock was opened.
        fs::create_dir_all(&folder).map_err(files("making", &folder))?;
        let path = folder.join("disk");
        let file = options().open(&path).map_err(files("opening", &path))?;
        file.set_len(bytes).map_err(files("making", &path))?;
        Ok(Some(PartialDisk {
            folder,
            path,
            file,
            _lock: lock,
        }))
    }

    /// Makes an image of a disk that is whole.
    ///
    /// # Errors
    /// [`ImageError::OtherDisk`] when it is not the one of this digest; nothing of it is left then.
    /// [`ImageError::Format`] when no VM can boot it.
    pub fn adopt_partial(
        &self,
        disk: &PartialDisk,
        digest: &str,
        origin: &str,
    ) -> Result<Arc<Image>, ImageError> {
        // On the disk before it has its name: what follows trusts it.
        let synced = disk.file.sync_all();
        synced.map_err(files("writing", &disk.path))?;
        let found = digest_of(&disk.path)?;
        if found != digest {
            let _ = fs::remove_file(&disk.path);
            let expected = digest.to_owned();
            return Err(ImageError::OtherDisk { expected, found });
        }
        self.store_disk(&disk.path, digest, origin)?;
        self.mark_fetched(digest);
        let _ = fs::remove_dir_all(&disk.folder);
        self.by_digest(digest)
    }

    /// Whether so many bytes may be written beside the images.
    ///
    /// # Errors
    /// [`ImageError::NoRoom`]; [`ImageError::Files`] when the system does not say.
    pub fn check_room(&self, needed: u64, keep_free: u64) -> Result<(), ImageError> {
        let path = self.folder();
        let about =
            rustix::fs::statvfs(path).map_err(|error| files("asking", path)(error.into()))?;
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        disk_room(needed, free, keep_free).map_err(|shortage| ImageError::NoRoom {
            path: path.to_owned(),
            shortage,
        })
    }

    fn remove_old_partials(&self, but: &str) {
        let entries = fs::read_dir(self.folder().join(FOLDER));
        for entry in entries.into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name() != but && is_abandoned(&path) {
                let _ = fs::remove_dir_all(path);
            }
        }
    }
}

/// Whether nobody fills it, and nobody has for long.
fn is_abandoned(folder: &Path) -> bool {
    let newest = ["lock", "disk"].map(|name| {
        let about = fs::metadata(folder.join(name));
        about.and_then(|about| about.modified()).ok()
    });
    let newest = newest.into_iter().flatten().max();
    let age = newest.map(|newest| SystemTime::now().duration_since(newest));
    if !age.is_some_and(|age| age.is_ok_and(|age| age > PARTIAL_RETENTION)) {
        return false;
    }
    let lock = options().open(folder.join("lock"));
    lock.is_ok_and(|lock| lock.try_lock().is_ok())
}

fn options() -> fs::OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    options
}

impl PartialDisk {
    /// Whether a chunk is there already: its bytes have this BLAKE3 digest.
    ///
    /// # Errors
    /// [`ImageError::Files`].
    pub fn has_chunk(&self, range: (u64, u64), digest: &str) -> Result<bool, ImageError> {
        let bytes = read_range(&self.file, &self.path, range)?;
        Ok(blake3::hash(&bytes).to_hex().as_str() == digest)
    }

    /// Puts a chunk in its place.
    ///
    /// # Errors
    /// [`ImageError::Files`].
    pub fn write(&self, from: u64, chunk: &[u8]) -> Result<(), ImageError> {
        let written = self.file.write_all_at(chunk, from);
        written.map_err(files("writing", &self.path))
    }
}
