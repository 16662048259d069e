//! Images as they come: an OCI layout, or what `docker save` and `podman save` write, as a folder
//! or as an archive.

use std::fs::{self, File};
use std::io::{BufReader, Read, Seek as _};
use std::path::{Path, PathBuf};

use runner_core::container::oci::{self, LayerCompression, OciDocument, OciError};
use runner_core::container::{ImageReference, stored::digest_of};

use super::error::ImageStoreError;

/// An image whose layers can be read.
pub(super) struct SourceImage {
    /// The digest that it has where it comes from.
    pub(super) digest: String,
    /// Its configuration.
    pub(super) config: Vec<u8>,
    /// Its layers, the lowest first.
    pub(super) layers: Vec<SourceLayer>,
}

/// A layer that can be read.
pub(super) struct SourceLayer {
    pub(super) path: PathBuf,
    /// The digest of the file; a saved image names none.
    pub(super) digest: Option<String>,
    pub(super) packing: LayerCompression,
}

impl SourceLayer {
    /// The layer unpacked.
    pub(super) fn open(&self) -> Result<Box<dyn Read>, ImageStoreError> {
        let file = File::open(&self.path).map_err(ImageStoreError::io(&self.path))?;
        let file = BufReader::with_capacity(1 << 20, file);
        Ok(match self.packing {
            LayerCompression::Plain => Box::new(file),
            LayerCompression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            LayerCompression::Zstd => {
                let decoder = zstd::Decoder::with_buffer(file);
                Box::new(decoder.map_err(ImageStoreError::io(&self.path))?)
            }
        })
    }
}

/// The folder of an image: itself, or what an archive holds, unpacked below `scratch`.
pub(super) fn folder_of(path: &Path, scratch: &Path) -> Result<PathBuf, ImageStoreError> {
    let wrong = ImageStoreError::io;
    if fs::metadata(path).map_err(wrong(path))?.is_dir() {
        return Ok(path.to_owned());
    }
    let mut file = File::open(path).map_err(wrong(path))?;
    let mut magic = [0; 2];
    let packed = file.read_exact(&mut magic).is_ok() && magic == [0x1f, 0x8b];
    file.rewind().map_err(wrong(path))?;
    let file = BufReader::with_capacity(1 << 20, file);
    let reader: Box<dyn Read> = if packed {
        Box::new(flate2::bufread::MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let folder = scratch.join("archive");
    fs::create_dir(&folder).map_err(wrong(&folder))?;
    let mut archive = tar::Archive::new(reader);
    archive.unpack(&folder).map_err(wrong(path))?;
    Ok(folder)
}

/// Reads what a folder holds for this reference.
pub(super) fn read(
    folder: &Path,
    reference: &ImageReference,
) -> Result<SourceImage, ImageStoreError> {
    if folder.join("index.json").is_file() {
        return of_layout(folder, reference);
    }
    if folder.join("manifest.json").is_file() {
        return of_saved(folder);
    }
    let text = "it is neither an OCI layout (index.json) nor what `docker save` writes";
    Err(ImageStoreError::image(folder)(OciError(text.to_owned())))
}

fn of_layout(folder: &Path, reference: &ImageReference) -> Result<SourceImage, ImageStoreError> {
    let wrong = ImageStoreError::image;
    let names = [
        reference.local_name(),
        reference.familiar(),
        reference.version().to_owned(),
    ];
    let mut bytes = small(&folder.join("index.json"))?;
    let mut digests: Vec<String> = Vec::new();
    // An index may name another one, for each kind of machine.
    for _ in 0..4 {
        match oci::document(&bytes).map_err(wrong(folder))? {
            OciDocument::Index(manifests) => {
                let one = oci::choose(&manifests, &names).map_err(wrong(folder))?;
                bytes = checked(folder, &one.digest)?;
                digests.push(one.digest.clone());
            }
            OciDocument::Manifest(manifest) => {
                let digest = match reference.digest() {
                    None => digests.first().cloned(),
                    Some(pinned) => digests.iter().find(|it| *it == pinned).cloned(),
                };
                let digest = digest.ok_or_else(|| ImageStoreError::Digest {
                    what: reference.familiar(),
                    wanted: reference.digest().unwrap_or_default().to_owned(),
                    found: digests.join(", "),
                })?;
                let mut layers = Vec::new();
                for layer in &manifest.layers {
                    layers.push(SourceLayer {
                        path: blob(folder, &layer.digest),
                        digest: Some(layer.digest.clone()),
                        packing: oci::packing(&layer.media_type).map_err(wrong(folder))?,
                    });
                }
                return Ok(SourceImage {
                    digest,
                    config: checked(folder, &manifest.config.digest)?,
                    layers,
                });
            }
        }
    }
    let text = "its indexes lead to no image".to_owned();
    Err(wrong(folder)(OciError(text)))
}

fn of_saved(folder: &Path) -> Result<SourceImage, ImageStoreError> {
    let wrong = ImageStoreError::image;
    let saved = oci::saved(&small(&folder.join("manifest.json"))?).map_err(wrong(folder))?;
    let config = small(&folder.join(&saved.config))?;
    let layers = saved.layers.iter().map(|layer| SourceLayer {
        path: folder.join(layer),
        digest: None,
        packing: LayerCompression::Plain,
    });
    Ok(SourceImage {
        digest: digest_of(&config),
        layers: layers.collect(),
        config,
    })
}

/// The file of a digest, which is one: documents are read with their digests checked.
pub(super) fn blob(folder: &Path, digest: &str) -> PathBuf {
    let digits = digest.strip_prefix("sha256:").unwrap_or_default();
    folder.join("blobs/sha256").join(digits)
}

/// A document, if it is what its digest says.
fn checked(folder: &Path, digest: &str) -> Result<Vec<u8>, ImageStoreError> {
    let bytes = small(&blob(folder, digest))?;
    let found = digest_of(&bytes);
    if found == digest {
        return Ok(bytes);
    }
    Err(ImageStoreError::Digest {
        what: "a document of the image".to_owned(),
        wanted: digest.to_owned(),
        found,
    })
}

fn small(path: &Path) -> Result<Vec<u8>, ImageStoreError> {
    let wrong = ImageStoreError::io;
    let file = File::open(path).map_err(wrong(path))?;
    let mut bytes = Vec::new();
    let limit = oci::MAX_DOCUMENT as u64 + 1;
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(wrong(path))?;
    Ok(bytes)
}
