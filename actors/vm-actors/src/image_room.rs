//! Room for images that are fetched: those that were used longest ago go.

use std::collections::BTreeSet;
use std::time::SystemTime;

use vm_core::image_room::{FetchedImage, images_to_remove};
use vm_engine::image::{FetchedBlob, ImageError};

use crate::image_fetcher::ImageFetcher;

impl ImageFetcher {
    /// Removes images that were fetched, beyond what they may take together with bytes that come.
    pub(crate) fn make_room(&self, coming: u64) {
        if let Err(error) = self.remove_beyond(coming) {
            tracing::warn!(event = "image.room_failed", %error, "images that were used longest ago are removed later");
        }
    }

    fn remove_beyond(&self, coming: u64) -> Result<(), ImageError> {
        let store = self.storage.local();
        let fetched = store.fetched()?;
        let needed = self.configured_digests();
        let now = SystemTime::now();
        let images = fetched.iter().map(|blob| FetchedImage {
            digest: blob.image.digest.clone(),
            bytes: blob.image.stored_bytes,
            idle: now.duration_since(blob.used).unwrap_or_default(),
            is_needed: blob.in_use || needed.contains(&blob.image.digest),
        });
        let images: Vec<FetchedImage> = images.collect();
        let most = self.storage.settings().objects.local_bytes;
        for digest in images_to_remove(&images, most, coming) {
            let is_meant = |blob: &&FetchedBlob| blob.image.digest == digest;
            let Some(FetchedBlob { image, .. }) = fetched.iter().find(is_meant) else {
                continue;
            };
            if store.remove_unused(image)? {
                let (names, bytes) = (image.names.join(","), image.stored_bytes);
                tracing::info!(
                    event = "image.removed",
                    digest,
                    names,
                    bytes,
                    "an image made room that was fetched and used longest ago"
                );
            }
        }
        Ok(())
    }

    /// What the images that the configuration names are, here and in the storage.
    fn configured_digests(&self) -> BTreeSet<String> {
        let store = self.storage.local();
        let index = self.storage.known_index().unwrap_or_default();
        let mut digests = BTreeSet::new();
        for image in &self.configured {
            digests.extend(image.digest().map(str::to_owned));
            digests.extend(store.local_name(image.as_str()).map(|name| name.digest));
            digests.extend(index.resolve(image).map(str::to_owned));
        }
        digests
    }

    /// Bytes that the images take that were fetched, and that they may take.
    pub(crate) fn room(&self) -> (u64, u64) {
        let fetched = self.storage.local().fetched().unwrap_or_default();
        let taken = fetched.iter().map(|blob| blob.image.stored_bytes).sum();
        (taken, self.storage.settings().objects.local_bytes)
    }
}
