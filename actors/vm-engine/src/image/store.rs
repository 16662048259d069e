//! The images there are: each under the digest of its disk, and names that point to them.
//!
//! ```text
//! <folder>/blobs/<digest>/disk, image.json      never changed once it is there
//! <folder>/names/<name>                         the digest, and whether it follows the storage
//! ```

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use vm_core::ImageRef;
use vm_core::image_index::LocalName;

use super::kernel::{KernelScratch, sweep};
use super::{DiskFormat, Image, ImageError, files};
use crate::event::OnProgress;
use crate::qcow2;

/// Where ext4 keeps its magic number: 1,024 bytes of boot block, then 56 of the superblock.
const EXT4_MAGIC_AT: u64 = 1080;
const EXT4_MAGIC: [u8; 2] = [0x53, 0xef];

/// What stands beside the digest of a name that came with a fetched image.
const FOLLOWS: &str = "storage";

/// What is written down beside a disk.
#[derive(Debug, Serialize, Deserialize)]
struct DiskMetadata {
    format: DiskFormat,
    virtual_bytes: u64,
    /// Where it came from, in words.
    origin: String,
}

/// An image as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedImage {
    /// Its digest.
    pub digest: String,
    /// Names that point to it.
    pub names: Vec<String>,
    /// Bytes it takes on the host.
    pub stored_bytes: u64,
    /// Bytes the guest sees.
    pub virtual_bytes: u64,
    /// Where it came from, in words.
    pub origin: String,
}

/// The images in a folder.
#[derive(Clone, Debug)]
pub struct ImageStore {
    folder: PathBuf,
    /// What was given out and is still held, by digest; clones of the store share it.
    pub(super) uses: Arc<Mutex<HashMap<String, Weak<Image>>>>,
}

