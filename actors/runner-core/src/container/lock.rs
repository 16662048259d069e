//! The lock of the store of images: what each name was when it was added.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::image::{ImageReference, is_digest};
use crate::lock_file::{self, LockFileError, VERSION};

/// All images, by name without digest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImageLock {
    images: BTreeMap<String, LockedImage>,
}

/// What a name is locked to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedImage {
    /// Where it came from: a registry, a folder, an archive.
    pub source: String,
    /// The digest that it has there, `sha256:…`: what a workflow pins.
    pub digest: String,
    /// The digest of the manifest in the store, whose layers are not compressed.
    pub manifest: String,
    /// Bytes of its layers.
    pub bytes: u64,
}

/// Why a lock cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageLockError {
    /// The file is no lock that this program knows.
    #[error("the lock of the images {0}")]
    File(LockFileError),
    /// An entry is none: its name, quoted.
    #[error("the lock of the images cannot be read: its entry {0} is wrong")]
    Entry(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFile {
    version: u32,
    images: BTreeMap<String, LockedImage>,
}

impl ImageLock {
    /// Reads a lock file; an empty one locks nothing.
    ///
    /// # Errors
    /// When it is no lock, or an entry of it is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, ImageLockError> {
        let file = lock_file::read(bytes, |file: &LockFile| file.version);
        let Some(file) = file.map_err(ImageLockError::File)? else {
            return Ok(Self::default());
        };
        for (name, image) in &file.images {
            let named = name.parse::<ImageReference>();
            let named = named.is_ok_and(|reference| reference.local_name() == *name);
            if !named || !is_digest(&image.digest) || !is_digest(&image.manifest) {
                return Err(ImageLockError::Entry(config_core::quoted(name)));
            }
        }
        Ok(Self {
            images: file.images,
        })
    }

    /// The file's text: the same lock always gives the same text.
    #[must_use]
    pub fn to_text(&self) -> String {
        lock_file::to_text(&LockFile {
            version: VERSION,
            images: self.images.clone(),
        })
    }

    /// What a name is locked to; a digest in it must be that of the image.
    #[must_use]
    pub fn get(&self, reference: &ImageReference) -> Option<&LockedImage> {
        let image = match reference.digest() {
            None => self.images.get(&reference.local_name()),
            // A pinned image is the same under each of its names.
            Some(digest) => {
                let name = format!("{}/{}:", reference.registry(), reference.repository());
                let mut named = self.images.iter().filter(|(key, _)| key.starts_with(&name));
                let found = named.find(|(_, image)| image.digest == digest);
                found.map(|(_, image)| image)
            }
        };
        image.filter(|image| {
            reference
                .digest()
                .is_none_or(|digest| image.digest == digest)
        })
    }

    /// Locks a name; what it was locked to before.
    pub fn set(&mut self, reference: &ImageReference, image: LockedImage) -> Option<LockedImage> {
        self.images.insert(reference.local_name(), image)
    }

    /// Forgets a name.
    pub fn remove(&mut self, reference: &ImageReference) -> Option<LockedImage> {
        self.images.remove(&reference.local_name())
    }

    /// All names, in order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &LockedImage)> {
        self.images
            .iter()
            .map(|(name, image)| (name.as_str(), image))
    }
}
