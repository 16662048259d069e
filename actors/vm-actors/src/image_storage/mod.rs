//! Images in object storage: pushed from the host that made them, pulled by the others.
//!
//! ```text
//! images/index.json           names ─▶ digests ─▶ manifests; replaced on condition, the only one that changes
//! images/manifests/<name>     what one image consists of; put when its chunks are there
//! images/left/<name>          that no image has this manifest since the mark was stored
//! images/chunks/ab/<name>     4 MiB of a disk, compressed; images share them
//! ```
//! A `<name>` is the BLAKE3 digest of the content and a random part, and is used once. The
//! managers of all hosts share the place; nothing of it belongs to one of them. Methods block.

mod collect;
mod error;
mod lost_index;
mod migrate;
#[cfg(test)]
mod migration_tests;
mod orphan_marks;
mod pull;
mod push;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use config_core::ObjectSettings;
use http_clients::objects::{
    ObjectStorage, ObjectVersion, ReplaceResult, SmallObject, StoredObject,
};
use parking_lot::Mutex;
use vm_core::image_index::ImageIndex;
use vm_core::image_manifest::{ImageManifest, MOST_MANIFEST_BYTES};
use vm_core::{ImageRef, StoredName};
use vm_engine::image::ImageStore;

pub use error::ImageStorageError;
pub use migrate::MigratedImages;
pub use push::{PushOptions, PushedImage};

const INDEX: &str = "images/index.json";
const MANIFESTS: &str = "images/manifests";
const CHUNKS: &str = "images/chunks";
/// How often a change of the index is tried while others change it.
const MAX_CHANGES: usize = 50;

/// How far a transfer has come, in bytes of the disk without its holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferProgress {
    /// What is there.
    pub done: u64,
    /// All of it.
    pub total: u64,
}

/// Told how far a transfer has come, by any thread.
pub type TransferWatch<'a> = &'a (dyn Fn(TransferProgress) + Sync);

/// Images in object storage, and the folder of images of this host. Clones share the connections
/// and what was last read of the index.
#[derive(Clone, Debug)]
pub struct ImageStorage {
    objects: ObjectStorage,
    store: ImageStore,
    settings: ImageStorageSettings,
    known: Arc<Mutex<KnownIndex>>,
}

/// Where images are shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageStorageSettings {
    /// `[objects]`.
    pub objects: ObjectSettings,
    /// Bytes that a fetch leaves free on the disk of the images.
    pub keep_free: u64,
    /// A folder of this host that keeps which shares were there; nothing: they are not remembered.
    pub memory: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct KnownIndex {
    index: Arc<ImageIndex>,
    version: Option<ObjectVersion>,
    is_read: bool,
}

impl ImageStorage {
    /// The images in this storage; nothing is asked of it yet.
    ///
    /// # Errors
    /// When there can be no further thread, or a folder that is the storage cannot be made.
    pub fn open(
        settings: ImageStorageSettings,
        store: ImageStore,
    ) -> Result<Self, ImageStorageError> {
        let place = &settings.objects.place;
        let objects = match &settings.memory {
            Some(memory) => ObjectStorage::open_remembered(place, memory)?,
            None => ObjectStorage::open(place)?,
        };
        Ok(Self {
            objects,
            store,
            settings,
            known: Arc::default(),
        })
    }

    /// The place, as people write it.
    #[must_use]
    pub fn place(&self) -> &str {
        self.objects.place()
    }

    /// The images of this host.
    #[must_use]
    pub fn local(&self) -> &ImageStore {
        &self.store
    }

    /// What it was opened with.
    #[must_use]
    pub fn settings(&self) -> &ImageStorageSettings {
        &self.settings
    }

    /// The index as it was last read; `None` before that.
    #[must_use]
    pub fn known_index(&self) -> Option<Arc<ImageIndex>> {
        let known = self.known.lock();
        known.is_read.then(|| Arc::clone(&known.index))
    }

    /// The index as it is; waits 5 s at most.
    ///
    /// # Errors
    /// The storage's, and [`ImageStorageError::Damaged`].
    pub fn index(&self) -> Result<Arc<ImageIndex>, ImageStorageError> {
        self.read_index().map(|(index, _)| index)
    }

    fn read_index(&self) -> Result<(Arc<ImageIndex>, Option<ObjectVersion>), ImageStorageError> {
        let (former, version) = {
            let known = self.known.lock();
            (Arc::clone(&known.index), known.version.clone())
        };
        let (index, version) = match self.objects.read_small(INDEX, version.as_ref())? {
            SmallObject::Unchanged => (former, version),
            SmallObject::Missing => (Arc::default(), None),
            SmallObject::Read(bytes, version) => {
                let index = ImageIndex::parse(&bytes)
                    .map_err(|error| self.damaged(INDEX, error.to_string()))?;
                (Arc::new(index), Some(version))
            }
        };
        *self.known.lock() = KnownIndex {
            index: Arc::clone(&index),
            version: version.clone(),
            is_read: true,
        };
        Ok((index, version))
    }

