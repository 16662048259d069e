//! From this host to the storage.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use supervision::unix_ms;
use vm_core::image_index::{ImageIndex, IndexedImage};
use vm_core::image_manifest::{CHUNK_BYTES, ImageManifest};
use vm_core::{ImageRef, StoredName};
use vm_engine::image::{DiskFile, compressed};

use http_clients::objects::for_each;

use super::{
    ImageStorage, ImageStorageError, TransferProgress, TransferWatch, chunk_key, manifest_key,
    new_name,
};

/// What a push is to do.
#[derive(Debug, Clone, Copy, Default)]
pub struct PushOptions {
    /// All of it is sent, whatever is there: something of it is damaged.
    pub again: bool,
}

/// What was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedImage {
    /// The image's digest.
    pub digest: String,
    /// Chunks that were sent.
    pub sent_chunks: usize,
    /// Their bytes, compressed.
    pub sent_bytes: u64,
    /// Chunks that the storage had.
    pub known_chunks: usize,
}

/// What one round sends.
#[derive(Default)]
pub(super) struct PushProgress {
    pub(super) chunks: AtomicUsize,
    pub(super) bytes: AtomicU64,
    pub(super) known: AtomicUsize,
    done: AtomicU64,
    /// Bytes of the disk without its holes.
    content: AtomicU64,
}

impl ImageStorage {
    /// Stores an image of this host, and has its name mean it there: chunks first, the manifest
    /// when they are there, the index last. What a push that was ended had sent is not sent again.
    ///
    /// # Errors
    /// [`ImageStorageError`]; the storage shows nothing of the image then.
    pub fn push(
        &self,
        image: &ImageRef,
        options: PushOptions,
        watch: TransferWatch<'_>,
    ) -> Result<PushedImage, ImageStorageError> {
        let digest = self.store.resolve(image)?.digest.clone();
        let named = image.digest().is_none().then(|| image.as_str().to_owned());
        let names: Vec<String> = named.into_iter().collect();
        let mut pushed = PushedImage {
            digest: digest.clone(),
            sent_chunks: 0,
            sent_bytes: 0,
            known_chunks: 0,
        };
        let index = self.index()?;
        if index.images.contains_key(&digest) && !options.again {
            // Gone again meanwhile, it is sent.
            let named = self.change_index(|index| {
                let is_there = index.images.contains_key(&digest);
                Ok(is_there.then(|| point(index, &names, &digest)))
            })?;
            if named.is_some() {
                return Ok(pushed);
            }
        }
        let disk = self.store.open_disk(&digest)?;
        loop {
            // Read before the chunks are listed: what is condemned after that changes it.
            let index = self.index()?;
            let known = match options.again {
                true => HashMap::new(),
                false => self.usable_chunks(&index)?,
            };
            let sending = PushProgress::default();
            let chunks = self.send_chunks(&disk, known, &sending, watch)?;
            pushed.sent_chunks += sending.chunks.into_inner();
            pushed.sent_bytes += sending.bytes.into_inner();
            pushed.known_chunks = sending.known.into_inner();
            let content = sending.content.into_inner();
            let origin = disk.origin().to_owned();
            let manifest = ImageManifest::new(digest.clone(), disk.bytes(), origin, chunks);
            let entry = self.put_manifest(&manifest, content)?;
            let committed = self.change_index(|next| {
                if next.collections != index.collections {
                    return Ok(None);
                }
                next.images.insert(digest.clone(), entry.clone());
                point(next, &names, &digest);
                Ok(Some(()))
            })?;
            if committed.is_some() {
                return Ok(pushed);
            }
            // A sweep may have taken some of the chunks: look again.
        }
    }

    /// The chunks of a disk, with those sent that the storage does not have.
    fn send_chunks(
        &self,
        disk: &DiskFile,
        known: HashMap<String, StoredName>,
        sending: &PushProgress,
        watch: TransferWatch<'_>,
    ) -> Result<Vec<Option<StoredName>>, ImageStorageError> {
        let count = usize::try_from(disk.bytes().div_ceil(CHUNK_BYTES)).unwrap_or(usize::MAX);
        let (known, chunks) = (Mutex::new(known), Mutex::new(vec![None; count]));
        for_each::<ImageStorageError>(count, |index| {
            let chunk = disk.chunk(CHUNK_BYTES, index)?;
            if let Some(chunk) = &chunk {
                chunks.lock()[index] = Some(self.send_chunk(chunk, &known, sending)?);
            }
            // Holes count as well: how much of it is one is not known before.
            let left = disk.bytes() - index as u64 * CHUNK_BYTES;
            let bytes = left.min(CHUNK_BYTES);
            let done = sending.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            let total = disk.bytes();
            watch(TransferProgress { done, total });
            Ok(())
        })?;
        Ok(chunks.into_inner())
    }

    fn send_chunk(
        &self,
        chunk: &[u8],
        known: &Mutex<HashMap<String, StoredName>>,
        sending: &PushProgress,
    ) -> Result<StoredName, ImageStorageError> {
        let digest = blake3::hash(chunk).to_hex().to_string();
        let length = chunk.len() as u64;
        sending.content.fetch_add(length, Ordering::Relaxed);
        let name = {
            let mut known = known.lock();
            if let Some(name) = known.get(&digest) {
                sending.known.fetch_add(1, Ordering::Relaxed);
                return Ok(name.clone());
            }
            let name = new_name(&digest);
            // Whoever finds it may use it: without it there is no manifest.
            known.insert(digest, name.clone());
            name
        };
        let stored = compressed(chunk).map_err(ImageStorageError::Compress)?;
        let bytes = stored.len() as u64;
        self.objects.put_bytes(&chunk_key(&name), stored.into())?;
        sending.chunks.fetch_add(1, Ordering::Relaxed);
        sending.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(name)
    }

    /// Stores what an image of so many bytes without its holes consists of.
    pub(super) fn put_manifest(
        &self,
        manifest: &ImageManifest,
        bytes: u64,
    ) -> Result<IndexedImage, ImageStorageError> {
        let json = manifest.to_json();
        let name = new_name(blake3::hash(&json).to_hex().as_str());
        self.objects.put_bytes(&manifest_key(&name), json.into())?;
        Ok(IndexedImage {
            manifest: name,
            bytes,
            origin: manifest.origin.clone(),
            pushed_ms: unix_ms(),
        })
    }
}

/// Has the names mean the image.
pub(super) fn point(index: &mut ImageIndex, names: &[String], digest: &str) {
    for name in names {
        index.names.insert(name.clone(), digest.to_owned());
    }
}
