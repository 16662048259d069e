//! From the storage to this host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_clients::objects::for_each;
use vm_core::image_index::ImageIndex;
use vm_core::image_manifest::ImageManifest;
use vm_core::{ImageRef, StoredName};
use vm_engine::image::{Image, PartialDisk, decompressed};

use super::{ImageStorage, ImageStorageError, TransferProgress, TransferWatch, chunk_key};

impl ImageStorage {
    /// Fetches an image, unless it is here, and gives it the names that the storage has for it,
    /// but for those that were given to another image here. What a fetch that was ended had brought
    /// is not fetched again.
    ///
    /// # Errors
    /// [`ImageStorageError`]; no image is seen here then.
    pub fn pull(
        &self,
        image: &ImageRef,
        watch: TransferWatch<'_>,
    ) -> Result<Arc<Image>, ImageStorageError> {
        let index = self.index()?;
        let digest = index
            .resolve(image)
            .ok_or_else(|| self.unknown(&index, image))?;
        let fetched = self.fetch(&index, digest, watch)?;
        for name in index.names_of(digest) {
            let own = self.store.local_name(&name);
            if own.is_none_or(|own| own.follows) {
                self.store.point(&name, digest, true)?;
            }
        }
        Ok(fetched)
    }

    fn fetch(
        &self,
        index: &ImageIndex,
        digest: &str,
        watch: TransferWatch<'_>,
    ) -> Result<Arc<Image>, ImageStorageError> {
        let reference: ImageRef = format!("blake3:{digest}")
            .parse()
            .expect("the index is checked");
        if self.store.contains(digest) {
            return Ok(self.store.resolve(&reference)?);
        }
        let manifest = self.manifest(digest, &index.images[digest].manifest)?;
        let Some(disk) = self.store.partial(digest, manifest.bytes)? else {
            // Another process was faster.
            return Ok(self.store.resolve(&reference)?);
        };
        self.fill(&disk, &manifest, watch)?;
        Ok(self.store.adopt_partial(&disk, digest, &manifest.origin)?)
    }

    /// Fetches the chunks that the disk lacks.
    fn fill(
        &self,
        disk: &PartialDisk,
        manifest: &ImageManifest,
        watch: TransferWatch<'_>,
    ) -> Result<(), ImageStorageError> {
        let (mut missing, mut needed, mut total) = (Vec::new(), 0, 0);
        for (index, chunk) in manifest.chunks.iter().enumerate() {
            let Some(chunk) = chunk else { continue };
            let range = manifest.range(index);
            total += range.1;
            if !disk.has_chunk(range, chunk.digest())? {
                needed += range.1;
                missing.push((range, chunk));
            }
        }
        self.store.check_room(needed, self.settings.keep_free)?;
        let done = AtomicU64::new(total - needed);
        watch(TransferProgress {
            done: total - needed,
            total,
        });
        for_each(missing.len(), |index| {
            let (range, name) = missing[index];
            let chunk = self.chunk(name, range.1)?;
            disk.write(range.0, &chunk)?;
            let done = done.fetch_add(range.1, Ordering::Relaxed) + range.1;
            watch(TransferProgress { done, total });
            Ok(())
        })
    }

    /// A chunk, compared with its digest.
    pub(super) fn chunk(
        &self,
        name: &StoredName,
        length: u64,
    ) -> Result<Vec<u8>, ImageStorageError> {
        self.stored_chunk(name, length).map(|(_, chunk)| chunk)
    }

    /// The same, as it is stored and as it is.
    pub(super) fn stored_chunk(
        &self,
        name: &StoredName,
        length: u64,
    ) -> Result<(Bytes, Vec<u8>), ImageStorageError> {
        let key = chunk_key(name);
        // What zstd cannot make smaller gets a few bytes longer.
        let stored = self.objects.get_bytes(&key, length + length / 128 + 1024)?;
        let chunk = decompressed(&stored, length, name.digest());
        let chunk = chunk.ok_or_else(|| {
            self.damaged(&key, "its content has another BLAKE3 digest".to_owned())
        })?;
        Ok((stored, chunk))
    }
}