    /// Changes the index; `None` of `change`: it is left as it is.
    fn change_index<T>(
        &self,
        mut change: impl FnMut(&mut ImageIndex) -> Result<Option<T>, ImageStorageError>,
    ) -> Result<Option<T>, ImageStorageError> {
        for _ in 0..MAX_CHANGES {
            let (index, version) = self.read_index()?;
            let mut next = match version {
                Some(_) => ImageIndex::clone(&index),
                None => self.lost_index()?,
            };
            let Some(done) = change(&mut next)? else {
                return Ok(None);
            };
            self.mark_left(&index, &next)?;
            if next == *index || self.replace_index(version.as_ref(), &next)? {
                return Ok(Some(done));
            }
        }
        Err(ImageStorageError::Contended {
            place: self.place().to_owned(),
        })
    }

    /// Whether the index was the one that was read, and is the next one now.
    fn replace_index(
        &self,
        version: Option<&ObjectVersion>,
        next: &ImageIndex,
    ) -> Result<bool, ImageStorageError> {
        let replaced = self.objects.replace(INDEX, version, next.to_json())?;
        Ok(matches!(replaced, ReplaceResult::Done(_)))
    }

    /// Forgets a name, or an image with all its names; the digest of an image that is gone. What it
    /// consisted of goes with the next sweep after the grace.
    ///
    /// # Errors
    /// [`ImageStorageError::Unknown`]; the storage's.
    pub fn remove(&self, image: &ImageRef) -> Result<Option<String>, ImageStorageError> {
        let removed = self.change_index(|index| match index.remove(image) {
            Ok(gone) => Ok(Some(gone)),
            Err(_) => Err(self.unknown(index, image)),
        });
        Ok(removed?.flatten())
    }

    /// What an image consists of, checked.
    fn manifest(
        &self,
        digest: &str,
        name: &StoredName,
    ) -> Result<ImageManifest, ImageStorageError> {
        let manifest = self.read_manifest(name)?;
        if manifest.digest != digest {
            let of = format!("it is of the image {}", manifest.digest);
            return Err(self.damaged(&manifest_key(name), of));
        }
        Ok(manifest)
    }

    /// The same of whatever image it is.
    fn read_manifest(&self, name: &StoredName) -> Result<ImageManifest, ImageStorageError> {
        let key = manifest_key(name);
        let bytes = self.objects.get_bytes(&key, MOST_MANIFEST_BYTES)?;
        if blake3::hash(&bytes).to_hex().as_str() != name.digest() {
            return Err(self.damaged(&key, "its BLAKE3 digest is another".to_owned()));
        }
        ImageManifest::parse(&bytes).map_err(|error| self.damaged(&key, error.to_string()))
    }

    /// The objects below a prefix that have names as ours have them.
    fn stored(
        &self,
        prefix: &str,
    ) -> Result<impl Iterator<Item = (StoredName, StoredObject)> + use<>, ImageStorageError> {
        let listed = self.objects.list(prefix)?.into_iter();
        Ok(listed.filter_map(|object| {
            let name = object.key.rsplit('/').next()?.parse().ok()?;
            Some((name, object))
        }))
    }

    /// The chunks that may be used, by the digest of their content.
    fn usable_chunks(
        &self,
        index: &ImageIndex,
    ) -> Result<HashMap<String, StoredName>, ImageStorageError> {
        let chunks = self.stored(CHUNKS)?;
        let usable = chunks.filter(|(name, _)| !index.condemned.chunks.contains(name));
        let mut usable: Vec<_> = usable.collect();
        // Of several the newest: it was stored anew where the others are damaged.
        usable.sort_by_key(|(_, object)| object.stored);
        let usable = usable.into_iter();
        Ok(usable
            .map(|(name, _)| (name.digest().to_owned(), name))
            .collect())
    }

    fn damaged(&self, key: &str, why: String) -> ImageStorageError {
        ImageStorageError::Damaged {
            place: self.place().to_owned(),
            key: key.to_owned(),
            why,
        }
    }

    fn unknown(&self, index: &ImageIndex, image: &ImageRef) -> ImageStorageError {
        let names: Vec<&str> = index.names.keys().map(String::as_str).collect();
        ImageStorageError::Unknown {
            place: self.place().to_owned(),
            image: image.clone(),
            known: names.join(", "),
        }
    }
}

fn manifest_key(name: &StoredName) -> String {
    format!("{MANIFESTS}/{name}")
}

fn chunk_key(name: &StoredName) -> String {
    format!("{CHUNKS}/{}/{name}", &name.digest()[..2])
}

/// A name for this content that nothing has had.
fn new_name(digest: &str) -> StoredName {
    let random = uuid::Uuid::new_v4().simple().to_string();
    StoredName::new(digest, &random).expect("both are hexadecimal digits")
}