impl ImageStore {
    /// The store in this folder, made when needed; what a program left in it that was ended at work
    /// is removed.
    ///
    /// # Errors
    /// [`ImageError::Files`] when it cannot be made.
    pub fn open(folder: &Path) -> Result<Self, ImageError> {
        sweep(folder);
        for part in ["blobs", "names"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).map_err(files("making", &path))?;
        }
        Ok(Self {
            folder: folder.canonicalize().map_err(files("finding", folder))?,
            uses: Arc::default(),
        })
    }

    /// The image of this name or digest.
    ///
    /// # Errors
    /// [`ImageError::Unknown`] when there is none.
    pub fn resolve(&self, image: &ImageRef) -> Result<Arc<Image>, ImageError> {
        let unknown = || ImageError::Unknown(image.clone());
        let digest = match image.digest() {
            Some(digest) => digest.to_owned(),
            None => self.local_name(image.as_str()).ok_or_else(unknown)?.digest,
        };
        let read = || {
            let meta = self.meta(&digest)?;
            Some(Image {
                digest: digest.clone(),
                disk: self.blob(&digest).join("disk"),
                format: meta.format,
                virtual_bytes: meta.virtual_bytes,
            })
        };
        self.shared(read, &digest).ok_or_else(unknown)
    }

    /// Every image, by digest.
    ///
    /// # Errors
    /// [`ImageError::Files`] when the folder cannot be read.
    pub fn list(&self) -> Result<Vec<ListedImage>, ImageError> {
        let mut named: Vec<(String, String)> = Vec::new();
        for name in self.entries("names")? {
            if let Some(known) = self.local_name(&name) {
                named.push((known.digest, name));
            }
        }
        named.sort();
        let mut listed = Vec::new();
        for digest in self.entries("blobs")? {
            let Some(meta) = self.meta(&digest) else {
                continue;
            };
            let names = named
                .iter()
                .filter(|(target, _)| *target == digest)
                .map(|(_, name)| name.clone())
                .collect();
            let stored_bytes =
                fs::metadata(self.blob(&digest).join("disk")).map_or(0, |data| stored(&data));
            let DiskMetadata {
                virtual_bytes,
                origin,
                ..
            } = meta;
            listed.push(ListedImage {
                digest,
                names,
                stored_bytes,
                virtual_bytes,
                origin,
            });
        }
        listed.sort_by(|a, b| a.digest.cmp(&b.digest));
        Ok(listed)
    }

    /// Takes over a finished disk, which is moved, and names it.
    ///
    /// # Errors
    /// [`ImageError`] when it is neither ext4 nor qcow2, stands on another file, or cannot be
    /// moved.
    pub fn adopt(
        &self,
        disk: &Path,
        name: &ImageRef,
        origin: &str,
    ) -> Result<Arc<Image>, ImageError> {
        let digest = digest_of(disk)?;
        self.store_disk(disk, &digest, origin)?;
        if name.digest().is_none() {
            self.point(name.as_str(), &digest, false)?;
        }
        self.by_digest(&digest)
    }

    /// Moves a disk of this digest to where it is found; one that is there already stays.
    pub(super) fn store_disk(
        &self,
        disk: &Path,
        digest: &str,
        origin: &str,
    ) -> Result<(), ImageError> {
        let (format, virtual_bytes) = inspect(disk)?;
        if self.contains(digest) {
            return Ok(());
        }
        let work = KernelScratch::new(&self.folder)?;
        let meta = DiskMetadata {
            format,
            virtual_bytes,
            origin: origin.to_owned(),
        };
        let json = serde_json::to_vec_pretty(&meta).expect("texts and numbers are always JSON");
        fs::write(work.0.join("image.json"), json).map_err(files("writing in", &work.0))?;
        let target = work.0.join("disk");
        fs::rename(disk, &target).map_err(files("moving", disk))?;
        read_only(&target)?;
        // The digest's folder appears whole or not at all.
        let blob = self.blob(digest);
        match fs::rename(&work.0, &blob) {
            Err(source) if !self.contains(digest) => Err(files("making", &blob)(source)),
            _ => Ok(()),
        }
    }

    /// The image of this digest.
    pub(super) fn by_digest(&self, digest: &str) -> Result<Arc<Image>, ImageError> {
        let reference = format!("blake3:{digest}");
        self.resolve(&reference.parse().expect("a digest of ours is valid"))
    }

    /// Whether the image of this digest is here.
    #[must_use]
    pub fn contains(&self, digest: &str) -> bool {
        self.meta(digest).is_some()
    }

    /// What a name means here.
    #[must_use]
    pub fn local_name(&self, name: &str) -> Option<LocalName> {
        let text = fs::read_to_string(self.name(name)).ok()?;
        let mut words = text.split_whitespace();
        Some(LocalName {
            digest: words.next()?.to_owned(),
            follows: words.next() == Some(FOLLOWS),
        })
    }

    /// Copies a disk file (ext4 without partitions, or qcow2) into the store.
    ///
    /// # Errors
    /// As [`ImageStore::adopt`].
    pub fn import_disk(
        &self,
        source: &Path,
        name: &ImageRef,
        progress: OnProgress<'_>,
    ) -> Result<Arc<Image>, ImageError> {
        inspect(source)?;
        let work = KernelScratch::new(&self.folder)?;
        let copy = work.0.join("copy");
        progress(&format!("copying {}", source.display()));
        fs::copy(source, &copy).map_err(files("copying", source))?;
        self.adopt(&copy, name, &format!("imported from {}", source.display()))
    }

    /// Forgets a name, or a disk with all its names; the digests of the disks that are gone. A disk
    /// goes when nothing names it any more. Nobody may be using it.
    ///
    /// # Errors
    /// [`ImageError::Unknown`] when there is no such image, [`ImageError::Files`] when it cannot be
    /// removed.
    pub fn remove(&self, image: &ImageRef) -> Result<Vec<String>, ImageError> {
        let digest = self.resolve(image)?.digest.clone();
        let names = self.list()?.into_iter();
        let names = names.filter(|listed| listed.digest == digest);
        let (gone, kept): (Vec<String>, Vec<String>) = names
            .flat_map(|listed| listed.names)
            .partition(|name| image.digest().is_some() || name == image.as_str());
        for name in gone {
            let path = self.name(&name);
            fs::remove_file(&path).map_err(files("removing", &path))?;
        }
        if !kept.is_empty() {
            return Ok(Vec::new());
        }
        let blob = self.blob(&digest);
        fs::remove_dir_all(&blob).map_err(files("removing", &blob))?;
        Ok(vec![format!("blake3:{digest}")])
    }

    /// A place on the same disk as the images, for those that make them.
    pub(super) fn scratch(&self) -> Result<KernelScratch, ImageError> {
        Ok(KernelScratch::new(&self.folder)?)
    }

    /// Has a name mean an image; `follows`: as long as the storage's name does.
    ///
    /// # Errors
    /// [`ImageError::Files`].
    pub fn point(&self, name: &str, digest: &str, follows: bool) -> Result<(), ImageError> {
        let path = self.name(name);
        let temporary = self
            .folder
            .join(format!(".name-{}-{name}", std::process::id()));
        let mark = if follows { FOLLOWS } else { "" };
        let text = format!("{digest} {mark}");
        fs::write(&temporary, text.trim_end()).map_err(files("writing", &temporary))?;
        fs::rename(&temporary, &path).map_err(files("writing", &path))
    }

    /// The folder of all.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the image of a digest came from, in words.
    pub(super) fn origin(&self, digest: &str) -> Option<String> {
        Some(self.meta(digest)?.origin)
    }

    pub(super) fn name(&self, name: &str) -> PathBuf {
        self.folder.join("names").join(name)
    }

    pub(super) fn blob(&self, digest: &str) -> PathBuf {
        self.folder.join("blobs").join(digest)
    }

    fn meta(&self, digest: &str) -> Option<DiskMetadata> {
        serde_json::from_slice(&fs::read(self.blob(digest).join("image.json")).ok()?).ok()
    }

    fn entries(&self, part: &str) -> Result<Vec<String>, ImageError> {
        let folder = self.folder.join(part);
        let entries = fs::read_dir(&folder).map_err(files("reading", &folder))?;
        Ok(entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect())
    }
}

