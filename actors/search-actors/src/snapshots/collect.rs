//! Removing what no snapshot needs any more.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use http_clients::objects::StoredObject;
use search_core::snapshots::{DescribedFile, PartManifest, PublishedManifest};

use super::error::SnapshotError;
use super::lease::SnapshotLease;
use super::texts::PublishedTexts;

/// An object stays for this time after something has led to it: a searcher may still be fetching
/// it.
pub(super) const GRACE: Duration = Duration::from_secs(3_600);
/// Between two looks.
pub(super) const COLLECT_INTERVAL: Duration = Duration::from_secs(600);

/// The objects that what is published names, and those that what is published next will name: texts
/// and concepts are stored once, however often publishing has failed since.
pub(super) fn referenced_objects<'o>(
    manifest: &'o PartManifest,
    texts: &'o PublishedTexts,
    concepts: impl Iterator<Item = &'o DescribedFile>,
) -> BTreeSet<&'o str> {
    let files = manifest.files.iter().chain(texts.files()).chain(concepts);
    files.map(|file| file.object.as_str()).collect()
}

/// Removes objects, and remembers since when nothing needs them. Another process begins anew.
#[derive(Debug, Default)]
pub(super) struct ObjectCollector {
    unwanted_since: BTreeMap<String, Instant>,
}

impl ObjectCollector {
    /// Removes objects that nothing has needed for `grace` and that are older than that by the
    /// storage's clock; see [`collect`].
    pub(super) fn collect(
        &mut self,
        lease: &SnapshotLease,
        (published, wanted): (&PublishedManifest, &BTreeSet<&str>),
        grace: Duration,
        now: Instant,
    ) -> Result<usize, SnapshotError> {
        let unit = &lease.unit;
        let mut unwanted = unit.storage.list(&unit.objects())?;
        unwanted.retain(|object| {
            let name = object.key.rsplit('/').next().unwrap_or_default();
            name != published.object && !wanted.contains(name)
        });
        let mut since = BTreeMap::new();
        for object in &unwanted {
            let known = self.unwanted_since.get(&object.key).copied();
            since.insert(object.key.clone(), known.unwrap_or(now));
        }
        self.unwanted_since = since;
        unwanted.retain(|object| {
            let since = self.unwanted_since.get(&object.key);
            since.is_some_and(|since| now.duration_since(*since) >= grace)
        });
        collect(lease, published, unwanted, grace)
    }
}

