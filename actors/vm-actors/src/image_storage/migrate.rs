//! From one storage to another: what a push does, without the disk.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use http_clients::objects::{ObjectError, for_each};
use parking_lot::Mutex;
use vm_core::StoredName;
use vm_core::image_index::IndexedImage;
use vm_core::image_manifest::ImageManifest;

use super::push::{PushProgress, point};
use super::{
    ImageStorage, ImageStorageError, TransferProgress, TransferWatch, chunk_key, new_name,
};

/// What was copied to another storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MigratedImages {
    /// Images that the other storage has now.
    pub images: usize,
    /// Chunks that were copied and compared.
    pub sent_chunks: usize,
    /// Their bytes, compressed.
    pub sent_bytes: u64,
    /// Chunks that the other storage had.
    pub known_chunks: usize,
    /// Images that are damaged here, each with the reason.
    pub faults: Vec<String>,
}

/// How far all of it is.
struct MigrationProgress<'a> {
    done: AtomicU64,
    total: u64,
    watch: TransferWatch<'a>,
}

impl ImageStorage {
    /// Copies all images to another storage, each chunk compared, and has their names mean them
    /// there. Chunks that are there are compared, and not copied again; nothing is removed here.
    ///
    /// # Errors
    /// [`ImageStorageError`]; what was copied by then is not copied again. An image that is damaged
    /// here is no error, but one of the `faults`.
    pub fn migrate(
        &self,
        to: &Self,
        watch: TransferWatch<'_>,
    ) -> Result<MigratedImages, ImageStorageError> {
        let index = self.index()?;
        let total = index.images.values().map(|image| image.bytes).sum();
        let done = AtomicU64::new(0);
        let migrating = MigrationProgress { done, total, watch };
        let mut migrated = MigratedImages::default();
        for (digest, image) in &index.images {
            let names = index.names_of(digest);
            let sending = PushProgress::default();
            match self.migrate_image((digest, image, &names), to, &sending, &migrating) {
                Ok(()) => migrated.images += 1,
                Err(error) if self.is_damage_here(&error) => {
                    let fault = format!("{} blake3:{digest}: {error}", names.join(","));
                    migrated.faults.push(fault);
                }
                Err(error) => return Err(error),
            }
            migrated.sent_chunks += sending.chunks.into_inner();
            migrated.sent_bytes += sending.bytes.into_inner();
            migrated.known_chunks += sending.known.into_inner();
        }
        Ok(migrated)
    }

    fn migrate_image(
        &self,
        (digest, image, names): (&str, &IndexedImage, &[String]),
        to: &Self,
        sending: &PushProgress,
        migrating: &MigrationProgress<'_>,
    ) -> Result<(), ImageStorageError> {
        let known = to.change_index(|index| {
            let is_there = index.images.contains_key(digest);
            Ok(is_there.then(|| point(index, names, digest)))
        })?;
        if known.is_some() {
            migrating.advance(image.bytes);
            return Ok(());
        }
        let manifest = self.manifest(digest, &image.manifest)?;
        loop {
            // Read before the chunks are listed, as a push does.
            let index = to.index()?;
            let known = to.usable_chunks(&index)?;
            let chunks = self.migrate_chunks(&manifest, (to, known), sending, migrating)?;
            let (bytes, origin) = (manifest.bytes, manifest.origin.clone());
            let copied = ImageManifest::new(digest.to_owned(), bytes, origin, chunks);
            let entry = IndexedImage {
                pushed_ms: image.pushed_ms,
                ..to.put_manifest(&copied, image.bytes)?
            };
            let committed = to.change_index(|next| {
                if next.collections != index.collections {
                    return Ok(None);
                }
                next.images.insert(digest.to_owned(), entry.clone());
                point(next, names, digest);
                Ok(Some(()))
            })?;
            if committed.is_some() {
                return Ok(());
            }
        }
    }

    fn migrate_chunks(
        &self,
        manifest: &ImageManifest,
        (to, known): (&Self, HashMap<String, StoredName>),
        sending: &PushProgress,
        migrating: &MigrationProgress<'_>,
    ) -> Result<Vec<Option<StoredName>>, ImageStorageError> {
        let known = Mutex::new(known);
        let chunks = Mutex::new(vec![None; manifest.chunks.len()]);
        for_each::<ImageStorageError>(manifest.chunks.len(), |index| {
            let Some(name) = &manifest.chunks[index] else {
                return Ok(());
            };
            let length = manifest.range(index).1;
            let there = known.lock().get(name.digest()).cloned();
            let right = there.filter(|there| to.chunk(there, length).is_ok());
            let there = match right {
                Some(there) => {
                    sending.known.fetch_add(1, Ordering::Relaxed);
                    there
                }
                None => self.migrate_chunk((name, length), to, sending)?,
            };
            let digest = name.digest().to_owned();
            known.lock().insert(digest, there.clone());
            chunks.lock()[index] = Some(there);
            migrating.advance(length);
            Ok(())
        })?;
        Ok(chunks.into_inner())
    }

    fn migrate_chunk(
        &self,
        (name, length): (&StoredName, u64),
        to: &Self,
        sending: &PushProgress,
    ) -> Result<StoredName, ImageStorageError> {
        let stored = self.stored_chunk(name, length)?.0;
        let bytes = stored.len() as u64;
        let there = new_name(name.digest());
        to.objects.put_bytes(&chunk_key(&there), stored)?;
        to.chunk(&there, length)?;
        sending.chunks.fetch_add(1, Ordering::Relaxed);
        sending.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(there)
    }

    /// Whether something of an image is not as it was stored in this storage.
    fn is_damage_here(&self, error: &ImageStorageError) -> bool {
        match error {
            ImageStorageError::Damaged { place, .. } => place == self.place(),
            ImageStorageError::Objects(
                ObjectError::Missing { place, .. }
                | ObjectError::Damaged { place, .. }
                | ObjectError::TooLarge { place, .. },
            ) => place == self.place(),
            _ => false,
        }
    }
}

impl MigrationProgress<'_> {
    fn advance(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let total = self.total;
        (self.watch)(TransferProgress { done, total });
    }
}
