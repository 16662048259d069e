//! Removing what no snapshot needs any more.

use std::collections::BTreeSet;
use std::time::Duration;

use search_core::snapshots::{Manifest, PublishedManifest};

use super::error::SnapshotError;
use super::unit::Unit;

/// An object that nothing leads to stays for this time: a searcher may still be fetching it.
pub(super) const GRACE: Duration = Duration::from_secs(3_600);
/// Between two looks.
pub(super) const COLLECT_INTERVAL: Duration = Duration::from_secs(600);

/// Removes objects that are older than `grace` by the storage's clock and that the published
/// manifest does not lead to. None of them will be referenced again, as each object has a name of
/// its own. Says how many.
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
    let mut unwanted = unit.storage.list(&unit.objects())?;
    unwanted.retain(|object| !wanted.contains(object.key.rsplit('/').next().unwrap_or_default()));
    if unwanted.is_empty() {
        return Ok(0);
    }
    let now = unit.storage.time()?;
    let mut removed = 0;
    for object in unwanted {
        let age = now.duration_since(object.stored).unwrap_or_default();
        if age >= grace {
            unit.storage.delete(&object.key)?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use config_core::Secret;
    use object_clients::{ObjectKeys, ObjectPlace, ObjectStorage};
    use s3_server::{ACCESS_KEY, BUCKET, ClockedStorage, SECRET_KEY};
    use search_core::snapshots::{FileKind, MANIFEST_FORMAT, SourcePart};

    use super::*;

    fn manifest(files: Vec<search_core::snapshots::DescribedFile>) -> Manifest {
        Manifest {
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
            files,
        }
    }

    #[test]
    fn i18_an_indexer_whose_clock_is_ahead_removes_nothing_too_early() {
        let server = ClockedStorage::behind(GRACE * 2);
        let keys = ObjectKeys {
            access: Secret::new(ACCESS_KEY.to_owned()),
            secret: Secret::new(SECRET_KEY.to_owned()),
            session: None,
        };
        let (url, endpoint) = (format!("s3://{BUCKET}"), server.endpoint());
        let place = ObjectPlace::new(&url, Some(&endpoint), None, false, Some(keys));
        let storage = ObjectStorage::open(&place.expect("a place")).expect("it opens");
        let unit = Unit::new(&storage, "0a1b2c3d", SourcePart::WHOLE);
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("file");
        std::fs::write(&file, "content").expect("room");
        let named = unit.put(FileKind::Index, "named", &file).expect("stored");
        unit.put(FileKind::Index, "new", &file).expect("stored");
        let published = PublishedManifest {
            object: named.object,
            digest: named.digest,
        };
        let manifest = manifest(Vec::new());
        let removed = collect(&unit, &published, &manifest, GRACE).expect("it lists");
        assert_eq!(removed, 0, "a searcher may be fetching it");
        let removed = collect(&unit, &published, &manifest, Duration::ZERO).expect("it lists");
        assert_eq!(removed, 1);
    }

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
        let manifest = manifest(vec![kept.clone()]);
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
