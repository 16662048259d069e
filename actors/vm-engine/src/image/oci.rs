//! Importing an OCI image layout, as `skopeo copy docker://… oci:FOLDER` or `docker buildx` make
//! it: its layers are put on top of each other in a folder, and the folder becomes a disk. The
//! workflow runner has shapes of the same documents: products do not see each other.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use tar::Archive;
use vm_core::ImageRef;

use super::{Image, ImageError, ImageStore, files};
use crate::event::OnProgress;

/// Most layers, and largest manifest in bytes: what real images are far below.
const MAX_LAYERS: usize = 200;
const MAX_JSON: u64 = 4 << 20;
/// Most bytes of all layers together, unpacked.
const MAX_BYTES: u64 = 32 << 30;

/// A reference to a blob.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    #[serde(default)]
    platform: Option<Platform>,
}

#[derive(Clone, Debug, Deserialize)]
struct Platform {
    architecture: String,
    os: String,
}

#[derive(Debug, Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
struct Manifest {
    layers: Vec<Descriptor>,
}

impl ImageStore {
    /// Makes an image of the OCI layout in a folder. Owners and devices are kept only as root, so
    /// nobody else may do it.
    ///
    /// # Errors
    /// [`ImageError`]; nothing is stored then.
    pub fn import_oci(
        &self,
        layout: &Path,
        name: &ImageRef,
        progress: OnProgress<'_>,
    ) -> Result<Arc<Image>, ImageError> {
        let layout = Layout(layout);
        if !rustix::process::geteuid().is_root() {
            return Err(layout.error("only root can give its files their owners".to_owned()));
        }
        let layers = layout.layers()?;
        let work = self.scratch()?;
        let root = work.0.join("root");
        fs::create_dir(&root).map_err(files("making", &root))?;
        let mut left = MAX_BYTES;
        for (number, layer) in layers.iter().enumerate() {
            progress(&format!(
                "unpacking layer {} of {}",
                number + 1,
                layers.len()
            ));
            let reader = layout.open_layer(layer)?;
            apply(&root, reader, &mut left)
                .map_err(|error| layout.error(format!("layer {}: {error}", layer.digest)))?;
        }
        fs::create_dir_all(root.join("workspace"))
            .map_err(files("making a workspace in", &root))?;
        progress("making the disk");
        self.adopt_folder(
            &root,
            name,
            &format!("imported from the OCI layout {}", layout.0.display()),
        )
    }
}

/// The folder of a layout.
struct Layout<'a>(&'a Path);