/// Removes those of these objects that are older than `grace` by the storage's clock. None of them
/// will be referenced again, as each object has a name of its own. Says how many.
///
/// `published` has to be what tells that they are not needed: where the pointer leads to another
/// manifest, because the answer to a write of it was lost, nothing is removed.
fn collect(
    lease: &SnapshotLease,
    published: &PublishedManifest,
    unwanted: Vec<StoredObject>,
    grace: Duration,
) -> Result<usize, SnapshotError> {
    let unit = &lease.unit;
    if unwanted.is_empty() {
        return Ok(0);
    }
    let now = unit.storage.time()?;
    // This process may have been held up for hours since it heard of the lease. Whoever follows
    // takes it before storing anything, and takes up nothing but what is published: where it is
    // still held after the listing, nothing that was listed is the follower's.
    lease.renew()?;
    if lease.pointer().manifest.as_ref() != Some(published) {
        return Ok(0);
    }
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
    use std::sync::Arc;

    use config_core::Secret;
    use http_clients::objects::{ObjectKeys, ObjectPlace, ObjectStorage};
    use scripted_peers::s3::{ACCESS_KEY, BUCKET, ClockedStorage, SECRET_KEY};
    use search_core::snapshots::{FileKind, MANIFEST_FORMAT, SnapshotPointer, SourcePart};
    use search_engine::packs::PackWriter;

    use super::*;
    use crate::snapshots::cache::SnapshotCache;
    use crate::snapshots::lease::LeaseSeeker;
    use crate::snapshots::unit::{PointerRead, Unit};

    fn in_folder(home: &tempfile::TempDir) -> Unit {
        let url = format!("file://{}", home.path().join("storage").display());
        let place = ObjectPlace::new(&url, None, None, false, None).expect("a place");
        let storage = ObjectStorage::open(&place).expect("it opens");
        Unit::new(&storage, "0a1b2c3d", SourcePart::WHOLE)
    }

    fn take(unit: &Unit, owner: &str) -> SnapshotLease {
        let mut seeker = LeaseSeeker::new(unit.clone(), owner.to_owned());
        let taken = seeker.attempt(&Arc::default()).expect("the place answers");
        taken.expect("nobody has it")
    }

    fn put(unit: &Unit, name: &str) -> DescribedFile {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("file");
        std::fs::write(&file, "content").expect("room");
        unit.store(FileKind::Index, name, &file).expect("stored")
    }

    /// What a pointer says of a manifest that is stored.
    fn publish(lease: &SnapshotLease) -> PublishedManifest {
        let stored = put(&lease.unit, "manifest");
        let published = PublishedManifest {
            object: stored.object,
            digest: stored.digest,
        };
        lease.publish(&published).expect("it is held");
        published
    }

    fn left(unit: &Unit) -> BTreeSet<String> {
        let left = unit.storage.list(&unit.objects()).expect("it lists");
        let names = left
            .iter()
            .filter_map(|object| object.key.rsplit('/').next());
        names.map(str::to_owned).collect()
    }

    /// What a new process removes.
    fn collect(
        lease: &SnapshotLease,
        published: &PublishedManifest,
        wanted: &BTreeSet<&str>,
        grace: Duration,
    ) -> Result<usize, SnapshotError> {
        ObjectCollector::default().collect(lease, (published, wanted), grace, Instant::now())
    }

    fn storage_of(server: &ClockedStorage) -> ObjectStorage {
        let keys = ObjectKeys {
            access: Secret::new(ACCESS_KEY.to_owned()),
            secret: Secret::new(SECRET_KEY.to_owned()),
            session: None,
        };
        let (url, endpoint) = (format!("s3://{BUCKET}"), server.endpoint());
        let place = ObjectPlace::new(&url, Some(&endpoint), None, false, Some(keys));
        ObjectStorage::open(&place.expect("a place")).expect("it opens")
    }

    #[test]
    fn i18_what_was_needed_until_now_stays_for_the_grace_however_old_it_is() {
        let server = ClockedStorage::behind(Duration::ZERO);
        let storage = storage_of(&server);
        let lease = take(&Unit::new(&storage, "0a1b2c3d", SourcePart::WHOLE), "a");
        let (segment, later) = (put(&lease.unit, "segment"), put(&lease.unit, "later"));
        let published = publish(&lease);
        // All of that was stored long ago.
        server.grow_older(GRACE * 2);
        let mut collector = ObjectCollector::default();
        let mut at = Instant::now();
        let mut look = |wanted: &[&str], after: Duration| {
            at += after;
            let wanted = wanted.iter().copied().collect();
            let of = (&published, &wanted);
            collector.collect(&lease, of, GRACE, at).expect("it lists")
        };
        let (segment, later) = (segment.object.as_str(), later.object.as_str());
        assert_eq!(look(&[segment, later], Duration::ZERO), 0);
        assert_eq!(
            look(&[later], COLLECT_INTERVAL),
            0,
            "a searcher may be fetching it"
        );
        assert_eq!(look(&[], COLLECT_INTERVAL), 0);
        assert_eq!(look(&[], GRACE - COLLECT_INTERVAL), 1);
        assert_eq!(look(&[later], COLLECT_INTERVAL), 0, "it is needed again");
        assert_eq!(look(&[], COLLECT_INTERVAL), 0);
        assert_eq!(look(&[], GRACE), 1);
    }

    #[test]
    fn i18_an_indexer_whose_clock_is_ahead_removes_nothing_too_early() {
        let server = ClockedStorage::behind(GRACE * 2);
        let storage = storage_of(&server);
        let lease = take(&Unit::new(&storage, "0a1b2c3d", SourcePart::WHOLE), "a");
        let published = publish(&lease);
        put(&lease.unit, "new");
        let nothing = BTreeSet::new();
        let removed = collect(&lease, &published, &nothing, GRACE).expect("it lists");
        assert_eq!(removed, 0, "a searcher may be fetching it");
        let removed = collect(&lease, &published, &nothing, Duration::ZERO).expect("it lists");
        assert_eq!(removed, 1);
    }

    #[test]
    fn i18_what_is_referenced_or_young_stays() {
        let home = tempfile::tempdir().expect("a folder");
        let lease = take(&in_folder(&home), "a");
        let (kept, gone) = (put(&lease.unit, "kept"), put(&lease.unit, "gone"));
        assert_ne!(kept.object, gone.object, "each has a name of its own");
        let published = publish(&lease);
        let wanted = BTreeSet::from([kept.object.as_str()]);
        let young = collect(&lease, &published, &wanted, GRACE).expect("it lists");
        assert_eq!(young, 0, "a searcher may be fetching it");
        let removed = collect(&lease, &published, &wanted, Duration::ZERO).expect("it lists");
        assert_eq!(removed, 1);
        let expected = BTreeSet::from([kept.object.clone(), published.object]);
        assert_eq!(left(&lease.unit), expected);
    }

    #[test]
    fn i18_an_indexer_that_was_followed_removes_nothing() {
        let home = tempfile::tempdir().expect("a folder");
        let unit = in_folder(&home);
        // It is held up here, for longer than its lease lasts.
        let paused = take(&unit, "paused");
        let published = publish(&paused);
        let Ok(PointerRead::Read(pointer, version)) = unit.pointer(None) else {
            panic!("there is a pointer");
        };
        let next = SnapshotPointer {
            owner: String::new(),
            epoch: pointer.epoch + 1,
            ..pointer
        };
        unit.replace(Some(&version), &next).expect("it is stored");
        let follower = take(&unit, "follower");
        put(&unit, "of the follower");
        publish(&follower);
        let before = left(&unit);
        let refused = collect(&paused, &published, &BTreeSet::new(), Duration::ZERO);
        assert!(
            matches!(refused, Err(SnapshotError::LeaseLost)),
            "{refused:?}"
        );
        assert_eq!(left(&unit), before);
    }

    /// The answer to a write of the pointer was lost: what it leads to is not known here.
    #[test]
    fn i18_nothing_goes_while_the_pointer_leads_elsewhere() {
        let home = tempfile::tempdir().expect("a folder");
        let lease = take(&in_folder(&home), "a");
        let known = publish(&lease);
        put(&lease.unit, "of what the pointer leads to");
        publish(&lease);
        let before = left(&lease.unit);
        let removed = collect(&lease, &known, &BTreeSet::new(), Duration::ZERO);
        assert_eq!(removed.expect("it lists"), 0);
        assert_eq!(left(&lease.unit), before);
    }

    /// A pack that was stored before publishing began to fail is named when it works again.
    #[test]
    fn i18_what_is_published_next_stays() {
        let home = tempfile::tempdir().expect("a folder");
        let lease = take(&in_folder(&home), "a");
        let cache = SnapshotCache::open(home.path().join("files")).expect("a folder");
        let path = home.path().join("pack");
        PackWriter::create(&path)
            .and_then(PackWriter::finish)
            .expect("room");
        let stored = |kind, name| lease.unit.store(kind, name, &path).expect("stored");
        let (pack, space) = (
            stored(FileKind::Texts, "pack"),
            stored(FileKind::Concepts, "space"),
        );
        cache.insert(&path, &pack.digest).expect("it is moved");
        let texts = PublishedTexts::load([&pack].into_iter(), &cache).expect("it opens");
        let published = publish(&lease);
        let before = left(&lease.unit);
        let manifest = manifest();
        let wanted = referenced_objects(&manifest, &texts, [&space].into_iter());
        let removed = collect(&lease, &published, &wanted, Duration::ZERO);
        assert_eq!(removed.expect("it lists"), 0);
        assert_eq!(left(&lease.unit), before);
    }

    fn manifest() -> PartManifest {
        PartManifest {
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
            files: Vec::new(),
        }
    }
}
