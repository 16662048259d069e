//! The store of images of containers, on disk: configurations, layers, and the lock. Blocking.
//!
//! ```text
//! images add ──layout, archive, registry──▶ digests checked ──▶ blobs/sha256/<digest> ──▶ lock.json
//!                                                                  │
//!                     plan, job ◀── seed of a machine's engine ────┘
//! ```
//!
//! A VM fetches no image: it gets the layers of those that its job names.

mod error;
mod layers;
mod pull;
mod seed;
mod source;
mod tar_split;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use runner_core::container::ImageReference;
use runner_core::container::how_to_add_image;
use runner_core::container::lock::{ImageLock, LockedImage};
use runner_core::container::oci::{self, OciError};
use runner_core::container::stored::{StoredImage, StoredLayer, TarSplit, digest_of};
use sha2::{Digest as _, Sha256};

pub use error::ImageStoreError;

use crate::settings::ImageSettings;

/// The store; clones are the same.
#[derive(Clone, Debug)]
pub struct ContainerImageStore {
    settings: ImageSettings,
}

/// What adding an image did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedImage {
    /// What is in the store now.
    pub image: LockedImage,
    /// What the name was locked to before.
    pub former: Option<LockedImage>,
}

impl ContainerImageStore {
    /// As the settings say; nothing is written before something is added.
    #[must_use]
    pub fn new(settings: &ImageSettings) -> Self {
        Self {
            settings: settings.clone(),
        }
    }

    /// The lock as it is now; without a file nothing is locked.
    ///
    /// # Errors
    /// When the file cannot be read or is no lock.
    pub fn lock(&self) -> Result<ImageLock, ImageStoreError> {
        let path = self.lock_path();
        match fs::read(&path) {
            Ok(bytes) => Ok(ImageLock::parse(&bytes)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ImageLock::default()),
            Err(error) => Err(ImageStoreError::io(&path)(error)),
        }
    }

    /// Adds the image of an OCI layout, or of what `docker save` wrote, as a folder or an archive.
    ///
    /// # Errors
    /// When it is no image for this kind of machine, or not what its digests say.
    pub fn add_from(
        &self,
        reference: &ImageReference,
        from: &Path,
    ) -> Result<AddedImage, ImageStoreError> {
        let shown = from.canonicalize().map_err(ImageStoreError::io(from))?;
        self.import(reference, from, &shown.display().to_string())
    }

    pub(crate) fn import(
        &self,
        reference: &ImageReference,
        from: &Path,
        shown: &str,
    ) -> Result<AddedImage, ImageStoreError> {
        let _writing = self.acquire_lock()?;
        let scratch = ScratchFolder::new(&self.settings.folder)?;
        let folder = source::folder_of(from, &scratch.0)?;
        let found = source::read(&folder, reference)?;
        let mut lock = self.lock()?;
        // The same image under another name, if it is still whole.
        let is_it = |image: &LockedImage| {
            image.digest == found.digest
                && self.can_be_pushed(image)
                && self.verify_one(image).is_ok()
        };
        let kept = lock.entries().find(|(_, image)| is_it(image));
        let locked = match kept.map(|(_, image)| image.clone()) {
            Some(image) => LockedImage {
                source: shown.to_owned(),
                ..image
            },
            None => self.keep_image(&scratch, &folder, &found, shown)?,
        };
        let former = lock.set(reference, locked.clone());
        self.write_lock(&lock)?;
        Ok(AddedImage {
            image: locked,
            former,
        })
    }

    /// Keeps what an image consists of, when it is what its digests say.
    fn keep_image(
        &self,
        scratch: &ScratchFolder,
        folder: &Path,
        found: &source::SourceImage,
        shown: &str,
    ) -> Result<LockedImage, ImageStoreError> {
        let wrong = ImageStoreError::image(folder);
        let ids = oci::diff_ids(&found.config, found.layers.len()).map_err(wrong)?;
        let mut lower = BTreeSet::new();
        let mut image = StoredImage {
            config: self.keep(scratch, &found.config)?,
            layers: Vec::new(),
        };
        for (layer, diff_id) in found.layers.iter().zip(&ids) {
            let stored = self.keep_layer(scratch, layer, diff_id, &mut lower)?;
            image.layers.push(stored);
        }
        let manifest = serde_json::to_vec(&image).expect("texts and numbers are JSON");
        Ok(LockedImage {
            source: shown.to_owned(),
            digest: found.digest.clone(),
            manifest: self.keep(scratch, &manifest)?,
            bytes: image.layers.iter().map(|layer| layer.bytes).sum(),
        })
    }

