//! One searchable view of the snapshots of all parts of a source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use search_core::snapshots::{FileKind, PartManifest};
use search_engine::index::{INDEX_FORMAT, IndexSnapshot, complete_published, joined_segments};
use search_engine::packs::TextPack;
use search_engine::published_files::{PublishedFiles, SourcePlace};

use super::adopt::recreate_folder;
use super::cache::SnapshotCache;
use super::error::SnapshotError;
use crate::concepts::is_embeddings;

/// A view that was opened.
pub(super) struct OpenSnapshot {
    pub(super) snapshot: IndexSnapshot,
    pub(super) files: PublishedFiles,
    pub(super) packs: BTreeMap<String, Arc<TextPack>>,
}

/// Makes the fetched files of all parts one index, and opens it. `packs` are those that are open
/// already; with `with_texts` the others have been fetched.
pub(super) fn open_view(
    manifests: &[PartManifest],
    cache: &SnapshotCache,
    (folder, number): (&Path, u64),
    former: Option<&IndexSnapshot>,
    (packs, with_texts): (&BTreeMap<String, Arc<TextPack>>, bool),
) -> Result<OpenSnapshot, SnapshotError> {
    for manifest in manifests {
        if manifest.index_format != INDEX_FORMAT {
            return Err(SnapshotError::IndexFormat(manifest.index_format));
        }
    }
    recreate_folder(folder).map_err(SnapshotError::file(folder))?;
    for manifest in manifests {
        for file in manifest.files_of(FileKind::Index) {
            cache.link(file, folder)?;
        }
    }
    let lists = manifests.iter().map(|manifest| manifest.segments.as_str());
    let segments = joined_segments(lists).map_err(SnapshotError::Refused)?;
    complete_published(folder, &segments).map_err(SnapshotError::file(folder))?;
    let snapshot = IndexSnapshot::open_published(folder, number, former)?;
    check_statistics(manifests, &snapshot)?;
    let mut open = BTreeMap::new();
    let texts = manifests
        .iter()
        .flat_map(|one| one.files_of(FileKind::Texts));
    for file in texts.filter(|_| with_texts) {
        let pack = match packs.get(&file.digest) {
            Some(pack) => Arc::clone(pack),
            None => {
                let path = cache.path(&file.digest);
                Arc::new(TextPack::open(&path).map_err(SnapshotError::file(&path))?)
            }
        };
        open.insert(file.digest.clone(), pack);
    }
    let first = manifests
        .first()
        .ok_or_else(|| SnapshotError::Refused("it has no part".to_owned()))?;
    let place = SourcePlace {
        folder: PathBuf::from(&first.folder),
        revision: first.revision.clone(),
    };
    // A document's text is more often in the packs that came last.
    let all = open.values().cloned().collect();
    let files = PublishedFiles::new(place, snapshot.clone(), all, first.has_times);
    Ok(OpenSnapshot {
        snapshot,
        files,
        packs: open,
    })
}

/// Whether the index holds what its publishers counted: scores are made of it.
fn check_statistics(
    manifests: &[PartManifest],
    snapshot: &IndexSnapshot,
) -> Result<(), SnapshotError> {
    let documents: u64 = manifests.iter().map(|one| one.documents).sum();
    if documents != snapshot.document_count() {
        let found = snapshot.document_count();
        return Err(SnapshotError::Refused(format!(
            "its index holds {found} documents, its manifests say {documents}"
        )));
    }
    Ok(())
}

/// Puts what was learnt and embedded into a folder of its own; says whether there is any. What was
/// learnt of all parts comes with the first, what was embedded with each.
pub(super) fn write_concepts(
    manifests: &[PartManifest],
    cache: &SnapshotCache,
    folder: &Path,
) -> Result<bool, SnapshotError> {
    recreate_folder(folder).map_err(SnapshotError::file(folder))?;
    let mut any = false;
    for (number, manifest) in manifests.iter().enumerate() {
        for file in manifest.files_of(FileKind::Concepts) {
            if is_embeddings(&file.name) {
                cache.link(file, folder)?;
            } else if number == 0 {
                // A journal is opened for writing.
                let to = folder.join(&file.name);
                fs::copy(cache.path(&file.digest), &to).map_err(SnapshotError::file(&to))?;
            } else {
                continue;
            }
            any = true;
        }
    }
    Ok(any)
}
