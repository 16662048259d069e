//! Removing what no snapshot needs any more.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use search_core::snapshots::{Manifest, PublishedManifest};

use super::error::SnapshotError;
use super::unit::Unit;

/// An object that nothing leads to stays for this time: a searcher may still be fetching it.
pub(super) const GRACE: Duration = Duration::from_secs(3_600);
/// Between two looks.
pub(super) const COLLECT_INTERVAL: Duration = Duration::from_secs(600);

/// Removes objects that are older than `grace` and that the published manifest does not lead to.
/// None of them will be referenced again, as each object has a name of its own. Says how many.
pub(super) fn collect(
    unit: &Unit,
    published: &PublishedManifest,
    manifest: &Manifest,
    grace: Duration,
) -> Result<usize, SnapshotError> {
    let mut wanted: BTreeSet<&str> = manifest
        .files
        .iter()
        .map(|file| file.object.as_str())
        .collect();
    wanted.insert(&published.object);
    let now = SystemTime::now();
    let mut removed = 0;
    for object in unit.storage.list(&unit.objects())? {
        let name = object.key.rsplit('/').next().unwrap_or_default();
        let age = now.duration_since(object.stored).unwrap_or_default();
        if !wanted.contains(name) && age >= grace {
            unit.storage.delete(&object.key)?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use object_clients::{ObjectPlace, ObjectStorage};
    use search_core::snapshots::{FileKind, MANIFEST_FORMAT, SourcePart};

    use super::*;

    #[test]
    fn i18_what_is_referenced_or_young_stays() {
        let home = tempfile::tempdir().expect("a folder");
        let url = format!("file://{}", home.path().join("storage").display());
        let place = ObjectPlace::new(&url, None, None, false, None).expect("a place");
        let storage = ObjectStorage::open(&place).expect("it opens");
        let unit = Unit::new(&storage, "0a1b2c3d", SourcePart::WHOLE);
        let file = home.path().join("file");
        std::fs::write(&file, "content").expect("room");
        let put = |name| unit.put(FileKind::Index, name, &file).expect("stored");
        let (kept, gone, named) = (put("kept"), put("gone"), put("manifest"));
        assert_ne!(kept.object, gone.object, "each has a name of its own");
        let manifest = Manifest {
            format: MANIFEST_FORMAT,
            index_format: 1,
            source: "0a1b2c3d".to_owned(),
            part: "1-of-1".to_owned(),
            epoch: 1,
            sequence: 1,
            published_ms: 0,
            folder: String::new(),
            revision: None,
            documents: 0,
            terms: 0,
            is_complete: true,
            has_times: true,
            segments: String::new(),
            files: vec![kept.clone()],
        };
        let published = PublishedManifest {
            object: named.object.clone(),
            digest: named.digest,
        };
        let young = collect(&unit, &published, &manifest, GRACE).expect("it lists");
        assert_eq!(young, 0, "a searcher may be fetching it");
        let removed = collect(&unit, &published, &manifest, Duration::ZERO).expect("it lists");
        assert_eq!(removed, 1);
        let left = storage.list(&unit.objects()).expect("it lists");
        let mut left: Vec<&str> = left
            .iter()
            .filter_map(|object| object.key.rsplit('/').next())
            .collect();
        left.sort_unstable();
        let mut expected = [kept.object.as_str(), named.object.as_str()];
        expected.sort_unstable();
        assert_eq!(left, expected);
    }
}