/// Format and size of a disk file, when VMs can boot it.
fn inspect(disk: &Path) -> Result<(DiskFormat, u64), ImageError> {
    // A pipe would be waited for.
    let metadata = fs::metadata(disk).map_err(files("reading", disk))?;
    if !metadata.is_file() {
        return Err(ImageError::Format {
            path: disk.to_path_buf(),
            why: "it is no file",
        });
    }
    if let Some(bytes) = qcow2::virtual_bytes(disk).map_err(files("reading", disk))? {
        if qcow2::has_backing(disk).map_err(files("reading", disk))? {
            return Err(ImageError::Format {
                path: disk.to_path_buf(),
                why: "it stands on another file: flatten it with `qemu-img convert`",
            });
        }
        return Ok((DiskFormat::Qcow2, bytes));
    }
    let file = File::open(disk).map_err(files("opening", disk))?;
    let mut magic = [0; 2];
    let read = std::os::unix::fs::FileExt::read_exact_at(&file, &mut magic, EXT4_MAGIC_AT);
    if read.is_err() || magic != EXT4_MAGIC {
        return Err(ImageError::Format {
            path: disk.to_path_buf(),
            why: "it is neither qcow2 nor an ext4 file system without partitions",
        });
    }
    Ok((DiskFormat::Raw, metadata.len()))
}

pub(super) fn digest_of(path: &Path) -> Result<String, ImageError> {
    let file = File::open(path).map_err(files("opening", path))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).map_err(files("reading", path))?;
    Ok(hasher.finalize().to_hex().to_string())
}

fn read_only(path: &Path) -> Result<(), ImageError> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o444)).map_err(files("protecting", path))
}

