//! Removing what is published of a source or part that is configured no more. Indexers remove what
//! they have published themselves, and nothing of others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_clients::objects::ObjectStorage;
use search_core::snapshots::{LEASE_TIMEOUT, RENEW_INTERVAL};
use serde::Serialize;

use super::error::SnapshotError;
use super::inspect::units;
use super::lease::{LeaseSeeker, SnapshotLease};
use super::unit::Unit;
use super::wait::sleep;

/// Longer than it takes to see that whoever had it last is gone.
const SEEK_TIMEOUT: Duration = LEASE_TIMEOUT.saturating_mul(2);
/// Between two looks at who has it.
const SEEK_INTERVAL: Duration = Duration::from_millis(500);

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedSource {
    /// The source's id.
    pub source: String,
    /// Which part.
    pub part: String,
    /// How many objects it had.
    pub objects: usize,
}

/// Removes all that is published of a source, or of one part of it: first what leads to it, then
/// the objects. One that did not come to its end is gone on with by the next.
///
/// # Errors
/// [`SnapshotError::Held`] where an indexer publishes it, and nothing of that part is removed then;
/// [`SnapshotError::Unknown`]; the storage's.
pub fn remove_published(
    storage: &ObjectStorage,
    source: &str,
    part: Option<&str>,
) -> Result<Vec<RemovedSource>, SnapshotError> {
    let mut meant = units(storage)?;
    meant.retain(|(of, unit)| of == source && part.is_none_or(|part| unit.shown == part));
    if meant.is_empty() {
        let shown = part.map_or_else(|| source.to_owned(), |part| format!("{source} {part}"));
        return Err(SnapshotError::Unknown(shown));
    }
    let removed = meant.into_iter().map(|(source, unit)| {
        let part = unit.shown.clone();
        let objects = remove(&take(&source, unit)?)?;
        Ok(RemovedSource {
            source,
            part,
            objects,
        })
    });
    removed.collect()
}

/// The right to publish the part, which nobody has then.
fn take(source: &str, unit: Unit) -> Result<SnapshotLease, SnapshotError> {
    let part = unit.shown.clone();
    let owner = format!("snapshot remove {}", uuid::Uuid::new_v4().simple());
    let mut seeker = LeaseSeeker::new(unit, owner);
    let began = Instant::now();
    loop {
        if let Some(lease) = seeker.attempt(&Arc::default())? {
            return Ok(lease);
        }
        if began.elapsed() >= SEEK_TIMEOUT {
            return Err(SnapshotError::Held {
                source_id: source.to_owned(),
                part,
                owner: seeker.holder().to_owned(),
            });
        }
        sleep(SEEK_INTERVAL, &|| false);
    }
}

fn remove(lease: &SnapshotLease) -> Result<usize, SnapshotError> {
    let unit = &lease.unit;
    lease.withdraw()?;
    let objects = unit.storage.list(&unit.objects())?;
    let mut renewed = Instant::now();
    for object in &objects {
        if renewed.elapsed() >= RENEW_INTERVAL {
            lease.renew()?;
            renewed = Instant::now();
        }
        unit.storage.delete(&object.key)?;
    }
    lease.renew()?;
    unit.storage.delete(&unit.pointer_key())?;
    Ok(objects.len())
}
