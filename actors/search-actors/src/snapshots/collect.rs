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