impl Layout<'_> {
    fn error(&self, why: String) -> ImageError {
        ImageError::Oci {
            path: self.0.to_path_buf(),
            why,
        }
    }

    /// The layers for this kind of machine, lowest first.
    fn layers(&self) -> Result<Vec<Descriptor>, ImageError> {
        let mut index: Index = self.json(&self.0.join("index.json"))?;
        // An index may name another index, one for each platform.
        for _ in 0..3 {
            let fits = |manifest: &&Descriptor| {
                manifest.platform.as_ref().is_none_or(|platform| {
                    platform.architecture == "amd64" && platform.os == "linux"
                })
            };
            let Some(manifest) = index.manifests.iter().find(fits) else {
                return Err(self.error("it holds no image for linux on amd64".to_owned()));
            };
            let path = self.blob(&manifest.digest)?;
            if manifest.media_type.contains("index")
                || manifest.media_type.contains("manifest.list")
            {
                index = self.json(&path)?;
                continue;
            }
            let manifest: Manifest = self.json(&path)?;
            if manifest.layers.is_empty() || manifest.layers.len() > MAX_LAYERS {
                return Err(self.error(format!("it has {} layers", manifest.layers.len())));
            }
            return Ok(manifest.layers);
        }
        Err(self.error("its indexes lead to no image".to_owned()))
    }

    fn json<T: serde::de::DeserializeOwned>(&self, path: &Path) -> Result<T, ImageError> {
        let file = File::open(path).map_err(files("opening", path))?;
        serde_json::from_reader(file.take(MAX_JSON))
            .map_err(|error| self.error(format!("{}: {error}", path.display())))
    }

    /// The file of a digest; what is no digest cannot lead out of the layout.
    fn blob(&self, digest: &str) -> Result<PathBuf, ImageError> {
        match digest.split_once(':') {
            Some((kind @ ("sha256" | "sha512"), hex))
                if hex.len() >= 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
            {
                Ok(self.0.join("blobs").join(kind).join(hex))
            }
            _ => Err(self.error(format!("{digest:?} is no digest"))),
        }
    }

    fn open_layer(&self, layer: &Descriptor) -> Result<Box<dyn Read>, ImageError> {
        let path = self.blob(&layer.digest)?;
        let file = io::BufReader::with_capacity(
            1 << 20,
            File::open(&path).map_err(files("opening", &path))?,
        );
        match layer
            .media_type
            .rsplit_once(['.', '+'])
            .map_or("", |(_, packing)| packing)
        {
            "tar" => Ok(Box::new(file)),
            "gzip" => Ok(Box::new(flate2::bufread::MultiGzDecoder::new(file))),
            "zstd" => {
                let decoder = zstd::Decoder::with_buffer(file);
                Ok(Box::new(decoder.map_err(files("reading", &path))?))
            }
            _ => Err(self.error(format!(
                "layers of type {} cannot be read: gzip, zstd and plain tar can",
                layer.media_type
            ))),
        }
    }
}

/// Puts a layer on top of what is in `root`.
fn apply(root: &Path, layer: impl Read, left: &mut u64) -> io::Result<()> {
    let mut archive = Archive::new(layer);
    archive.set_preserve_permissions(true);
    archive.set_preserve_ownerships(rustix::process::geteuid().is_root());
    archive.set_overwrite(true);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = inner(&entry.path()?)?;
        *left = left
            .checked_sub(entry.size())
            .ok_or_else(|| io::Error::other("it is too large"))?;
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        let parent = path.parent().unwrap_or(Path::new(""));
        if name == ".wh..wh..opq" {
            empty(&resolve(root, parent)?)?;
        } else if let Some(hidden) = name.strip_prefix(".wh.") {
            remove(&resolve(root, parent)?.join(hidden))?;
        } else if !entry.header().entry_type().is_character_special()
            && !entry.header().entry_type().is_block_special()
        {
            // A folder that a lower layer had as a file, or the other way round, is replaced.
            let target = resolve(root, parent)?.join(&name);
            let is_folder = entry.header().entry_type().is_dir();
            if !name.is_empty()
                && fs::symlink_metadata(&target).is_ok_and(|old| !(old.is_dir() && is_folder))
            {
                remove(&target)?;
            }
            // `unpack_in` itself refuses what would be written through a link to somewhere else.
            if !entry.unpack_in(root)? {
                return Err(io::Error::other(format!(
                    "{} would leave its folder",
                    path.display()
                )));
            }
        }
    }
    Ok(())
}

/// The path, if it stays inside.
fn inner(path: &Path) -> io::Result<PathBuf> {
    let mut inner = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => inner.push(part),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(io::Error::other(format!(
                    "{} would leave its folder",
                    path.display()
                )));
            }
        }
    }
    Ok(inner)
}

/// The real folder behind a path in `root`, which must not lead out of it by links.
fn resolve(root: &Path, folder: &Path) -> io::Result<PathBuf> {
    let root = root.canonicalize()?;
    match root.join(folder).canonicalize() {
        Ok(real) if real.starts_with(&root) => Ok(real),
        Ok(_) => Err(io::Error::other(format!(
            "{} leads out of its folder",
            folder.display()
        ))),
        // Not there yet: nothing in it can be hidden or replaced.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(root.join(folder)),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn empty(folder: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        remove(&entry?.path())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