fn stored(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata) * 512
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ext4(path: &Path, fill: u8) {
        let mut bytes = vec![fill; 4096];
        bytes[1080..1082].copy_from_slice(&EXT4_MAGIC);
        fs::write(path, bytes).unwrap();
    }

    fn name(text: &str) -> ImageRef {
        text.parse().unwrap()
    }

    #[test]
    fn an_image_is_found_by_name_and_by_digest_and_stored_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = ImageStore::open(&folder.path().join("images")).unwrap();
        let disk = folder.path().join("disk");
        ext4(&disk, 1);
        let image = store.import_disk(&disk, &name("one"), &|_| {}).unwrap();
        assert_eq!((image.format, image.virtual_bytes), (DiskFormat::Raw, 4096));
        assert_eq!(
            image.digest,
            blake3::hash(&fs::read(&disk).unwrap()).to_hex().to_string()
        );
        assert_eq!(store.resolve(&name("one")).unwrap(), image);
        assert_eq!(
            store
                .resolve(&name(&format!("blake3:{}", image.digest)))
                .unwrap(),
            image
        );
        store.import_disk(&disk, &name("two"), &|_| {}).unwrap();
        let listed = store.list().unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].names, ["one", "two"]);
        // A name can be pointed elsewhere; what it pointed to stays for those who have its digest.
        ext4(&disk, 2);
        let other = store.import_disk(&disk, &name("one"), &|_| {}).unwrap();
        assert_eq!(store.resolve(&name("one")).unwrap(), other);
        assert_eq!(store.resolve(&name("two")).unwrap(), image);
        assert!(matches!(
            store.resolve(&name("three")),
            Err(ImageError::Unknown(_))
        ));
    }

    #[test]
    fn a_disk_is_removed_with_its_last_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = ImageStore::open(&folder.path().join("images")).unwrap();
        let disk = folder.path().join("disk");
        ext4(&disk, 1);
        let image = store.import_disk(&disk, &name("one"), &|_| {}).unwrap();
        store.import_disk(&disk, &name("two"), &|_| {}).unwrap();
        let digest = format!("blake3:{}", image.digest);
        assert!(store.remove(&name("one")).unwrap().is_empty());
        assert_eq!(store.resolve(&name("two")).unwrap(), image);
        assert_eq!(
            store.remove(&name("two")).unwrap(),
            std::slice::from_ref(&digest)
        );
        assert!(store.list().unwrap().is_empty());
        // By its digest with all names, and what has none any more.
        store.import_disk(&disk, &name("one"), &|_| {}).unwrap();
        ext4(&disk, 2);
        store.import_disk(&disk, &name("two"), &|_| {}).unwrap();
        store.import_disk(&disk, &name("one"), &|_| {}).unwrap();
        assert_eq!(
            store.remove(&name(&digest)).unwrap(),
            std::slice::from_ref(&digest)
        );
        assert_eq!(store.list().unwrap()[0].names, ["one", "two"]);
        assert!(matches!(
            store.remove(&name(&digest)),
            Err(ImageError::Unknown(_))
        ));
    }

    #[test]
    fn what_cannot_boot_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = ImageStore::open(folder.path()).unwrap();
        let disk = folder.path().join("disk");
        fs::write(&disk, "text").unwrap();
        for wrong in [disk.as_path(), Path::new("/dev/null")] {
            assert!(matches!(
                store.import_disk(wrong, &name("x"), &|_| {}),
                Err(ImageError::Format { .. })
            ));
        }
        let overlay = folder.path().join("overlay");
        qcow2::write_overlay(&overlay, Path::new("/etc/passwd"), DiskFormat::Raw, 1 << 20).unwrap();
        let error = store
            .import_disk(&overlay, &name("x"), &|_| {})
            .unwrap_err();
        assert!(
            error.to_string().contains("stands on another file"),
            "{error}"
        );
        assert_eq!(store.list().unwrap(), []);
    }
}
