//! Whether the index of this machine is the one that is published: what another indexer has
//! published since is newer.

use std::path::Path;
use std::time::Duration;

use search_core::snapshots::SourcePart;

use super::adopt::SourceFolders;
use super::error::SnapshotError;
use super::place::SnapshotMode;
use super::unit::{PointerRead, Unit};

/// A publication is noted in the storage a moment before it is here.
const ATTEMPTS: u32 = 4;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(500);

/// Under which lease a source is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishingLease {
    /// The part of the source that is indexed here.
    pub part: SourcePart,
    /// Raised by each indexer that takes the source; 0 where nothing is published yet.
    pub epoch: u64,
}

/// Sees that what is indexed in `data`, the folder of indexes, of the source with this id is what
/// is published, or that nothing is; and under which lease, where there are any. Blocks.
///
/// # Errors
/// [`SnapshotError::Elsewhere`] where another indexer has it, or another part is indexed here;
/// [`SnapshotError::NotIndexedHere`] of a searcher; the storage's.
pub fn check_published_here(
    mode: &SnapshotMode,
    source: &str,
    data: &Path,
) -> Result<Option<PublishingLease>, SnapshotError> {
    let (place, part) = match mode {
        SnapshotMode::Local => return Ok(None),
        SnapshotMode::Searcher(_) => return Err(SnapshotError::NotIndexedHere),
        SnapshotMode::Indexer { place, part, .. } => (place, *part),
    };
    let unit = Unit::new(&place.storage, source, part);
    let mut attempts = 0;
    loop {
        let PointerRead::Read(pointer, _) = unit.pointer(None)? else {
            return Ok(Some(PublishingLease { part, epoch: 0 }));
        };
        let epoch = pointer.epoch;
        let Some(published) = &pointer.manifest else {
            return Ok(Some(PublishingLease { part, epoch }));
        };
        if SourceFolders::marks(data, source, &published.object) {
            return Ok(Some(PublishingLease { part, epoch }));
        }
        attempts += 1;
        if attempts >= ATTEMPTS {
            return Err(SnapshotError::Elsewhere {
                part: unit.shown,
                owner: pointer.owner,
            });
        }
        std::thread::park_timeout(ATTEMPT_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use http_clients::objects::{ObjectPlace, ObjectStorage};
    use search_core::snapshots::{PublishedManifest, SnapshotPointer};

    use super::super::place::SnapshotPlace;
    use super::*;

    #[test]
    fn i18_only_what_was_published_from_here_is_the_newest() {
        let (folder, data) = (tempfile::tempdir(), tempfile::tempdir());
        let (folder, data) = (folder.expect("a folder"), data.expect("a folder"));
        let url = format!("file://{}", folder.path().display());
        let place = ObjectPlace::new(&url, None, None, false, None).expect("a place");
        let place = SnapshotPlace {
            storage: ObjectStorage::open(&place).expect("it opens"),
            parts: std::num::NonZero::<u32>::MIN,
        };
        let unit = Unit::new(&place.storage, "docs", SourcePart::WHOLE);
        let searcher = SnapshotMode::Searcher(place.clone());
        let indexer = SnapshotMode::Indexer {
            place,
            part: SourcePart::WHOLE,
            owner: "this".to_owned(),
        };
        let check = |mode| check_published_here(mode, "docs", data.path());
        let alone = check(&SnapshotMode::Local).expect("alone it is the newest");
        assert_eq!(alone, None);
        check(&indexer).expect("nothing is published yet");
        assert!(matches!(
            check(&searcher),
            Err(SnapshotError::NotIndexedHere)
        ));
        let manifest = PublishedManifest {
            object: "newest".to_owned(),
            digest: "0".repeat(64),
        };
        let pointer = SnapshotPointer {
            format: search_core::snapshots::MANIFEST_FORMAT,
            owner: "other".to_owned(),
            epoch: 2,
            beat: 3,
            sequence: 4,
            manifest: Some(manifest),
        };
        unit.replace(None, &pointer).expect("it is written");
        std::fs::write(data.path().join("docs.published"), "older").expect("room");
        let refused = check(&indexer).expect_err("another has published since");
        assert!(
            refused.to_string().contains("other publishes it"),
            "{refused}"
        );
        std::fs::write(data.path().join("docs.published"), "newest").expect("room");
        let tenure = check(&indexer).expect("it was published from here");
        let part = SourcePart::WHOLE;
        assert_eq!(tenure, Some(PublishingLease { part, epoch: 2 }));
    }
}