    /// Forgets a name, and what no other name needs.
    ///
    /// # Errors
    /// When there is no such name, or the store cannot be written.
    pub fn remove(&self, reference: &ImageReference) -> Result<(), ImageStoreError> {
        let _writing = self.acquire_lock()?;
        let mut lock = self.lock()?;
        if lock.remove(reference).is_none() {
            return Err(ImageStoreError::Unknown(reference.familiar()));
        }
        self.write_lock(&lock)?;
        let mut needed = BTreeSet::new();
        for (_, image) in lock.entries() {
            needed.insert(image.manifest.clone());
            let stored = self.stored(image)?;
            needed.extend(stored.layers.iter().flat_map(StoredLayer::blobs).cloned());
            needed.insert(stored.config);
        }
        let blobs = self.settings.folder.join("blobs/sha256");
        for entry in fs::read_dir(&blobs).into_iter().flatten().flatten() {
            let digest = format!("sha256:{}", entry.file_name().to_string_lossy());
            if !needed.contains(&digest) {
                let path = entry.path();
                fs::remove_file(&path).map_err(ImageStoreError::io(&path))?;
            }
        }
        Ok(())
    }

    /// Computes every digest anew: each name, and what is wrong with it.
    ///
    /// # Errors
    /// When the lock cannot be read.
    pub fn verify(&self) -> Result<Vec<(String, Option<String>)>, ImageStoreError> {
        let lock = self.lock()?;
        let verified = lock.entries().map(|(name, image)| {
            let fault = self.verify_one(image).err();
            (name.to_owned(), fault.map(|fault| fault.to_string()))
        });
        Ok(verified.collect())
    }

    fn verify_one(&self, image: &LockedImage) -> Result<(), ImageStoreError> {
        let stored = self.stored(image)?;
        let layers = stored.layers.iter().flat_map(StoredLayer::blobs);
        for digest in layers.chain([&stored.config]) {
            self.check_blob(digest)?;
        }
        Ok(())
    }

    /// Whether a machine can save and push what it builds on an image: not on one that was added
    /// before its layers' tars were described.
    fn can_be_pushed(&self, image: &LockedImage) -> bool {
        let stored = self.stored(image);
        stored.is_ok_and(|stored| stored.layers.iter().all(|layer| layer.split.is_some()))
    }

    /// What a reference is locked to.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do, for people.
    pub fn find(&self, reference: &ImageReference) -> Result<LockedImage, String> {
        let lock = self.lock().map_err(|error| error.to_string())?;
        let found = lock.get(reference).cloned();
        found.ok_or_else(|| how_to_add_image(reference))
    }

    /// Whether a container can be made of this: it is in the store, or its registry is allowed.
    ///
    /// # Errors
    /// Why it cannot, and what to do, for people.
    pub fn admits(&self, reference: &ImageReference) -> Result<(), String> {
        if self.allows(reference) {
            return Ok(());
        }
        self.find(reference).map(|_| ())
    }

    /// Whether images of its registry are fetched when a job needs them.
    #[must_use]
    pub fn allows(&self, reference: &ImageReference) -> bool {
        let registries = self.settings.registries.iter();
        let name = format!("{}/{}", reference.registry(), reference.repository());
        registries
            .map(|allowed| allowed.trim_end_matches('/'))
            .any(|allowed| {
                let below = name.strip_prefix(allowed);
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }

    /// The description of a locked image, if it is what the lock says.
    fn stored(&self, image: &LockedImage) -> Result<StoredImage, ImageStoreError> {
        let path = self.blob(&image.manifest);
        let bytes = fs::read(&path).map_err(ImageStoreError::io(&path))?;
        check_digest(&digest_of(&bytes), &image.manifest)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| ImageStoreError::image(&path)(OciError(error.to_string())))
    }

    fn check_blob(&self, digest: &str) -> Result<(), ImageStoreError> {
        let path = self.blob(digest);
        let wrong = ImageStoreError::io;
        let mut file = File::open(&path).map_err(wrong(&path))?;
        let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            match file.read(&mut buffer).map_err(wrong(&path))? {
                0 => break,
                count => hasher.update(&buffer[..count]),
            }
        }
        check_digest(
            &format!("sha256:{}", hex::encode(hasher.finalize())),
            digest,
        )
    }

