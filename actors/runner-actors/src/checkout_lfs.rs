//! `lfs: true` of `actions/checkout`: the objects that Git LFS keeps, read from the repository's
//! own host with the rights that the run has there, in the place of their pointers.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::quoted;
use git_engine::{Remote, TreeSize, WorkTree};
use http_clients::lfs::LfsObject;
use runner_core::checkout::{LfsPointer, MAX_POINTER_BYTES, lfs_url};
use sha2::{Digest, Sha256};

use crate::checkout_source::Checkout;
use crate::lfs_fetcher::LfsFetcher;

/// Longest time to read the large files of a checkout, were they small; where nothing of one comes
/// it is broken off sooner.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(900);
/// Bytes that have a second more.
const SLOWEST: u64 = 256 << 10;
/// Objects that are asked for together: addresses of more would be too old when they are read.
const ASKED_AT_ONCE: usize = 100;
/// Bytes of a `.lfsconfig`.
const MAX_CONFIG_BYTES: u64 = 64 << 10;

/// What a checkout has of Git LFS.
pub(crate) struct LargeFiles {
    folder: PathBuf,
    /// The files of each object, by its digest, and its size.
    objects: BTreeMap<String, (u64, Vec<PathBuf>)>,
    remote: Remote,
    config: Option<String>,
    reference: Option<String>,
}

impl Checkout {
    /// Finds the pointers of a work tree. Blocks.
    pub(crate) fn large_files(
        &self,
        tree: &WorkTree,
        url: &str,
        reference: Option<String>,
    ) -> Result<LargeFiles, String> {
        let folder = tree.folder().to_owned();
        let mut objects: BTreeMap<String, (u64, Vec<PathBuf>)> = BTreeMap::new();
        for file in tree.lfs_files().map_err(|error| error.to_string())? {
            let path = folder.join(&file);
            let Some(pointer) = pointer(&path) else {
                continue;
            };
            let (size, files) = objects.entry(pointer.oid).or_default();
            *size = pointer.size;
            files.push(path);
        }
        let (remote, _) = self.remote(url).map_err(|error| error.to_string())?;
        let config = small_file(&folder.join(".lfsconfig"), MAX_CONFIG_BYTES);
        Ok(LargeFiles {
            config: config.and_then(|bytes| lfs_url(&String::from_utf8_lossy(&bytes))),
            folder,
            objects,
            remote,
            reference,
        })
    }
}

/// The file's content, where it is a file of fewer bytes.
fn small_file(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() >= limit {
        return None;
    }
    fs::read(path).ok()
}

fn pointer(path: &Path) -> Option<LfsPointer> {
    LfsPointer::parse(&small_file(path, MAX_POINTER_BYTES as u64)?)
}

impl LargeFiles {
    /// What they take on the disk.
    pub(crate) fn size(&self) -> TreeSize {
        let sizes = self.objects.values().map(|(size, _)| *size);
        TreeSize {
            bytes: sizes.fold(0, u64::saturating_add),
            ..TreeSize::default()
        }
    }

    /// Reads them all and puts them into the work tree, and into the clone's own store.
    pub(crate) async fn fetch(self, client: LfsFetcher) -> Result<(), String> {
        if self.objects.is_empty() {
            return Ok(());
        }
        let bytes = self.size().bytes;
        let timeout = longest(bytes);
        let reading = tokio::time::timeout(timeout, self.read(&client)).await;
        reading.map_err(|_| {
            let seconds = timeout.as_secs();
            format!("large files of {bytes} bytes took longer than {seconds} s")
        })??;
        let placed = tokio::task::spawn_blocking(move || self.place()).await;
        placed
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("a large file could not be written: {error}"))
    }

    async fn read(&self, fetcher: &LfsFetcher) -> Result<(), String> {
        let wrong = |error: std::io::Error| format!("a large file could not be written: {error}");
        if self.remote.url().scheme() == "file" {
            return self.copy_local();
        }
        let client = fetcher.client(&self.remote, self.config.as_deref())?;
        let objects = self.objects.iter().map(|(oid, (size, _))| LfsObject {
            oid: oid.clone(),
            size: *size,
        });
        let objects: Vec<LfsObject> = objects.collect();
        for objects in objects.chunks(ASKED_AT_ONCE) {
            let located = client.locate(objects, self.reference.as_deref()).await;
            for download in located.map_err(|error| error.to_string())? {
                let oid = &download.object.oid;
                let path = self.object(oid);
                fs::create_dir_all(path.parent().unwrap_or(&self.folder)).map_err(wrong)?;
                let mut file = HashedFile::create(&path).map_err(wrong)?;
                let read = client.download(&download, &mut file).await;
                read.map_err(|error| error.to_string())?;
                file.check(oid)?;
            }
        }
        Ok(())
    }

    /// From a clone of this machine.
    fn copy_local(&self) -> Result<(), String> {
        let clone = self.remote.url().to_file_path();
        let clone = clone.map_err(|()| "its folder has no path".to_owned())?;
        for oid in self.objects.keys() {
            let below = object_path(oid);
            let places = [clone.join(&below), clone.join(".git").join(&below)];
            let Some(from) = places.into_iter().find(|place| place.is_file()) else {
                return Err(format!(
                    "{} has not the large file {oid}",
                    quoted(&clone.to_string_lossy())
                ));
            };
            let path = self.object(oid);
            let copy = || {
                fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
                let mut file = HashedFile::create(&path)?;
                std::io::copy(&mut File::open(&from)?, &mut file)?;
                file.flush()?;
                Ok::<_, std::io::Error>(file)
            };
            copy().map_err(|error| error.to_string())?.check(oid)?;
        }
        Ok(())
    }

    fn object(&self, oid: &str) -> PathBuf {
        self.folder.join(".git").join(object_path(oid))
    }

    /// Each file in the place of its pointer, with the same mode.
    fn place(&self) -> std::io::Result<()> {
        for (oid, (_, files)) in &self.objects {
            let object = self.object(oid);
            for path in files {
                let mode = fs::symlink_metadata(path)?.permissions();
                fs::remove_file(path)?;
                fs::copy(&object, path)?;
                fs::set_permissions(path, mode)?;
            }
        }
        Ok(())
    }
}

/// Longest time for so many bytes.
fn longest(bytes: u64) -> Duration {
    TRANSFER_TIMEOUT.saturating_add(Duration::from_secs(bytes / SLOWEST))
}

/// Where Git LFS keeps an object, from the clone's own folder.
fn object_path(oid: &str) -> PathBuf {
    let (first, second) = (&oid[..2], &oid[2..4]);
    Path::new("lfs/objects").join(first).join(second).join(oid)
}

/// A file whose digest is computed while it is written.
struct HashedFile {
    file: BufWriter<File>,
    hash: Sha256,
}

impl HashedFile {
    fn create(path: &Path) -> std::io::Result<Self> {
        Ok(Self {
            file: BufWriter::with_capacity(1 << 20, File::create(path)?),
            hash: Sha256::new(),
        })
    }

    fn check(self, oid: &str) -> Result<(), String> {
        let found = hex::encode(self.hash.finalize());
        if found == oid {
            return Ok(());
        }
        Err(format!(
            "the large file {oid} came as {found}: nothing of it is used"
        ))
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of a checkout had a quarter of an hour, whatever their size.
    #[test]
    fn i17_large_files_have_time_by_their_size() {
        assert_eq!(longest(0), TRANSFER_TIMEOUT);
        assert_eq!(longest(4 << 30).as_secs(), 900 + 16_384);
        assert!(longest(u64::MAX) > longest(4 << 30));
    }
}
