//! An index that is lost: what the manifests still say.

use supervision::unix_ms;
use vm_core::image_index::{ImageIndex, IndexedImage};

use super::{ImageStorage, ImageStorageError, MANIFESTS, manifest_key};

impl ImageStorage {
    /// What an index begins with that is made where there is none: the images whose manifests are
    /// there, without names. The first index has none of them; where it was lost, the next sweep
    /// would remove all that it does not have.
    ///
    /// # Errors
    /// The storage's. A manifest that is damaged is left out.
    pub(super) fn lost_index(&self) -> Result<ImageIndex, ImageStorageError> {
        let mut index = ImageIndex::default();
        for (name, _) in self.stored(MANIFESTS)? {
            let manifest = match self.read_manifest(&name) {
                Err(ImageStorageError::Damaged { .. }) => continue,
                read => read?,
            };
            let chunks = manifest.chunks.iter().enumerate();
            let content = chunks.filter(|(_, chunk)| chunk.is_some());
            let bytes = content.map(|(at, _)| manifest.range(at).1).sum();
            let image = IndexedImage {
                manifest: name,
                bytes,
                origin: manifest.origin,
                pushed_ms: unix_ms(),
            };
            index.images.insert(manifest.digest, image);
        }
        Ok(index)
    }

    /// Sees that there is an index, where there are manifests that one must have named.
    ///
    /// # Errors
    /// [`ImageStorageError::IndexLost`].
    pub(super) fn refuse_lost_index(&self) -> Result<(), ImageStorageError> {
        match self.stored(MANIFESTS)?.next() {
            None => Ok(()),
            Some((name, _)) => Err(ImageStorageError::IndexLost {
                place: self.place().to_owned(),
                manifest: manifest_key(&name),
            }),
        }
    }
}