    /// Keeps a layer, when it is what the image's configuration says.
    fn keep_layer(
        &self,
        scratch: &ScratchFolder,
        layer: &source::SourceLayer,
        diff_id: &str,
        lower: &mut BTreeSet<String>,
    ) -> Result<StoredLayer, ImageStoreError> {
        let new = scratch.0.join("layer");
        let wrong = ImageStoreError::io;
        // A plain layer has one digest, which is computed below.
        if let Some(digest) = layer.digest.as_ref().filter(|it| *it != diff_id) {
            check_file(&layer.path, digest)?;
        }
        let mut out = DigestingWriter::create(&new)?;
        let converted = layers::convert(layer.open()?, &mut out, lower);
        let converted = converted.map_err(wrong(&layer.path))?;
        if converted.diff_id != diff_id {
            return Err(ImageStoreError::Digest {
                what: format!("the layer {}", layer.path.display()),
                wanted: diff_id.to_owned(),
                found: converted.diff_id,
            });
        }
        out.flush().map_err(wrong(&new))?;
        let tar = out.digest();
        self.place(&new, &tar)?;
        let file = DigestingWriter::create(&new)?;
        let split = tar_split::write(layer.open()?, &converted.twice, file);
        let mut split = split.map_err(wrong(&layer.path))?;
        split.flush().map_err(wrong(&new))?;
        let digest = split.digest();
        self.place(&new, &digest)?;
        Ok(StoredLayer {
            diff_id: diff_id.to_owned(),
            tar,
            bytes: out.bytes,
            hidden: converted.hidden,
            split: Some(TarSplit {
                digest,
                bytes: converted.bytes,
            }),
        })
    }

    /// Keeps some bytes; their digest.
    fn keep(&self, scratch: &ScratchFolder, bytes: &[u8]) -> Result<String, ImageStoreError> {
        let (new, digest) = (scratch.0.join("blob"), digest_of(bytes));
        fs::write(&new, bytes).map_err(ImageStoreError::io(&new))?;
        self.place(&new, &digest)?;
        Ok(digest)
    }

    fn place(&self, new: &Path, digest: &str) -> Result<(), ImageStoreError> {
        let path = self.blob(digest);
        File::open(new)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(new, &path))
            .map_err(ImageStoreError::io(&path))
    }

    fn blob(&self, digest: &str) -> PathBuf {
        source::blob(&self.settings.folder, digest)
    }

    fn lock_path(&self) -> PathBuf {
        self.settings.folder.join("lock.json")
    }

    /// Makes the folders, for their user only.
    fn make_folders(&self) -> Result<(), ImageStoreError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let folder = self.settings.folder.join("blobs/sha256");
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&folder);
        made.map_err(ImageStoreError::io(&folder))
    }

    /// Waits for another program that changes the store.
    fn acquire_lock(&self) -> Result<File, ImageStoreError> {
        self.make_folders()?;
        let path = self.settings.folder.join("writing");
        let opened = File::create(&path).and_then(|file| file.lock().map(|()| file));
        opened.map_err(ImageStoreError::io(&path))
    }

    /// Replaces the lock in one step: a reader sees the old one or the new one.
    fn write_lock(&self, lock: &ImageLock) -> Result<(), ImageStoreError> {
        let path = self.lock_path();
        let text = lock.to_text();
        let written = store::replace_file(&path, None, |file| file.write_all(text.as_bytes()));
        written.map_err(ImageStoreError::io(&path))
    }
}

fn check_digest(found: &str, wanted: &str) -> Result<(), ImageStoreError> {
    if found == wanted {
        return Ok(());
    }
    Err(ImageStoreError::Digest {
        what: "a file of the store of images".to_owned(),
        wanted: wanted.to_owned(),
        found: found.to_owned(),
    })
}

fn check_file(path: &Path, digest: &str) -> Result<(), ImageStoreError> {
    let wrong = ImageStoreError::io;
    let mut out = DigestingWriter {
        inner: std::io::sink(),
        hasher: Sha256::new(),
        bytes: 0,
    };
    let mut file = File::open(path).map_err(wrong(path))?;
    std::io::copy(&mut file, &mut out).map_err(wrong(path))?;
    let found = out.digest();
    if found == digest {
        return Ok(());
    }
    Err(ImageStoreError::Digest {
        what: path.display().to_string(),
        wanted: digest.to_owned(),
        found,
    })
}

/// Writes, digests and counts.
struct DigestingWriter<W> {
    inner: W,
    hasher: Sha256,
    bytes: u64,
}

impl DigestingWriter<BufWriter<File>> {
    fn create(path: &Path) -> Result<Self, ImageStoreError> {
        let file = File::create(path).map_err(ImageStoreError::io(path))?;
        Ok(Self {
            inner: BufWriter::with_capacity(1 << 20, file),
            hasher: Sha256::new(),
            bytes: 0,
        })
    }
}

impl<W> DigestingWriter<W> {
    /// The digest of what was written so far.
    fn digest(&self) -> String {
        format!("sha256:{}", hex::encode(self.hasher.clone().finalize()))
    }
}

impl<W: Write> Write for DigestingWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.hasher.update(&buffer[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// A folder that is removed again.
pub(crate) struct ScratchFolder(pub(crate) PathBuf);

impl ScratchFolder {
    pub(crate) fn new(folder: &Path) -> Result<Self, ImageStoreError> {
        let path = folder.join(format!("new-{}", uuid::Uuid::new_v4()));
        fs::create_dir_all(&path).map_err(ImageStoreError::io(&path))?;
        Ok(Self(path))
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
