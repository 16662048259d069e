//! The lock of the store of images: what each name was when it was added.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::image::{ImageReference, is_digest};

/// The format of the file.
const VERSION: u32 = 1;
/// Largest lock file, in bytes: some ten thousand images.
const MAX_LOCK_BYTES: usize = 4 << 20;

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
#[error("the lock of the images cannot be read: {0}")]
pub struct ImageLockError(String);

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
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        if bytes.len() > MAX_LOCK_BYTES {
            return Err(ImageLockError("it is too large".to_owned()));
        }
        let file: LockFile =
            serde_json::from_slice(bytes).map_err(|error| ImageLockError(error.to_string()))?;
        if file.version != VERSION {
            let text = format!(
                "its version is {}, this program knows {VERSION}",
                file.version
            );
            return Err(ImageLockError(text));
        }
        for (name, image) in &file.images {
            let named = name.parse::<ImageReference>();
            let named = named.is_ok_and(|reference| reference.local_name() == *name);
            if !named || !is_digest(&image.digest) || !is_digest(&image.manifest) {
                let name = config_core::quoted(name);
                return Err(ImageLockError(format!("its entry {name} is wrong")));
            }
        }
        Ok(Self {
            images: file.images,
        })
    }

    /// The file's text: the same lock always gives the same text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let file = LockFile {
            version: VERSION,
            images: self.images.clone(),
        };
        let text = serde_json::to_string_pretty(&file).expect("texts and numbers are JSON");
        text + "\n"
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
