//! Marks of manifests that no image has any more: the grace counts from then, so that a host that
//! is pulling the image just now gets all of it. They are objects of their own, with the storage's
//! time, and managers of former versions do not mind them.

use std::collections::BTreeSet;
use std::time::Duration;

use vm_core::StoredName;
use vm_core::image_index::ImageIndex;

use super::{ImageStorage, ImageStorageError};

const LEFT: &str = "images/left";

impl ImageStorage {
    /// Marks the manifests that are in the index and not in the next one; before that is stored: a
    /// mark too many does nothing.
    pub(super) fn mark_left(
        &self,
        index: &ImageIndex,
        next: &ImageIndex,
    ) -> Result<(), ImageStorageError> {
        let manifests = |index: &ImageIndex| {
            let all = index.images.values().map(|image| image.manifest.clone());
            all.collect::<BTreeSet<StoredName>>()
        };
        for name in manifests(index).difference(&manifests(next)) {
            self.objects.put_bytes(&mark_key(name), "left".into())?;
        }
        Ok(())
    }

    /// Manifests that were left less than `grace` ago, and what they consist of; marks that are
    /// older go.
    pub(super) fn left_lately(
        &self,
        grace: Duration,
    ) -> Result<BTreeSet<StoredName>, ImageStorageError> {
        let mut used = BTreeSet::new();
        for mark in self.aged(LEFT)? {
            if mark.age >= grace {
                self.objects.delete(&mark_key(&mark.name))?;
                continue;
            }
            match self.read_manifest(&mark.name) {
                Ok(manifest) => used.extend(manifest.chunks.into_iter().flatten()),
                // Nobody can pull it.
                Err(ImageStorageError::Damaged { .. }) => continue,
                Err(ImageStorageError::Objects(error)) if error.is_loss() => continue,
                Err(error) => return Err(error),
            }
            used.insert(mark.name);
        }
        Ok(used)
    }
}

fn mark_key(name: &StoredName) -> String {
    format!("{LEFT}/{name}")
}
