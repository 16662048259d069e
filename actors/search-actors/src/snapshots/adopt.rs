//! Taking over: an indexer whose folder is not what was published last goes on from what was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use search_core::snapshots::{DescribedFile, FileKind, PartManifest};
use search_engine::index::{INDEX_FORMAT, complete_published};

use super::cache::SnapshotCache;
use super::error::SnapshotError;
use super::unit::Unit;
use crate::concepts::is_embeddings;

/// The folders of a source on this machine.
#[derive(Debug, Clone)]
pub(crate) struct SourceFolders {
    /// Its index.
    pub(crate) index: PathBuf,
    /// What was learnt.
    pub(crate) concepts: PathBuf,
    /// Names the manifest that the index was published with.
    pub(crate) marker: PathBuf,
    /// What of it was published, or fetched.
    pub(crate) published: PathBuf,
}

impl SourceFolders {
    /// The file that names what the index of a source in `data` was published with.
    pub(crate) fn marker_in(data: &Path, source: &str) -> PathBuf {
        data.join(format!("{source}.published"))
    }

    /// [`SourceFolders::is_of`] of a source in `data`.
    pub(super) fn marks(data: &Path, source: &str, object: &str) -> bool {
        let marker = Self::marker_in(data, source);
        fs::read_to_string(marker).is_ok_and(|known| known == object)
    }

    /// Whether the index here is the one that was published as `object`, or has gone on from it.
    pub(super) fn is_of(&self, object: &str) -> bool {
        fs::read_to_string(&self.marker).is_ok_and(|known| known == object)
    }

    /// Notes what the index here was published as.
    pub(super) fn mark(&self, object: &str) -> Result<(), SnapshotError> {
        fs::write(&self.marker, object).map_err(SnapshotError::file(&self.marker))
    }
}

/// Makes the index of a source that which was published.
pub(super) fn adopt(
    unit: &Unit,
    manifest: &PartManifest,
    cache: &SnapshotCache,
    folders: &SourceFolders,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<(), SnapshotError> {
    if manifest.index_format != INDEX_FORMAT {
        return Err(SnapshotError::IndexFormat(manifest.index_format));
    }
    let wanted = |file: &&DescribedFile| file.kind != FileKind::Texts;
    let files: Vec<_> = manifest.files.iter().filter(wanted).collect();
    let fetched: Vec<_> = files.iter().map(|file| (unit, *file)).collect();
    cache.fetch(&fetched, &|_| {}, is_cancelled)?;
    let _ = fs::remove_file(&folders.marker);
    for folder in [&folders.index, &folders.concepts] {
        recreate_folder(folder).map_err(SnapshotError::file(folder))?;
    }
    for file in files {
        match file.kind {
            FileKind::Index => cache.link(file, &folders.index)?,
            _ if is_embeddings(&file.name) => cache.link(file, &folders.concepts)?,
            // It goes on in these.
            _ => {
                let to = folders.concepts.join(&file.name);
                fs::copy(cache.path(&file.digest), &to).map_err(SnapshotError::file(&to))?;
            }
        }
    }
    complete_published(&folders.index, &manifest.segments)
        .map_err(SnapshotError::file(&folders.index))
}

/// A folder with nothing in it.
pub(super) fn recreate_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(folder)
}
