//! What no image consists of any more goes.

use std::collections::BTreeSet;
use std::time::Duration;

use vm_core::StoredName;
use vm_core::image_index::{AgedObject, ImageIndex, PendingRemovals, unused};

use super::{CHUNKS, ImageStorage, ImageStorageError, MANIFESTS, chunk_key, manifest_key};

/// How often a sweep begins anew while others push.
const MAX_ROUNDS: usize = 10;

impl ImageStorage {
    /// Removes chunks and manifests that no image of the index uses, nor used `grace` ago, older
    /// than that by the storage's clock; how many. They are condemned in the index first, so that
    /// no push uses them any more; a sweep that was ended is finished by the next one.
    ///
    /// # Errors
    /// The storage's; [`ImageStorageError::Damaged`] when a manifest cannot be read: what its image
    /// uses is unknown, so nothing is removed. [`ImageStorageError::IndexLost`], for the same
    /// reason.
    pub fn sweep(&self, grace: Duration) -> Result<usize, ImageStorageError> {
        let mut removed = self.remove_condemned()?;
        let left = self.left_lately(grace)?;
        for _ in 0..MAX_ROUNDS {
            let (index, version) = self.read_index()?;
            if version.is_none() {
                self.refuse_lost_index()?;
            }
            let mut condemned = self.unused(&index, grace)?;
            condemned.chunks.retain(|name| !left.contains(name));
            condemned.manifests.retain(|name| !left.contains(name));
            if condemned.is_empty() {
                return Ok(removed);
            }
            let mut next = ImageIndex::clone(&index);
            next.collections += 1;
            next.condemned = condemned;
            if self.replace_index(version.as_ref(), &next)? {
                removed += self.remove_condemned()?;
                return Ok(removed);
            }
        }
        Err(ImageStorageError::Contended {
            place: self.place().to_owned(),
        })
    }

    pub(super) fn unused(
        &self,
        index: &ImageIndex,
        grace: Duration,
    ) -> Result<PendingRemovals, ImageStorageError> {
        let manifests = self.aged(MANIFESTS)?;
        let chunks = self.aged(CHUNKS)?;
        let used: BTreeSet<StoredName> = index
            .images
            .values()
            .map(|image| image.manifest.clone())
            .collect();
        let manifests = unused(&manifests, &used, grace);
        if manifests.is_empty() && unused(&chunks, &BTreeSet::new(), grace).is_empty() {
            return Ok(PendingRemovals::default());
        }
        let mut used = BTreeSet::new();
        for (digest, image) in &index.images {
            let manifest = self.manifest(digest, &image.manifest)?;
            used.extend(manifest.chunks.into_iter().flatten());
        }
        Ok(PendingRemovals {
            chunks: unused(&chunks, &used, grace),
            manifests,
        })
    }

    pub(super) fn aged(&self, prefix: &str) -> Result<Vec<AgedObject>, ImageStorageError> {
        let stored: Vec<_> = self.stored(prefix)?.collect();
        if stored.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.objects.time()?;
        let aged = stored.into_iter().map(|(name, object)| AgedObject {
            name,
            age: now.duration_since(object.stored).unwrap_or_default(),
        });
        Ok(aged.collect())
    }

    /// Removes what is condemned: first the objects, then their names from the index.
    fn remove_condemned(&self) -> Result<usize, ImageStorageError> {
        let condemned = self.index()?.condemned.clone();
        for chunk in &condemned.chunks {
            self.objects.delete(&chunk_key(chunk))?;
        }
        for manifest in &condemned.manifests {
            self.objects.delete(&manifest_key(manifest))?;
        }
        if !condemned.is_empty() {
            self.change_index(|index| {
                let removed = &condemned;
                index
                    .condemned
                    .chunks
                    .retain(|name| !removed.chunks.contains(name));
                let manifests = &mut index.condemned.manifests;
                manifests.retain(|name| !removed.manifests.contains(name));
                Ok(Some(()))
            })?;
        }
        Ok(condemned.len())
    }
}
